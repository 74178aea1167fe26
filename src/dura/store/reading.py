"""How a file is opened for reading: a look at a store changes nothing in it and leaves nothing beside it.

A reader sees everything that was committed, or says why it cannot. Which way leads there depends on what lies beside the
file at that moment:

- **live**: opened `mode=ro`, sharing SQLite's locks with whoever writes. Needs the write-ahead log's `-shm`.
- **still**: no log with content, hence nobody who writes. Opened `immutable=1`, since a plain `mode=ro` would leave a
  `-wal` and a `-shm` behind, or fail where this user may not make them. Nothing would tell such a connection that a
  writer came, so the files are compared before and after each look, and a look during which they changed is repeated.
- **copy**: a log with content that cannot be opened (no `-shm`, or none that this user may use). File and log are copied
  to a private folder and read there, never the file without its log.

While a live reader is open, SQLite lets no writer remove the log: after the last writer has closed, `-wal` and `-shm`
stay beside the file until the next one closes.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Final, TypeVar
from urllib.parse import quote

from dura.errors import StoreBusy, StoreError
from dura.store.copying import COPY_LIMIT, copy_files
from dura.store.faults import faults_named
from dura.store.footprint import Footprint, footprint

R = TypeVar("R")

BUSY_TIMEOUT: Final = 0.5
"""Seconds that a reader waits for a lock; readers of a write-ahead log hardly ever wait at all."""

_TRIES: Final = 4
"""How often a look is repeated because the files changed under it."""

_FORK_PATIENCE: Final = 5.0
"""Seconds that a fork waits for a look to end."""

LIVE: Final = "live"
STILL: Final = "still"
COPY: Final = "copy"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where a look comes from."""

    manner: str
    """`live`, `still` or `copy`."""
    size: int
    """Bytes of the database file."""
    wal_size: int
    """Bytes of its write-ahead log."""


class _OvertakenError(Exception):
    """The files changed under an immutable connection: what it saw, or failed at, does not count."""


class _Opened:
    """An open connection and what the files looked like when it was opened."""

    __slots__ = ("connection", "found", "manner", "version")

    def __init__(self, connection: sqlite3.Connection, manner: str, found: Footprint) -> None:
        self.connection = connection
        self.manner = manner
        self.found = found
        self.version: int | None = None
        """`data_version` at the last look that succeeded."""

    def still_serves(self, now: Footprint) -> bool:
        """Whether the connection shows the files as they are now."""
        if self.manner == LIVE:
            return self.found.same_files(now)
        return self.found == now and not self.found.fresh


class Reader:
    """Looks at one store file, from any thread, one look at a time. It opens lazily, and anew whenever that is needed.

    Args:
        path: The store's file.
        busy_timeout: Seconds to wait for a lock.
        copy_limit: Bytes that a private copy may have.
    """

    def __init__(
        self, path: str, *, busy_timeout: float = BUSY_TIMEOUT, copy_limit: int = COPY_LIMIT
    ) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._copy_limit = copy_limit
        self._lock = threading.Lock()
        self._opened: _Opened | None = None
        with _forks.coming:
            _readers.add(self)

    def read(self, look: Callable[[sqlite3.Connection, Source], R]) -> R:
        """Run `look` in one read transaction and return what it returns; nothing is held afterwards.

        `look` may be run again, if the files changed under it.

        Raises:
            StoreError: The file cannot be read; the class and the message say why. The next call tries anew.
        """
        with self._lock:
            for _ in range(_TRIES):
                try:
                    with faults_named(self.path):
                        return self._attempt(look)
                except _OvertakenError:
                    self._drop()
                except BaseException:
                    self._drop()
                    raise
        raise StoreBusy(
            f"{self.path}: the file changed at each of {_TRIES} attempts to read it. Try again.",
            path=self.path,
        )

    def changed(self) -> bool:
        """Whether anything may have been committed since the last look; also true if the next look will fail."""
        with self._lock:
            opened = self._opened
            if opened is None or opened.version is None:
                return True
            try:
                if not opened.still_serves(footprint(self.path)):
                    return True
                return opened.manner == LIVE and _data_version(opened.connection) != opened.version
            except (StoreError, sqlite3.Error):
                return True

    def close(self) -> None:
        """Close the connection; a later look opens anew."""
        with self._lock:
            self._drop()

    def rest(self, patience: float) -> bool:
        """Close the connection, and let nobody look until `go_on`. False: a look took longer than so many seconds."""
        if not self._lock.acquire(timeout=patience):
            return False
        with suppress(StoreError):
            self._drop()
        return True

    def go_on(self) -> None:
        """Undo `rest`."""
        self._lock.release()

    # --- opening ------------------------------------------------------------------------------------------------------

    def _attempt(self, look: Callable[[sqlite3.Connection, Source], R]) -> R:
        now = footprint(self.path)
        opened = self._reach(now)
        try:
            result = self._look(opened, look, now)
        except Exception:
            if self._overtaken(opened):
                raise _OvertakenError from None
            raise
        if self._overtaken(opened):
            raise _OvertakenError
        return result

    def _overtaken(self, opened: _Opened) -> bool:
        """Whether a writer came during a look that takes no part in SQLite's locking."""
        return opened.manner == STILL and footprint(self.path) != opened.found

    def _reach(self, now: Footprint) -> _Opened:
        if self._opened is not None and not self._opened.still_serves(now):
            self._drop()
        if self._opened is None:
            self._opened = self._open(now)
        return self._opened

    def _open(self, now: Footprint) -> _Opened:
        if now.has_log_content and not now.has_index:
            return self._open_copy(now)
        if now.may_have_writer:
            try:
                connection = self._connect(now.path, "mode=ro")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                    raise
                if now.has_log_content:
                    return self._open_copy(now)
                if now.journal is not None:
                    raise
            else:
                return _Opened(connection, LIVE, now)
        return _Opened(self._connect(now.path, "mode=ro&immutable=1"), STILL, now)

    def _open_copy(self, now: Footprint) -> _Opened:
        with TemporaryDirectory(prefix="dura-reading-") as folder:
            copy, copied = copy_files(now, folder, self.path, self._copy_limit)
            # The open connection keeps the copy's bytes alive; without names they cannot outlive this process.
            return _Opened(self._connect(copy, "mode=ro"), COPY, copied)

    def _connect(self, path: str, how: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file://{quote(os.fsencode(path))}?{how}",
            uri=True,
            isolation_level=None,
            timeout=self._busy_timeout,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.text_factory = _text
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA temp_store=MEMORY")
            # Makes SQLite open the file and its log now, where the caller can still choose another way.
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            with faults_named(self.path):
                opened.connection.close()

    # --- looking ------------------------------------------------------------------------------------------------------

    def _look(self, opened: _Opened, look: Callable[[sqlite3.Connection, Source], R], now: Footprint) -> R:
        connection = opened.connection
        source = Source(manner=opened.manner, size=now.size, wal_size=now.wal_size)
        connection.execute("BEGIN")
        try:
            version = _data_version(connection)
            result = look(connection, source)
        finally:
            # Nothing was written; what the look made for itself, such as temporary views, ends here too.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        opened.version = version
        return result

    def _forget(self) -> None:
        """In a forked child: begin anew, and leave the parent's connection open, out of the garbage collector's reach."""
        self._lock = threading.Lock()
        if self._opened is not None:
            _inherited.append(self._opened)
            self._opened = None


def _data_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


def _text(raw: bytes) -> str:
    """Text that is no UTF-8 (an edit by hand) is shown as far as it goes."""
    return raw.decode("utf-8", "replace")


_readers: weakref.WeakSet[Reader] = weakref.WeakSet()
_inherited: list[_Opened] = []


class _Forks:
    """Lets a fork wait until no other thread looks, and closes what is open.

    SQLite's own locks must be free, or the child finds them held for ever. And a connection that the child has a copy of lends
    the child's others its memory of the log's index, which the parent may remove meanwhile.
    """

    def __init__(self) -> None:
        self.coming = threading.Lock()
        """Held while a reader comes, and while the process forks."""
        self._forking = threading.Lock()
        """Held by the thread that forks."""
        self._taken: list[Reader] = []

    def before(self) -> None:
        """Take and close every reader once it is idle, and let none come. One that looks for too long is left."""
        self._forking.acquire()
        seen: list[Reader] = []
        while True:
            self.coming.acquire()
            new = [reader for reader in tuple(_readers) if reader not in seen]
            if not new:
                return
            self.coming.release()
            seen += new
            for reader in new:
                if reader.rest(_FORK_PATIENCE):
                    self._taken.append(reader)

    def in_parent(self) -> None:
        """Let all go on."""
        self.coming.release()
        while self._taken:
            self._taken.pop().go_on()
        self._forking.release()

    def in_child(self) -> None:
        """Begin anew."""
        self.coming, self._forking = threading.Lock(), threading.Lock()
        self._taken.clear()
        for reader in tuple(_readers):
            reader._forget()  # noqa: SLF001 - this module's own class


_forks: Final = _Forks()

os.register_at_fork(before=_forks.before, after_in_parent=_forks.in_parent, after_in_child=_forks.in_child)
