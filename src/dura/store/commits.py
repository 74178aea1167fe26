"""Committing: one transaction for all who wait at the door, led by whoever stands first.

Each operation but the first has a savepoint of its own, or shares one with those that ask the same thing; what fails by itself
is undone by itself. After an error of the file nobody has succeeded, and each is served alone.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from dura.errors import CommitUnknown, StoreError
from dura.store.connections import Connections, Link, begin
from dura.store.counts import keep
from dura.store.door import Door, Ticket
from dura.store.faults import UNREADABLE, named
from dura.store.idle import IdleWorkers, claims_ride_along
from dura.store.transaction import Transaction

_LONGEST_BATCH: Final = 0.02
"""Seconds after which a leader commits what it has; those who wait behind come next."""

_disturbances = 0


def disturbances() -> int:
    """A number that differs once this process has disturbed a claim, of any store.

    That is a commit by which a claim may have ended, or a step been used, otherwise than by its holder's own call.
    """
    return _disturbances


def _disturb() -> None:
    global _disturbances
    _disturbances += 1


def _groups(tickets: list[Ticket[Any]]) -> list[list[Ticket[Any]]]:
    """Those whom one call of their operation can serve, together; every other alone."""
    groups: dict[object, list[Ticket[Any]]] = {}
    for ticket in tickets:
        groups.setdefault(ticket if ticket.request is None else ticket.operation, []).append(ticket)
    return list(groups.values())


def _call(group: list[Ticket[Any]], transaction: Transaction) -> None:
    first = group[0]
    if first.request is None:
        first.error, transaction.disturbs = None, True
        first.result = first.operation(transaction)
    else:
        results = first.operation(transaction, [ticket.request for ticket in group])
        for ticket, result in zip(group, results, strict=True):
            ticket.result, ticket.error = result, None


class Commits:
    """The commits of one process to one file."""

    def __init__(
        self,
        path: str,
        connections: Connections,
        door: Door,
        idle: Sequence[IdleWorkers],
        now: Callable[[], str],
    ) -> None:
        self._path = path
        self._connections = connections
        self._door = door
        self._idle = idle
        self._now = now

    def lead(self, first: Ticket[Any]) -> None:
        """Run the operations of the leader and of its company, and settle all their tickets."""
        if first.alone:
            link = self._connections.link()
        else:
            link = self._connections.writer
            self._door.await_company(first)
        batch = [first]
        with link.busy:
            try:
                self._serve(link, batch, company=not first.alone)
            except BaseException:
                self._door.put_back([ticket for ticket in batch[1:] if not ticket.settled])
                raise

    def _serve(self, link: Link, batch: list[Ticket[Any]], *, company: bool) -> None:
        """One transaction for the batch, which grows by those who wait as long as the lock is held; all are settled.

        Whatever is raised, Ctrl-C between any two steps included: a ticket is settled without an error exactly if its
        operation was committed.
        """
        try:
            connection = link.connection or self._connections.open(link)
            try:
                if connection.in_transaction:
                    # Ctrl-C has kept the last leader from ending its transaction.
                    connection.execute("ROLLBACK")
                begin(connection, self._connections.busy_seconds)
                self._connections.check_identity(link)
                link.transaction = transaction = Transaction(link, self._now())
                self._call_all(batch, transaction, company=company)
                if self._connections.inherited:
                    raise StoreError(
                        f"{self._path}: this process was forked inside the function of update_state, and the update is its "
                        "parent's to finish. Nothing was written here; end a forked child with os._exit, or call the "
                        "engine anew in it.",
                        path=self._path,
                    )
                if transaction.announces and self._idle:
                    with claims_ride_along(self._idle, transaction, self._call_in_savepoint) as granted:
                        self._commit(transaction, [*batch, *granted])
                else:
                    self._commit(transaction, batch)
            finally:
                # SQLite has ended the transaction by itself after a full disk or an I/O error.
                if connection.in_transaction and not self._connections.inherited:
                    connection.execute("ROLLBACK")
                link.transaction = None
        except Exception as error:  # noqa: BLE001 - it is the callers', who raise it
            self._settle_after(error, link, batch)

    def _settle_after(self, error: Exception, link: Link, batch: list[Ticket[Any]]) -> None:
        """Settle a batch whose transaction was not committed."""
        of_the_file = isinstance(error, sqlite3.Error | StoreError)
        if of_the_file and not isinstance(error, CommitUnknown) and len(batch) > 1:
            # The transaction is gone and nobody has succeeded; what one of them cannot have, the others may.
            for ticket in batch:
                self._serve(link, [ticket], company=False)
        elif not of_the_file and len(batch) > 1:
            # No operation's: the leader is out of memory, or at the end of its stack.
            self._door.put_back(batch[1:])
            self._door.settle(batch[:1], error)
        else:
            users_own = batch[0].alone and isinstance(error, UNREADABLE)
            self._door.settle(batch, error if users_own else named(error, self._path))

    def _commit(self, transaction: Transaction, tickets: list[Ticket[Any]]) -> None:
        if transaction.moves:
            keep(transaction)
        try:
            transaction.execute("COMMIT")
            if transaction.disturbs:
                _disturb()
            self._door.settle(tickets, None)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_IOERR:
                _disturb()
                raise CommitUnknown(
                    f"{self._path}: the disk failed during a commit ({error}). Whether the change was kept is unknown: "
                    "read it back before repeating the call.",
                    path=self._path,
                ) from error
            raise
        except Exception:
            raise
        except BaseException:
            # Ctrl-C after the commit: what is committed must not be run again.
            if not transaction.connection.in_transaction:
                _disturb()
                self._door.settle(tickets, None)
            raise

    def _call_all(self, batch: list[Ticket[Any]], transaction: Transaction, *, company: bool) -> None:
        """Call the operations of the batch, and of those who have come to wait meanwhile, until nobody has or time is up.

        Those that the time does not suffice for leave the batch.
        """
        if company:
            self._door.company(batch)
        until, called = time.monotonic() + _LONGEST_BATCH, 0
        while called < len(batch):
            if len(batch) == 1:
                _call(batch, transaction)
            elif not self._call_several(batch, transaction, called, until):
                return
            called = len(batch)
            if company:
                self._door.company(batch)

    def _call_several(
        self, batch: list[Ticket[Any]], transaction: Transaction, called: int, until: float
    ) -> bool:
        """Call the operations of those after the first `called`. Returns whether there was time for all of them."""
        groups = _groups(batch[called:])
        batch[called:] = [ticket for group in groups for ticket in group]
        for group in groups:
            if not called:
                self._call_first(group, transaction)
            elif time.monotonic() <= until:
                self._call_in_savepoint(group, transaction)
            else:
                self._door.put_back(batch[called:])
                del batch[called:]
                return False
            called += len(group)
        return True

    def _call_first(self, group: list[Ticket[Any]], transaction: Transaction) -> None:
        """Call the operation of those who come first. They need no savepoint: if it fails, nothing else is undone with it."""
        try:
            _call(group, transaction)
        except Exception:
            if not transaction.connection.in_transaction:
                raise
            transaction.execute("ROLLBACK")
            transaction.moves.clear()
            begin(transaction.connection, self._connections.busy_seconds)
            self._call_in_savepoint(group, transaction)

    def _call_in_savepoint(self, group: list[Ticket[Any]], transaction: Transaction) -> None:
        """Call the operation of the group's tickets; if it fails for several, call it for each alone."""
        transaction.execute("SAVEPOINT operation")
        transaction.now, moves = self._now(), transaction.moves.copy()
        try:
            _call(group, transaction)
        except Exception as error:
            if not transaction.connection.in_transaction:
                raise
            transaction.execute("ROLLBACK TO operation")
            transaction.execute("RELEASE operation")
            transaction.moves = moves
            if len(group) == 1:
                group[0].error = named(error, self._path)
            else:
                for ticket in group:
                    self._call_in_savepoint([ticket], transaction)
        else:
            transaction.execute("RELEASE operation")
