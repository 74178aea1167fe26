"""Stores that were filled before, kept to be copied: filling is no part of what is measured, and takes longer than most of it.

A kept store was made by the system itself, or by `bulk_rows` in the system's tables, and closed. It is kept under the
signature of what made it (the pins of a peer, the sources of our own store), so that no store outlives a change of its
maker. Each cell works on a copy of its own, which has reached the disk before anything is measured.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_STORE: Final = "store"
_MAKING: Final = ".making"
_LARGE: Final = 100_000_000
"""Bytes from which on a kept store is dropped when it has served, unless asked otherwise."""

_FORGOTTEN: Final = 3600.0
"""Seconds without use after which a store of another signature is removed: a run of another checkout may still want it."""


class Prepared:
    """The kept stores.

    Args:
        folder: Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._began = time.time()  # noqa: TID251 - compared with the times of files, which are the machine's

    def copy(self, name: str, path: Path, make: Callable[[Path], None]) -> None:
        """Copy a kept store, having made it if it does not exist.

        Args:
            name: What it is called; begins with its signature.
            path: Where the copy goes: a file, or a folder for a system that wants one. Nothing is there yet.
            make: Makes the store at a path, and closes it.
        """
        with self._kept(name, make) as kept:
            for part in kept.iterdir():
                _copy(part, path.with_name(path.name + part.name.removeprefix(_STORE)))

    def make(self, name: str, make: Callable[[Path], None]) -> None:
        """Make a kept store if it does not exist."""
        with self._kept(name, make):
            pass

    def drop_large(self) -> None:
        """Remove what is large and has been used since this was made, unless someone is using it now."""
        for kept in self._all():
            if kept.suffix != _MAKING and _used(kept) >= self._began and _size(kept) >= _LARGE:
                self._drop(kept)

    def drop_others(self, signatures: Iterable[str]) -> None:
        """Remove what was made by something else than these, and has not been used for an hour."""
        ours = tuple(f"{signature}-" for signature in signatures)
        for kept in self._all():
            if not kept.name.startswith(ours) and _used(kept) < self._began - _FORGOTTEN:
                self._drop(kept)

    def size(self) -> int:
        """Bytes that the kept stores take."""
        return sum(_size(kept) for kept in self._all())

    def _all(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        return [entry for entry in self.folder.iterdir() if entry.is_dir()]

    @contextmanager
    def _kept(self, name: str, make: Callable[[Path], None]) -> Iterator[Path]:
        """The kept store's folder, held so that nobody removes it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = self.folder / name
        with _locked(_lock_of(kept)):
            if not kept.exists():
                making = self.folder / f"{name}{_MAKING}"
                shutil.rmtree(making, ignore_errors=True)
                making.mkdir()
                make(making / _STORE)
                making.rename(kept)
            os.utime(kept)
            yield kept

    def _drop(self, kept: Path) -> None:
        lock = _lock_of(kept)
        try:
            with _locked(lock, fcntl.LOCK_NB):
                shutil.rmtree(kept, ignore_errors=True)
                lock.unlink()
        except BlockingIOError:
            return  # someone is copying it


def _lock_of(kept: Path) -> Path:
    """The lock of a kept store, or of one that is being made."""
    return kept.with_name(f"{kept.name.removesuffix(_MAKING)}.lock")


@contextmanager
def _locked(path: Path, how: int = 0) -> Iterator[None]:
    """Hold a lock file, which whoever held it before may have removed while we waited."""
    while True:
        with path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | how)
            if path.exists() and path.stat().st_ino == os.fstat(lock.fileno()).st_ino:
                yield
                return


def _copy(source: Path, target: Path) -> None:
    """Copy a file or folder, and see that it has reached the disk: its writing must not fall into a measurement."""
    if source.is_dir():
        target.mkdir()
        for part in source.iterdir():
            _copy(part, target / part.name)
    else:
        shutil.copyfile(source, target)
        with target.open("rb") as copied:
            os.fsync(copied.fileno())


def _used(kept: Path) -> float:
    """When it was used last, in seconds since 1970; never, if another run has just removed it."""
    try:
        return kept.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _size(kept: Path) -> int:
    parts = (os.path.join(folder, name) for folder, _, names in os.walk(kept) for name in names)
    total = 0
    for part in parts:
        with suppress(FileNotFoundError):
            total += os.stat(part).st_size
    return total
