"""The door to the file: one connection a thread, one transaction at a time, and nothing open across a fork.

Every mutation is an operation, a function of a `Transaction`, that runs between BEGIN IMMEDIATE and COMMIT; the caller
returns only after that commit. `now` is read once, after the write lock is held, so that no lease is born expired in a
queue. A call made while the same thread's operation is open (from `update_state`'s function) joins that transaction in a
savepoint.

A connection must not cross a fork: the child would inherit SQLite's belief that locks are held which the kernel gave to
the parent alone. So a fork waits for running operations, closes every idle connection, and lets both sides reopen. One
that cannot be closed in time is left alone in the child, never used and never closed there.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar
from urllib.parse import quote

from dura.clock import Clock, to_text
from dura.errors import CommitUnknown, StoreBusy, StoreError, StoreNotFound
from dura.store.faults import faults_named
from dura.store.turns import Turns

R = TypeVar("R")

_JOURNAL_LIMIT: Final = 64 * 1024 * 1024
"""Bytes to which the write-ahead log is cut back once a checkpoint has emptied it."""

_FORK_PATIENCE: Final = 5.0
"""Seconds that a fork waits for running operations."""


class Transaction:
    """An open write transaction, as operations see it."""

    __slots__ = ("announces", "connection", "execute", "now")

    def __init__(self, connection: sqlite3.Connection, now: str) -> None:
        self.connection = connection
        self.execute = connection.execute
        self.now = now
        """The time of the operation, in the store's format."""
        self.announces = False
        """Set by operations that make work due; idle workers are told after the commit."""

    def changes(self, sql: str, values: tuple[Any, ...] = ()) -> int:
        """Execute a statement and return how many rows it changed."""
        return self.execute(sql, values).rowcount


class _Link:
    """A thread's connection. `busy` is held while it is in use."""

    __slots__ = ("busy", "connection", "identity", "thread", "transaction")

    def __init__(self, thread: threading.Thread) -> None:
        self.thread = weakref.ref(thread)
        self.busy = threading.RLock()
        self.connection: sqlite3.Connection | None = None
        self.identity: tuple[int, int] | None = None
        """Device and inode of the file that the connection opened."""
        self.transaction: Transaction | None = None

    def orphaned(self) -> bool:
        thread = self.thread()
        return thread is None or not thread.is_alive()

    def disconnect(self) -> None:
        with self.busy:
            if self.connection is not None:
                self.connection.close()
                self.connection = None


def connect(path: str, *, mode: str, busy_timeout_ms: int) -> sqlite3.Connection:
    """Open a connection in autocommit mode.

    Args:
        path: The file.
        mode: `rw` (the file must exist) or `rwc` (it may be made).
        busy_timeout_ms: How long SQLite waits for other processes' locks, in milliseconds.
    """
    return sqlite3.connect(
        f"file:{quote(os.path.abspath(path))}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=busy_timeout_ms / 1000,
        check_same_thread=False,
        cached_statements=256,
    )


class Database:
    """Reads and writes of one store file, from any number of threads."""

    def __init__(self, path: str, *, clock: Clock, busy_timeout_ms: int, synchronous: str) -> None:
        self.path = path
        self.listeners: list[Callable[[], None]] = []
        """Called after each commit that made work due, on the writer's thread; must return at once."""
        self._clock = clock
        self._busy_timeout_ms = busy_timeout_ms
        self._synchronous = synchronous
        self._reset()
        _databases.add(self)

    def _reset(self) -> None:
        self._local = threading.local()
        self._links: list[_Link] = []
        self._links_lock = threading.Lock()
        self._turns = Turns()

    def now(self) -> str:
        """The clock's time, in the store's format."""
        return to_text(self._clock())

    # --- operations ---------------------------------------------------------------------------------------------------

    def write(self, operation: Callable[[Transaction], R]) -> R:
        """Run an operation in a transaction of its own and return its result once it is committed.

        Raises:
            StoreBusy: The lock could not be had within the busy timeout.
            StoreError: The file cannot be written; the message says why. Nothing was changed.
            CommitUnknown: The disk failed during the commit.
            Exception: Whatever the operation raised; its changes are rolled back.
        """
        link = self._link()
        if link.transaction is not None:
            return self._join(link.transaction, operation)
        if not self._turns.take(self._busy_timeout_ms / 1000):
            raise StoreBusy(
                f"{self.path}: other threads of this process kept the write lock for {self._busy_timeout_ms} ms. "
                "Nothing was written; try again, or raise busy_timeout_ms.",
                path=self.path,
            )
        try:
            with link.busy, faults_named(self.path):
                transaction, result = self._run(link, operation)
        finally:
            self._turns.give()
        if transaction.announces:
            for listener in tuple(self.listeners):
                listener()
        return result

    def read(self, query: Callable[[sqlite3.Connection], R]) -> R:
        """Run a query on the calling thread's connection, seeing what its open operation has changed."""
        link = self._link()
        with link.busy, faults_named(self.path):
            return query(self._connection(link))

    def version(self) -> int:
        """A number that differs once another connection has committed; for the calling thread to compare over time."""
        return self.read(lambda connection: int(connection.execute("PRAGMA data_version").fetchone()[0]))

    def _run(self, link: _Link, operation: Callable[[Transaction], R]) -> tuple[Transaction, R]:
        connection = self._connection(link)
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._check_identity(link)
            transaction = link.transaction = Transaction(connection, self.now())
            result = operation(transaction)
            self._commit(connection)
        except BaseException:
            # SQLite ends the transaction by itself after a full disk or an I/O error.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            link.transaction = None
        return transaction, result

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_IOERR:
                raise CommitUnknown(
                    f"{self.path}: the disk failed during a commit ({error}). Whether the change was kept is unknown: "
                    "read it back before repeating the call.",
                    path=self.path,
                ) from error
            raise

    def _join(self, outer: Transaction, operation: Callable[[Transaction], R]) -> R:
        transaction = Transaction(outer.connection, self.now())
        outer.execute("SAVEPOINT joined")
        try:
            result = operation(transaction)
        except BaseException:
            if outer.connection.in_transaction:
                outer.execute("ROLLBACK TO joined")
                outer.execute("RELEASE joined")
            raise
        outer.execute("RELEASE joined")
        outer.announces |= transaction.announces
        return result

    # --- connections --------------------------------------------------------------------------------------------------

    def _link(self) -> _Link:
        link: _Link | None = getattr(self._local, "link", None)
        if link is None:
            link = self._local.link = _Link(threading.current_thread())
            with self._links_lock:
                self._links.append(link)
            self._drop_orphans()
        return link

    def _connection(self, link: _Link) -> sqlite3.Connection:
        if link.connection is None:
            connection = connect(self.path, mode="rw", busy_timeout_ms=self._busy_timeout_ms)
            connection.execute(f"PRAGMA synchronous={self._synchronous}")
            connection.execute(f"PRAGMA journal_size_limit={_JOURNAL_LIMIT}")
            found = os.stat(self.path)
            link.identity = (found.st_dev, found.st_ino)
            link.connection = connection
        return link.connection

    def _check_identity(self, link: _Link) -> None:
        """Refuse to write into a file that is no longer at its path: what it took would be lost."""
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise StoreNotFound(
                f"{self.path}: the store was deleted while it was open ({error.strerror}). Nothing was written; "
                "restore the file, or stop and open a new engine to begin a new store.",
                path=self.path,
            ) from error
        if link.identity != (found.st_dev, found.st_ino):
            raise StoreError(
                f"{self.path}: the store was replaced by another file while it was open. Nothing was written; "
                "close this engine and open a new one.",
                path=self.path,
            )

    def _drop_orphans(self) -> None:
        """Close connections whose threads have ended; nobody else will."""
        with self._links_lock:
            orphans = [link for link in self._links if link.orphaned()]
            self._links = [link for link in self._links if link not in orphans]
        for link in orphans:
            link.disconnect()

    def close(self) -> None:
        """Close the calling thread's connection; it opens again when used again.

        The last connection to close empties the write-ahead log and removes it, so connections of threads that have
        ended are closed first.
        """
        self._drop_orphans()
        link: _Link | None = getattr(self._local, "link", None)
        if link is not None and link.transaction is None:
            with faults_named(self.path):
                link.disconnect()

    # --- forks --------------------------------------------------------------------------------------------------------

    def before_fork(self) -> Callable[[], None]:
        """Close what is idle; returns what the parent does afterwards."""
        forks_inside_operation = self._link().transaction is not None
        taken = not forks_inside_operation and self._turns.take(_FORK_PATIENCE)
        held = [link for link in self._links if link.busy.acquire(timeout=_FORK_PATIENCE)]
        for link in held:
            if link.transaction is None and link.connection is not None:
                with suppress(sqlite3.Error):
                    link.connection.close()
                link.connection = None

        def resume() -> None:
            for link in held:
                link.busy.release()
            if taken:
                self._turns.give()

        return resume

    def after_fork_in_child(self) -> None:
        """Begin anew; what could not be closed is kept from the garbage collector, which would close it."""
        _inherited.extend(link for link in self._links if link.connection is not None)
        self.listeners.clear()
        self._reset()


_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[_Link] = []
_resumptions: list[Callable[[], None]] = []


def _before_fork() -> None:
    _resumptions.extend(database.before_fork() for database in tuple(_databases))


def _after_fork_in_parent() -> None:
    while _resumptions:
        _resumptions.pop()()


def _after_fork_in_child() -> None:
    _resumptions.clear()
    for database in tuple(_databases):
        database.after_fork_in_child()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)
