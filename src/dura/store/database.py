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
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from dura.clock import Clock, to_text
from dura.errors import CommitUnknown, StoreBusy, StoreError
from dura.store.connections import Connections, Link, Transaction
from dura.store.door import Door, Late, Ticket
from dura.store.faults import named, translate

Q = TypeVar("Q")
R = TypeVar("R")

_LONGEST_BATCH: Final = 0.02
"""Seconds after which a leader commits what it has; those who wait behind come next."""

_FORK_PATIENCE: Final = 5.0
"""Seconds that a fork waits for running operations."""


def _settle(batch: list[Ticket[Any]], error: Exception | None = None) -> None:
    """Let every caller of the batch go on, with the error if there is one."""
    for ticket in batch:
        ticket.settle(error)


def _groups(tickets: list[Ticket[Any]]) -> list[list[Ticket[Any]]]:
    """Those whom one call of their operation can serve, together; every other alone."""
    groups: dict[object, list[Ticket[Any]]] = {}
    for ticket in tickets:
        groups.setdefault(ticket if ticket.request is None else ticket.operation, []).append(ticket)
    return list(groups.values())


def _call(group: list[Ticket[Any]], transaction: Transaction) -> None:
    operation = group[0].operation
    for ticket in group:
        ticket.error = None
    if group[0].request is None:
        transaction.disturbs = True
        group[0].result = operation(transaction)
    else:
        results = operation(transaction, [ticket.request for ticket in group])
        for ticket, result in zip(group, results, strict=True):
            ticket.result = result


_disturbances = 0


def disturbances() -> int:
    """A number that differs once this process has disturbed a claim, of any store.

    That is a commit by which a claim may have ended, or a step been used, otherwise than by its holder's own call.
    """
    return _disturbances


def _disturb() -> None:
    global _disturbances
    _disturbances += 1


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
        self._connections = Connections(
            self.path, busy_timeout_ms=self._busy_timeout_ms, synchronous=self._synchronous
        )
        self._door = Door()

    def now(self) -> str:
        """The clock's time, in the store's format."""
        return to_text(self._clock())

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
        outer = self._connections.link().open_transaction()
        if outer is not None:
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
        outer = self._connections.link().open_transaction()
        if outer is not None:
            return self._join(outer, lambda tx: operation(tx, [request])[0])
        return self._stand_in_line(Ticket(operation, request))

    def _stand_in_line(self, ticket: Ticket[R]) -> R:
        try:
            if self._enter(ticket):
                self._lead(ticket)
        finally:
            try:
                self._door.leave(ticket)
            except BaseException:
                # Ctrl-C: whoever is next must not wait for a leader that is gone.
                self._door.leave(ticket)
                raise
        return ticket.outcome()

    def _enter(self, ticket: Ticket[Any]) -> bool:
        try:
            return self._door.enter(ticket, self._busy_timeout_ms / 1000)
        except Late:
            raise StoreBusy(
                f"{self.path}: other threads of this process kept the write lock for {self._busy_timeout_ms} ms. "
                "Nothing was written; try again, or raise busy_timeout_ms.",
                path=self.path,
            ) from None

    def inside(self) -> bool:
        """Whether the calling thread's operation is open, so that what it writes now can still be undone by it."""
        return self._connections.link().open_transaction() is not None

    def read(self, query: Callable[[sqlite3.Connection], R]) -> R:
        """Run a query on the calling thread's connection, seeing what its open operation has changed."""
        link = self._connections.link()
        try:
            with link.busy:
                return query(self._connections.open(link))
        except sqlite3.ProgrammingError:
            raise
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise named(error, self.path) from error

    def version(self) -> int:
        """A number that differs once another connection has committed; for the calling thread to compare over time."""
        return self.read(lambda connection: int(connection.execute("PRAGMA data_version").fetchone()[0]))

    def _lead(self, first: Ticket[Any]) -> None:
        """Run the leader's operation and those of its company, and settle all their tickets."""
        link = self._connections.link() if first.alone else self._connections.writer
        batch = [first]
        with link.busy:
            try:
                announces = self._serve(link, batch)
            except BaseException:
                self._door.put_back([ticket for ticket in batch[1:] if not ticket.settled])
                raise
        if announces:
            for listener in tuple(self.listeners):
                listener()

    def _serve(self, link: Link, batch: list[Ticket[Any]], *, company: bool = True) -> bool:
        """Commit the batch and settle it. Returns whether work has become due."""
        try:
            return self._commit_together(link, batch, company=company and not batch[0].alone)
        except Exception as error:  # noqa: BLE001 - it is the callers', who raise it
            shared = isinstance(error, sqlite3.Error | StoreError) and not isinstance(error, CommitUnknown)
            if shared and len(batch) > 1:
                # The transaction is gone and nobody has succeeded; what one of them cannot have, the others may.
                announced = [self._serve(link, [ticket], company=False) for ticket in batch]
                return any(announced)
            _settle(batch, self._named(error))
            return False

    def _commit_together(self, link: Link, batch: list[Ticket[Any]], *, company: bool) -> bool:
        """One transaction for the batch, which grows by those who wait as long as the lock is held.

        Whatever is raised, Ctrl-C between any two steps included: a ticket is settled exactly if its operation was
        committed.
        """
        connection = self._connections.open(link)
        committing = False
        try:
            if connection.in_transaction:
                # Ctrl-C has kept the last leader from ending its transaction.
                connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
            self._connections.check_identity(link)
            link.transaction = transaction = Transaction(connection, self.now())
            self._call_all(batch, transaction, company=company)
            committing = True
            connection.execute("COMMIT")
            if transaction.disturbs:
                _disturb()
            _settle(batch)
            return transaction.announces
        except sqlite3.OperationalError as error:
            if committing and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_IOERR:
                raise CommitUnknown(
                    f"{self.path}: the disk failed during a commit ({error}). Whether the change was kept is unknown: "
                    "read it back before repeating the call.",
                    path=self.path,
                ) from error
            raise
        except Exception:
            raise
        except BaseException:
            # Ctrl-C after the commit: what is committed must not be run again.
            if committing and not connection.in_transaction:
                _settle(batch)
            raise
        finally:
            # SQLite has ended the transaction by itself after a full disk or an I/O error.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            link.transaction = None

    def _call_all(self, batch: list[Ticket[Any]], transaction: Transaction, *, company: bool) -> None:
        """Call the operations of the batch, and of those who have come to wait meanwhile, until nobody has or time is up.

        Those that the time does not suffice for leave the batch.
        """
        began = time.monotonic()
        called = 0
        if company:
            self._door.company(batch)
        while called < len(batch):
            groups = _groups(batch[called:])
            batch[called:] = [ticket for group in groups for ticket in group]
            for group in groups:
                if called and time.monotonic() - began > _LONGEST_BATCH:
                    self._door.put_back(batch[called:])
                    del batch[called:]
                    return
                if len(batch) == 1:
                    _call(group, transaction)
                else:
                    self._call_in_savepoint(group, transaction)
                called += len(group)
            if company:
                self._door.company(batch)

    def _call_in_savepoint(self, group: list[Ticket[Any]], transaction: Transaction) -> None:
        """Call the operation of the group's tickets; if it fails for several, call it for each alone."""
        transaction.execute("SAVEPOINT operation")
        transaction.now = self.now()
        try:
            _call(group, transaction)
        except Exception as error:
            if not transaction.connection.in_transaction:
                raise
            transaction.execute("ROLLBACK TO operation")
            transaction.execute("RELEASE operation")
            if len(group) == 1:
                group[0].error = self._named(error)
            else:
                for ticket in group:
                    self._call_in_savepoint([ticket], transaction)
        else:
            transaction.execute("RELEASE operation")

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

    def _named(self, error: Exception) -> Exception:
        return translate(error, self.path) if isinstance(error, sqlite3.Error) else error

    def close(self) -> None:
        """Close the calling thread's connection; it opens again when used again."""
        self._connections.close()

    def before_fork(self) -> Callable[[], None]:
        """Close what is idle; returns what the parent does afterwards."""
        ticket: Ticket[None] = Ticket(lambda _: None, alone=True)
        if not self.inside():
            with suppress(Late):
                self._door.enter(ticket, _FORK_PATIENCE)
        held = [link for link in self._connections.all() if link.busy.acquire(timeout=_FORK_PATIENCE)]
        for link in held:
            if link.open_transaction() is None and link.connection is not None:
                with suppress(sqlite3.Error):
                    link.connection.close()
                link.connection = None

        def resume() -> None:
            for link in held:
                link.busy.release()
            self._door.leave(ticket)

        return resume

    def after_fork_in_child(self) -> None:
        """Begin anew; what could not be closed is kept from the garbage collector, which would close it."""
        _inherited.append(self._connections)
        self.listeners.clear()
        self._reset()


_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[Connections] = []
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
