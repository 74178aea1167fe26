"""What the folder says about a store: the file, its write-ahead log and the rest of what SQLite keeps beside it.

Two footprints that are equal mean that nothing was written in between, which is all that a reader has to go by where
SQLite's own locks are out of its reach. No file is opened for it: closing a file drops every lock that this process holds
on it, an engine's included.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass, field
from typing import Final

from dura.errors import NotADuraStore, StoreError, StoreNotFound

_TICK: Final = 50_000_000
"""Nanoseconds within which two writes may bear the same time."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """One file's identity and what changes when it is written."""

    device: int
    inode: int
    size: int
    modified: int
    """Nanoseconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Footprint:
    """A store's files at one moment."""

    path: str
    """The file itself, symbolic links followed: what SQLite keeps lies beside it."""
    main: Stamp
    wal: Stamp | None
    shm: Stamp | None = field(compare=False)
    """The log's index; readers write into it, so that it says nothing about the store."""
    journal: Stamp | None
    fresh: bool = field(compare=False)
    """Whether a write right after this moment could leave the same footprint, because of the file system's clock."""

    @property
    def size(self) -> int:
        """Bytes of the database file."""
        return self.main.size

    @property
    def wal_size(self) -> int:
        """Bytes of the write-ahead log."""
        return self.wal.size if self.wal else 0

    @property
    def has_log_content(self) -> bool:
        """Whether a write-ahead log holds what the file may lack."""
        return self.wal_size > 0

    @property
    def has_index(self) -> bool:
        """Whether there is a `-shm`, without which nobody who is alive uses the log."""
        return self.shm is not None

    @property
    def may_have_writer(self) -> bool:
        """Whether a log with its index or a rollback journal says that somebody writes, or was stopped while writing."""
        return (self.wal is not None and self.shm is not None) or self.journal is not None

    def same_files(self, other: Footprint) -> bool:
        """Whether the paths still lead to the same files, whatever was written into them."""
        return _identity(self.main) == _identity(other.main) and _identity(self.wal) == _identity(other.wal)


def footprint(path: str) -> Footprint:
    """Look at a store's files.

    Raises:
        StoreNotFound: There is no file at the path.
        NotADuraStore: There is something else than a file.
        StoreError: The folder may not be searched.
    """
    real = os.path.realpath(path)
    main = status(real, path)
    if main is None:
        raise StoreNotFound(f"{path}: there is no such file. Check the path.", path=path)
    require_file(main, path)
    wal, shm, journal = (_stamp(status(real + suffix, path)) for suffix in ("-wal", "-shm", "-journal"))
    written = max(main.st_mtime_ns, wal.modified if wal else 0)
    return Footprint(
        path=real,
        main=Stamp(main.st_dev, main.st_ino, main.st_size, main.st_mtime_ns),
        wal=wal,
        shm=shm,
        journal=journal,
        fresh=time.time_ns() - written < _TICK,
    )


def require_file(found: os.stat_result, path: str) -> None:
    """Refuse what is no file.

    Raises:
        NotADuraStore: It is a folder, a pipe or a device, which SQLite might wait for without end.
    """
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise NotADuraStore(
            f"{path}: this is {what}, so it is no dura store. Name the store's file.", path=path
        )


def status(file: str, path: str) -> os.stat_result | None:
    """What there is at a path; None if there is nothing.

    Args:
        file: The path to look at.
        path: The store, as the caller named it, for the message.

    Raises:
        StoreError: The folder may not be searched.
    """
    try:
        return os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(
            f"{path}: the file cannot be looked at ({error.strerror}). Check the path, and this user's permission "
            "for its folder.",
            path=path,
        ) from error


def _stamp(found: os.stat_result | None) -> Stamp | None:
    return None if found is None else Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _identity(stamp: Stamp | None) -> tuple[int, int] | None:
    return None if stamp is None else (stamp.device, stamp.inode)
