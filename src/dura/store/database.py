"""The door to the file: one writer at a time, on one connection, and nothing open across a fork.

Every mutation is an operation, a function of a `Transaction`, that runs between BEGIN IMMEDIATE and COMMIT; the caller
returns only after that commit. Whoever is at the front of the line (`door`) commits for all who wait; what many ask for at
once is done for all of them in a few statements (`write_together`). `now` is read once an operation, after the write lock
is held, so that no lease is born expired in a queue. A call made while the same thread's operation is open (from
`update_state`'s function) joins that transaction in a savepoint.

A connection must not cross a fork: the child would inherit SQLite's belief that locks are held which the kernel gave to
the parent alone. So a fork waits for running operations, closes every idle connection, and lets both sides reopen. One
that cannot be closed in time is left alone in the child, never used and never closed there.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from time import monotonic
from typing import Any, Final, TypeVar

from dura.clock import Clock, present
from dura.errors import StoreBusy
from dura.store.commits import Commits
from dura.store.connections import Connections, changing
from dura.store.counts import keep
from dura.store.door import Door, Late, Ticket
from dura.store.faults import UNREADABLE, named
from dura.store.idle import IdleWorkers
from dura.store.transaction import Transaction

Q = TypeVar("Q")
R = TypeVar("R")

_FORK_PATIENCE: Final = 5.0
"""Seconds that a fork waits for running operations."""


class Database:
    """Reads and writes of one store file, from any number of threads."""

    def __init__(self, path: str, *, clock: Clock, busy_timeout_ms: int, synchronous: str) -> None:
        self.path = path
        self.idle: list[IdleWorkers] = []
        """Of the pools in this process: the transaction that makes work due makes their claims too."""
        self._clock = clock
        self._busy_timeout_ms = busy_timeout_ms
        self._synchronous = synchronous
        self._reset()
        with changing:
            _databases.add(self)

    def _reset(self) -> None:
        self._connections = Connections(
            self.path, busy_timeout_ms=self._busy_timeout_ms, synchronous=self._synchronous
        )
        self._door = Door()
        self._commits = Commits(self.path, self._connections, self._door, self.idle, self.now)

    @property
    def busy_seconds(self) -> float:
        """The longest wait for a lock, in seconds."""
        return self._connections.busy_seconds

    def now(self) -> str:
        """The clock's time, in the store's format."""
        return present(self._clock)

    def write(self, operation: Callable[[Transaction], R], *, alone: bool = False) -> R:
        """Run an operation in a transaction and return its result once it is committed.

        The transaction may hold other threads' operations too, each in a savepoint: what one of them does wrong undoes
        itself alone.

        Args:
            operation: Works on the transaction it is given. It may run on another thread, and again if the commit
                fails, so it reads no context and runs no user's code, unless `alone`.
            alone: Run it on this thread, in a transaction of its own.

        Raises:
            StoreBusy: The lock could not be had within the busy timeout.
            StoreError: The file cannot be written; the message says why. Nothing was changed.
            CommitUnknown: The disk failed during the commit.
            Exception: Whatever the operation raised; its changes are rolled back.
        """
        link = self._connections.link()
        if link.transaction is not None and (outer := link.open_transaction()) is not None:
            return self._join(outer, operation)
        return self._stand_in_line(Ticket(operation, alone=alone))

    def write_together(self, operation: Callable[[Transaction, Sequence[Q]], Sequence[R]], request: Q) -> R:
        """`write` for an operation that serves the requests of all who wait for the same one, in a few statements.

        Args:
            operation: Returns a result for each request. What one request may not have is told by its result; if the
                operation raises, all it did is undone and each request is served alone.
            request: The caller's; not None.

        Raises:
            Exception: As `write`.
        """
        link = self._connections.link()
        if link.transaction is not None and (outer := link.open_transaction()) is not None:
            return self._join(outer, lambda tx: operation(tx, [request])[0])
        return self._stand_in_line(Ticket(operation, request))

    def write_all_together(
        self, operation: Callable[[Transaction, Sequence[Q]], Sequence[R]], requests: Sequence[Q]
    ) -> list[Ticket[R]]:
        """`write_together` for several requests of one caller, who stands in line for all of them at once.

        Returns:
            Their tickets, settled. Once one of them could not have the lock in time, none of the next waits for it again.
        """
        tickets: list[Ticket[R]] = [Ticket(operation, request) for request in requests]
        until, busy = monotonic() + self.busy_seconds, None
        try:
            leads = self._door.line_up(tickets)
            for ticket in tickets:
                if ticket.settled:
                    continue
                try:
                    if leads or self._await(ticket, max(0.0, until - monotonic())):
                        leads = False
                        if busy is None:
                            self._commits.lead(ticket)
                        else:
                            ticket.error = busy
                except StoreBusy as late:
                    ticket.error = late
                if isinstance(ticket.error, StoreBusy):
                    busy = ticket.error
                self._door.leave(ticket)
        except BaseException:
            for ticket in tickets:
                self._door.leave(ticket)
            raise
        return tickets

    def _stand_in_line(self, ticket: Ticket[R]) -> R:
        in_line = True
        try:
            in_line = self._door.line_up([ticket]) or self._await(ticket, self.busy_seconds)
            if in_line:
                self._commits.lead(ticket)
        finally:
            # A leader that settles another has taken it out of the line.
            if in_line:
                try:
                    self._door.leave(ticket)
                except BaseException:
                    # Ctrl-C: whoever is next must not wait for a leader that is gone.
                    self._door.leave(ticket)
                    raise
        return ticket.outcome()

    def _await(self, ticket: Ticket[Any], timeout: float) -> bool:
        try:
            return self._door.wait(ticket, timeout)
        except Late:
            raise StoreBusy(
                f"{self.path}: other threads of this process kept the write lock for {self._busy_timeout_ms} ms. "
                "Nothing was written; try again, or raise busy_timeout_ms.",
                path=self.path,
            ) from None

    def inside(self) -> bool:
        """Whether the calling thread's operation is open, so that what it writes now can still be undone by it."""
        link = self._connections.link()
        return link.transaction is not None and link.open_transaction() is not None

    def read(self, query: Callable[[sqlite3.Connection], R]) -> R:
        """Run a query on the calling thread's connection, seeing what its open operation has changed."""
        link = self._connections.link()
        try:
            with link.busy:
                return query(self._connections.open(link))
        except (sqlite3.Error, *UNREADABLE) as error:
            if (meant := named(error, self.path)) is error:
                raise
            raise meant from error

    def version(self) -> int:
        """A number that differs once another connection has committed; for the calling thread to compare over time."""
        return self.read(lambda connection: int(connection.execute("PRAGMA data_version").fetchone()[0]))

    def _join(self, outer: Transaction, operation: Callable[[Transaction], R]) -> R:
        transaction = Transaction(outer.link, self.now())
        outer.execute("SAVEPOINT joined")
        try:
            result = operation(transaction)
            keep(transaction)
        except BaseException:
            if outer.connection.in_transaction:
                outer.execute("ROLLBACK TO joined")
                outer.execute("RELEASE joined")
            raise
        outer.execute("RELEASE joined")
        outer.announces += transaction.announces
        return result

    def passing(self, *, mode: str) -> AbstractContextManager[sqlite3.Connection]:
        """A connection for the block alone, opened with this mode: `rw`, or `rwc` if the file may be made."""
        return self._connections.passing(mode=mode)

    def close(self) -> None:
        """Close the calling thread's connection; it opens again when used again."""
        self._connections.close()

    def before_fork(self) -> Callable[[], None]:
        """Close what is idle; returns what the parent does afterwards."""
        ticket: Ticket[None] = Ticket(lambda _: None, alone=True)
        if not self.inside():
            with suppress(Late):
                if not self._door.line_up([ticket]):
                    self._door.wait(ticket, _FORK_PATIENCE)
        connections = self._connections
        held = connections.freeze(_FORK_PATIENCE)
        for link in held:
            if link.open_transaction() is None and link.connection is not None:
                with suppress(sqlite3.Error), changing:
                    link.connection.close()
                link.connection = None

        def resume() -> None:
            connections.thaw(held)
            self._door.leave(ticket)

        return resume

    def after_fork_in_child(self) -> None:
        """Begin anew; what could not be closed is kept from the garbage collector, which would close it."""
        self._connections.inherited = True
        _inherited.append(self._connections)
        self.idle.clear()
        self._reset()


_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[Connections] = []


class _Fork(threading.local):
    """The calling thread's fork. Threads may fork at once, and each must give back what it holds itself."""

    def __init__(self) -> None:
        self.resumptions: list[Callable[[], None]] = []
        self.changing = False
        """Whether it keeps others from opening and closing connections."""


_fork = _Fork()


def _before_fork() -> None:
    """Wait until no other thread is inside SQLite, and let none in until the fork is done."""
    seen: list[Database] = []
    while True:
        _fork.changing = changing.acquire(_FORK_PATIENCE)
        # Those that came meanwhile may have connections.
        new = [database for database in tuple(_databases) if database not in seen]
        if not new:
            return
        if _fork.changing:
            changing.release()
        seen += new
        _fork.resumptions.extend(database.before_fork() for database in new)


def _after_fork_in_parent() -> None:
    if _fork.changing:
        _fork.changing = False
        changing.release()
    while _fork.resumptions:
        _fork.resumptions.pop()()


def _after_fork_in_child() -> None:
    changing.renew()
    _fork.changing = False
    _fork.resumptions.clear()
    for database in tuple(_databases):
        database.after_fork_in_child()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)
