"""What is read from a file or from standard input: bounded, since a device has no end, and a pipe may have no writer."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Final

from dura.cli.exits import CommandFailed, Exit

LARGEST: Final = 64 * 2**20
"""Bytes of one value."""

PATIENCE: Final = 300.0
"""Seconds within which a pipe has to go on. At a terminal sits somebody who can end the wait."""

_PIECE: Final = 2**20


def read_text(file: str, what: str) -> str:
    """All of a file as text.

    Args:
        file: Its path; `-` is standard input.
        what: What is read, for the error.

    Raises:
        CommandFailed: It cannot be read, is too large, is no UTF-8 text, or nothing came for too long.
    """
    try:
        return (_standard_input() if file == "-" else _file(file)).decode("utf-8")
    except TimeoutError:
        why = f"nothing has come through the pipe for {PATIENCE:g} s"
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeError:
        why = "it is no UTF-8 text"
    except ValueError as error:
        why = str(error)
    where = "standard input" if file == "-" else file
    raise CommandFailed(f"cannot read the {what} from {where}: {why}", Exit.USAGE)


def _file(path: str) -> bytes:
    # Opening a named pipe would else wait for its writer, without a bound.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return _all(descriptor)
    finally:
        os.close(descriptor)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise ValueError("it is closed")
    try:
        descriptor = sys.stdin.fileno()
    except io.UnsupportedOperation:
        return _checked(sys.stdin.read(LARGEST + 1).encode())
    return _all(descriptor)


def _all(descriptor: int) -> bytes:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    patience = None if os.isatty(descriptor) else PATIENCE * 1000
    found = bytearray()
    while len(found) <= LARGEST:
        if not waiting.poll(patience):
            raise TimeoutError
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:
            continue
        if not piece:
            break
        found += piece
    return _checked(bytes(found))


def _checked(found: bytes) -> bytes:
    if len(found) > LARGEST:
        raise ValueError(
            f"it holds more than {LARGEST // 2**20} MiB. Keep so much elsewhere, and store its address here"
        )
    return found
