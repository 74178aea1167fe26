"""Noticing that a file is written without looking at it over and over: the kernel tells, where it can (Linux, inotify).

The standard library has no call for that, so the C library's functions are called by name. Where they are not to be had, or
there is no such file at the moment, `watching` is false, and the caller has to look.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, Final

_WRITTEN: Final = 0x2
_GONE: Final = 0x4 | 0x400 | 0x800
"""It has one name less, was deleted, or was moved."""


def _library() -> Any:
    """The C library; None where it is not known to have inotify."""
    if sys.platform != "linux":
        return None
    # Some builds of Python come without it, and who runs no pool need not load it.
    with suppress(ImportError, OSError):
        import ctypes

        return ctypes.CDLL(None)
    return None


class LogWatch:
    """Watches the file at a path."""

    def __init__(self, path: str) -> None:
        self.watching = False
        """Whether `descriptor` tells of all that is written to the file."""
        self.descriptor = -1
        """Readable once the file was written or is gone, until `forget`; -1 where the kernel does not tell."""
        self._path = os.fsencode(path)
        self._library = _library()
        if self._library is not None:
            # No such function, in an odd C library; -1 if this user has watches enough.
            with suppress(AttributeError):
                self.descriptor = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)

    def watch(self) -> None:
        """Watch the file that is at the path now, also if another one was before."""
        if self.descriptor >= 0:
            watch = self._library.inotify_add_watch(self.descriptor, self._path, _WRITTEN | _GONE)
            self.watching = watch >= 0

    def forget(self) -> None:
        """Forget what was told so far."""
        with suppress(BlockingIOError):
            while self.descriptor >= 0:
                os.read(self.descriptor, 4096)

    def close(self) -> None:
        """Watch no more."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.watching, self.descriptor = False, -1
