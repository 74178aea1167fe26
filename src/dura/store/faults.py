"""What SQLite's errors mean for a store: one place that turns them into errors that name the file and the remedy.

Readers and writers share it. What is an error of the disk, of permission, or of another program becomes a `StoreError`;
misuse of the `sqlite3` module by our own code (`ProgrammingError`) is a bug and passes through as it is.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dura.errors import EngineError, NotADuraStore, StoreBusy, StoreError, StoreNotFound

_MEANINGS: Final[dict[int, tuple[type[StoreError], str]]] = {
    sqlite3.SQLITE_BUSY: (
        StoreBusy,
        (
            "{path} is locked: another process kept its lock for longer than the busy timeout. "
            "Nothing was written. Try again; if it stays so, look for a program that holds a transaction open."
        ),
    ),
    sqlite3.SQLITE_LOCKED: (
        StoreBusy,
        "{path} is locked by another connection of this process. Nothing was written. Try again.",
    ),
    sqlite3.SQLITE_PROTOCOL: (
        StoreBusy,
        "{path} has too many programs competing for its locks. Nothing was written. Try again.",
    ),
    sqlite3.SQLITE_FULL: (
        StoreError,
        "the disk that holds {path} is full. Nothing of this operation was kept. Free some space and try again.",
    ),
    sqlite3.SQLITE_IOERR: (
        StoreError,
        (
            "the disk that holds {path} failed ({name}). Nothing of this operation is known to be kept. "
            "Look into the system's log, and check that {folder} is mounted, has room and is no network file system."
        ),
    ),
    sqlite3.SQLITE_READONLY: (
        StoreError,
        (
            "{path} may not be written ({name}). Give this user write permission to the file and to the folder "
            "{folder}, where SQLite keeps the file's -wal and -shm."
        ),
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreError,
        (
            "{path} cannot be opened. Check this user's permission for the file, for its -wal and -shm and for the "
            "folder {folder}."
        ),
    ),
    sqlite3.SQLITE_PERM: (
        StoreError,
        "access to {path} was refused. Check this user's permission for the file.",
    ),
    sqlite3.SQLITE_AUTH: (
        StoreError,
        "access to {path} was refused. Check this user's permission for the file.",
    ),
    sqlite3.SQLITE_NOTADB: (
        NotADuraStore,
        "{path} is no dura store: it is no SQLite database, or an encrypted one. Check the path.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        StoreError,
        (
            "{path} is damaged ({text}). Stop every program that uses it, copy it together with its -wal and -shm, "
            "and run `dura check` on the copy, or recover what is left with `sqlite3 {path} .recover`."
        ),
    ),
    sqlite3.SQLITE_TOOBIG: (
        StoreError,
        (
            "a value is too large for {path}: SQLite keeps at most 1 GB in one. Store the data elsewhere and its "
            "address here."
        ),
    ),
    sqlite3.SQLITE_NOMEM: (StoreError, "there is no memory left to work on {path}. Nothing was written."),
}

UNREADABLE: Final = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""What code raises that meets nothing where there is always something, a number where there is text, a text that is no time:
all of which the schema forbids, and a damaged file can hold."""

_MOVED: Final = (
    "{path} was moved, replaced or deleted while it was open. Nothing was written. Put the file back, or open the "
    "new one."
)

_NO_DESCRIPTOR: Final = (
    "{path} cannot be opened: this process, or the system, has as many files open as it may. Close some, or raise the limit "
    "(`ulimit -n`)."
)

_DESCRIPTORS: Final = 4
"""How many a connection may need at once: for the file, its log, the log's index, and the folder."""

_UNKNOWN: Final = "SQLite could not work on {path}: {text} ({name}). Run `dura check` on the file."


def translate(error: sqlite3.Error, path: str) -> StoreError:
    """Say what an error of SQLite means for the store at `path`.

    Args:
        error: As raised by the `sqlite3` module.
        path: The store's file, for the message and for `StoreError.path`.

    Returns:
        The error to raise, `from` the original: `StoreBusy` for a lock, `NotADuraStore` for a file that is no
        database, `StoreNotFound` if there is no file or no folder, else a `StoreError`.
    """
    code: int | None = getattr(error, "sqlite_errorcode", None)
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    primary = None if code is None else code & 0xFF
    kind, message = _MEANINGS.get(-1 if primary is None else primary, (StoreError, _UNKNOWN))
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        message = _MOVED
    elif primary == sqlite3.SQLITE_CANTOPEN:
        kind, message = _why_not_opened(path, kind, message)
    folder = os.path.dirname(os.path.abspath(path))
    return kind(message.format(path=path, folder=folder, name=name, text=error), path=path)


def _why_not_opened(path: str, kind: type[StoreError], message: str) -> tuple[type[StoreError], str]:
    folder = os.path.dirname(os.path.abspath(path))
    if _descriptors_are_used_up():
        return StoreError, _NO_DESCRIPTOR
    if os.path.isdir(path):
        return NotADuraStore, "{path} is no dura store: it is a folder. Name a file."
    if not os.path.isdir(folder):
        return StoreNotFound, "there is no folder {folder}. Check the path of {path}."
    if not os.path.lexists(path) and os.access(folder, os.W_OK):
        return StoreNotFound, "there is no file {path}. Check the path."
    return kind, message


def _descriptors_are_used_up() -> bool:
    opened: list[int] = []
    try:
        while len(opened) < _DESCRIPTORS:
            opened.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False


@contextmanager
def faults_named(path: str) -> Iterator[None]:
    """Raise what SQLite reports inside the block as errors that name `path`.

    Raises:
        StoreError: SQLite reported an error; its class and text are those of `translate`. Or a damaged file holds
            what the schema forbids.
    """
    try:
        yield
    except (sqlite3.Error, *UNREADABLE) as error:
        if (meant := named(error, path)) is error:
            raise
        raise meant from error


def named(error: Exception, path: str) -> Exception:
    """The error to raise for one that a use of the store has met: one that names `path`, or the same if it says enough."""
    if isinstance(error, EngineError | sqlite3.ProgrammingError):
        return error
    if isinstance(error, sqlite3.Error):
        return translate(error, path)
    return unreadable(error, path) if isinstance(error, UNREADABLE) else error


def not_made(error: OSError, path: str) -> StoreError:
    """The error to raise for a file that the system did not let us make."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return StoreError(_NO_DESCRIPTOR.format(path=path), path=path)
    return StoreError(
        f"{path}: the file cannot be made ({error.strerror}). Give this user write permission to the folder, or "
        "choose another path.",
        path=path,
    )


def unreadable(error: Exception, path: str, what: str = "something in it") -> StoreError:
    """The error to raise where what the file holds is not what belongs there.

    Args:
        error: What reading it raised.
        path: The store's file.
        what: What cannot be read, for example `the result of step 'charge'`.
    """
    return damaged(path, f"{what} cannot be read ({type(error).__name__}: {error})")


def damaged(path: str, why: str) -> StoreError:
    """The error to raise for a file that holds what the schema forbids."""
    return StoreError(
        f"{path} seems to be damaged: {why}. Keep a copy, run `dura check` on it, and restore a backup. If the check finds "
        "nothing, this is a fault of dura's: please report it.",
        path=path,
    )
