"""Connections to the file: one a thread to read with, and one that whoever leads writes with.

A connection's page cache and prepared statements are of use only while no other connection commits; so all operations that
need not run on their caller's own connection share one. Connections open when first used and close with their threads, the
writer's with the last.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Final
from urllib.parse import quote

from dura.errors import StoreError, StoreNotFound
from dura.store.faults import faults_named
from dura.store.transaction import Transaction

_JOURNAL_LIMIT: Final = 64 * 1024 * 1024
"""Bytes to which the write-ahead log is cut back once a checkpoint has emptied it."""

_SHORTEST_PAUSE: Final = 0.0002
_LONGEST_PAUSE: Final = 0.002
"""Seconds between two looks for another process's lock: half of the wait so far, within these bounds. Where several processes
are busy, one that is left alone a little longer commits more at once, with what it knows of the file still in memory."""

_WRITERS_CACHE_KIB: Final = 16 * 1024
"""What the writer keeps of the file in memory; it stays of use as long as no other process writes."""


class _Changing:
    """Held while a connection is opened or closed, by one thread of the process at a time.

    Of two that close at once, each may think that the other stays; and a child that is forked meanwhile would find SQLite's
    own locks held for ever. Whoever also holds a link's `busy` has taken that first.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *about: object) -> None:
        self.release()

    def acquire(self, timeout: float) -> bool:
        """Take it, waiting at most so many seconds. Whether it could be had."""
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        """Give it back."""
        self._lock.release()

    def renew(self) -> None:
        """In a forked child: nobody else is there who could hold it."""
        self._lock = threading.RLock()


changing: Final = _Changing()


class Link:
    """A thread's connection, or the writer's. `busy` is held while it is in use."""

    __slots__ = ("busy", "connection", "identity", "thread", "transaction", "triggers_count", "unclosed")

    def __init__(self, thread: threading.Thread | None) -> None:
        self.thread = None if thread is None else weakref.ref(thread)
        self.unclosed = False
        """Whether the thread has used the store since it last closed it."""
        self.busy = threading.RLock()
        self.connection: sqlite3.Connection | None = None
        self.identity: tuple[int, int] | None = None
        """Device and inode of the file that the connection opened."""
        self.triggers_count = False
        """Whether triggers keep the file's counters, and not the engine."""
        self.transaction: Transaction | None = None

    def look_for_triggers(self, connection: sqlite3.Connection) -> None:
        """Note whether triggers keep the file's counters."""
        found = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = 'tasks_recounted'"
        ).fetchone()
        self.triggers_count = found is not None

    def orphaned(self) -> bool:
        """Whether the thread has ended."""
        if self.thread is None:
            return False
        thread = self.thread()
        return thread is None or not thread.is_alive()

    def open_transaction(self) -> Transaction | None:
        """The thread's open transaction. None also if Ctrl-C has kept one that is over from being forgotten."""
        if self.transaction is None or self.connection is None or not self.connection.in_transaction:
            return None
        return self.transaction

    def disconnect(self) -> None:
        """Close the connection, if there is one."""
        with self.busy:
            if self.connection is not None:
                with changing:
                    self.connection.close()
                self.connection = None


def connect(path: str, *, mode: str, busy_timeout_ms: int) -> sqlite3.Connection:
    """Open a connection in autocommit mode.

    Args:
        path: The file, absolute.
        mode: `rw` (the file must exist) or `rwc` (it may be made).
        busy_timeout_ms: How long SQLite waits for other processes' locks, in milliseconds.
    """
    with changing:
        return sqlite3.connect(
            f"file:{quote(os.fsencode(path))}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=busy_timeout_ms / 1000,
            check_same_thread=False,
            cached_statements=256,
        )


def begin(connection: sqlite3.Connection, timeout: float) -> None:
    """Begin a transaction that writes, waiting for other processes' transactions to end.

    SQLite's own wait looks again after 1, 2, 5, 10, 15, 20 and 25 ms, while a transaction of ours lasts a fraction of one:
    the lock stays free meanwhile, or others take it again and again. This one looks as often as it pays.

    Args:
        connection: In autocommit mode.
        timeout: The longest wait, in seconds.

    Raises:
        sqlite3.OperationalError: Busy to the end, or another error of SQLite.
    """
    execute_once_free(connection, "BEGIN IMMEDIATE", timeout)


def execute_once_free(connection: sqlite3.Connection, sql: str, timeout: float) -> sqlite3.Cursor:
    """Execute what SQLite refuses while others have the file, as often as needed; see `begin`."""
    began = monotonic()
    while True:
        try:
            return connection.execute(sql)
        except sqlite3.OperationalError as error:
            waited = monotonic() - began
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waited >= timeout:
                raise
            sleep(min(max(_SHORTEST_PAUSE, waited / 2), _LONGEST_PAUSE, timeout - waited))


def _disconnect_all(links: list[Link]) -> None:
    for link in links:
        link.disconnect()


class Connections:
    """All connections of one process to one file."""

    def __init__(self, path: str, *, busy_timeout_ms: int, synchronous: str) -> None:
        self._path = path
        self._busy_timeout_ms = busy_timeout_ms
        self.busy_seconds = busy_timeout_ms / 1000
        self._synchronous = synchronous
        self._local = threading.local()
        self.writer = Link(None)
        """The one that leaders write with."""
        self._links = [self.writer]
        self._links_lock = threading.Lock()
        self.inherited = False
        """Whether they are the parent's, in a forked child: nothing may be done with them."""
        # An engine that is dropped without `close` leaves nothing open. At exit nothing is closed: daemon threads still run.
        weakref.finalize(self, _disconnect_all, self._links).atexit = False

    def all(self) -> list[Link]:
        """Every link there is, whether connected or not."""
        with self._links_lock:
            return list(self._links)

    def freeze(self, patience: float) -> list[Link]:
        """Before a fork: take every link once it is idle, and let no thread add one until `thaw`.

        Args:
            patience: How long to wait for one that is in use, in seconds; then it is left.

        Returns:
            Those taken.
        """
        taken: list[Link] = []
        seen: list[Link] = []
        while True:
            self._links_lock.acquire()
            # Threads that came while the others were waited for are inside SQLite now.
            new = [link for link in self._links if link not in seen]
            if not new:
                return taken
            self._links_lock.release()
            seen += new
            taken += [link for link in new if link.busy.acquire(timeout=patience)]

    def thaw(self, taken: list[Link]) -> None:
        """Undo `freeze`."""
        self._links_lock.release()
        for link in taken:
            link.busy.release()

    @contextmanager
    def passing(self, *, mode: str) -> Iterator[sqlite3.Connection]:
        """A connection for the block alone, opened with this mode; see `connect`."""
        link = Link(None)
        with self._links_lock:
            self._links.append(link)
        try:
            with link.busy:
                link.connection = connect(self._path, mode=mode, busy_timeout_ms=self._busy_timeout_ms)
                yield link.connection
        finally:
            link.disconnect()
            with self._links_lock:
                self._links.remove(link)

    def link(self) -> Link:
        """The calling thread's link."""
        link: Link | None = getattr(self._local, "link", None)
        if link is None:
            link = self._local.link = Link(threading.current_thread())
            with self._links_lock:
                self._links.append(link)
            self._drop_orphans()
        link.unclosed = True
        return link

    def open(self, link: Link) -> sqlite3.Connection:
        """The link's connection, opened if it is not."""
        if link.connection is None:
            connection = connect(self._path, mode="rw", busy_timeout_ms=self._busy_timeout_ms)
            try:
                self._set_up(connection, link)
                link.identity = self._identity()
            except BaseException:
                with changing:
                    connection.close()
                raise
            link.connection = connection
            try:
                for other in self.all():
                    self.check_identity(other)
            except StoreError:
                link.disconnect()
                raise
        return link.connection

    def _set_up(self, connection: sqlite3.Connection, link: Link) -> None:
        connection.execute(f"PRAGMA synchronous={self._synchronous}")
        connection.execute(f"PRAGMA journal_size_limit={_JOURNAL_LIMIT}")
        # A statement that fires triggers gets a journal of its own, for which SQLite otherwise takes and frees 64 KiB each
        # time; the page faults cost four times what the statement does.
        connection.execute("PRAGMA temp_store=MEMORY")
        link.look_for_triggers(connection)
        if link is self.writer:
            connection.execute(f"PRAGMA cache_size=-{_WRITERS_CACHE_KIB}")
            # It waits for the lock by itself; see `begin`.
            connection.execute("PRAGMA busy_timeout=0")

    def check_identity(self, link: Link) -> None:
        """Refuse to work on a file that is no longer at its path: what it took would be lost."""
        if link.connection is not None and link.identity != self._identity():
            raise StoreError(
                f"{self._path}: the store was replaced by another file while it was open. Nothing was written; "
                "close this engine and open a new one.",
                path=self._path,
            )

    def _identity(self) -> tuple[int, int]:
        try:
            found = os.stat(self._path)
        except OSError as error:
            raise StoreNotFound(
                f"{self._path}: the store was deleted while it was open ({error.strerror}). Nothing was written; "
                "restore the file, or stop and open a new engine to begin a new store.",
                path=self._path,
            ) from error
        return found.st_dev, found.st_ino

    def _drop_orphans(self) -> None:
        """Close connections whose threads have ended; nobody else will."""
        with self._links_lock:
            orphans = [link for link in self._links if link.orphaned()]
            self._links[:] = [link for link in self._links if link not in orphans]
        for link in orphans:
            link.disconnect()

    def close(self) -> None:
        """Close the calling thread's connection, and the writer's if nobody else has one; they open again when used again.

        The last connection to close empties the write-ahead log and removes it, so connections of threads that have
        ended are closed first.
        """
        self._drop_orphans()
        link: Link | None = getattr(self._local, "link", None)
        if link is not None and link.open_transaction() is None:
            with faults_named(self._path):
                link.disconnect()
                link.unclosed = False
                if not any(other.unclosed for other in self.all()):
                    self.writer.disconnect()
