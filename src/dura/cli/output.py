"""Where words go: results to standard output, narration and errors to standard error.

Standard output may be a pipe that its reader has closed, a full disk, or a stream that cannot write every character;
none of that is a traceback.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from dura.cli.documents import to_json
from dura.display import printable


def prepare_streams() -> None:
    """Let characters that a stream cannot write appear as escapes."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def say(line: str) -> None:
    """Print a line of the result; it must be printable."""
    print(line)


def say_json(document: Any) -> None:
    """Print the result as one JSON document."""
    print(to_json(document))


def note(line: str) -> None:
    """Print a line of narration beside the result."""
    _print_safely(sys.stderr, printable(line))


def complain(message: str) -> None:
    """Print an error: what happened, to what, and what to do next."""
    first, *rest = message.split("\n")
    for line in (f"dura: {first}", *(f"      {line}" for line in rest)):
        _print_safely(sys.stderr, printable(line))


def ask(question: str) -> str:
    """Ask on standard error, and read a line of standard input; empty if there is no more."""
    _print_safely(sys.stderr, question, end="")
    return sys.stdin.readline().strip()


def show_progress(line: str) -> None:
    """Put a line in place of the one that standard error shows now; an empty one takes it away."""
    _print_safely(sys.stderr, f"\r\x1b[2K{printable(line)}", end="")


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads, or writes, the stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def flush_result() -> None:
    """Write out what is still buffered, while an error can be told.

    Raises:
        OSError: Standard output cannot be written; BrokenPipeError if its reader has gone.
    """
    sys.stdout.flush()


def abandon_result() -> None:
    """Point standard output nowhere, so that the interpreter's last flush has nothing to fail at."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _print_safely(stream: TextIO | None, line: str, end: str = "\n") -> None:
    if stream is not None:
        with suppress(OSError, ValueError):
            print(line, file=stream, end=end, flush=True)
