"""The line at the write lock: first come, first served, and whoever is at the front may serve those behind.

SQLite allows one writer. Its busy handler lets waiters poll, and the luckiest gets thousands of commits for the
unluckiest's one; so the threads of a process stand in line here instead. A commit costs the same for one operation as for
many, and handing a lock from thread to thread costs a switch; so the leader takes the operations of those who wait into
its own transaction and tells each how its own went, after the commit.

    enter ──front of the line──▶ leads: takes company, commits, settles each ticket, leaves (the next one leads)
      └────another leads───────▶ waits until its ticket is settled, or it leads itself, or its time is over
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

R = TypeVar("R")

_LARGEST_COMPANY: Final = 64


class Ticket(Generic[R]):
    """One caller's operation and what became of it."""

    __slots__ = ("alone", "announces", "error", "gate", "operation", "result", "settled")

    def __init__(self, operation: Callable[..., R], *, alone: bool) -> None:
        self.operation = operation
        self.alone = alone
        """Whether it must run on its caller's own thread, in a transaction of its own."""
        self.announces = False
        self.settled = False
        self.result: R | None = None
        self.error: BaseException | None = None
        self.gate = threading.Lock()
        """Held until the ticket is settled or leads."""
        self.gate.acquire()

    def outcome(self) -> R:
        """The operation's result, or its error raised."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]  # settled without an error: the operation returned it


class Door:
    """The line of one process's writers to one file."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._line: deque[Ticket[Any]] = deque()
        self._leader: Ticket[Any] | None = None

    def enter(self, ticket: Ticket[Any], timeout: float) -> bool:
        """Stand in line until the ticket leads or another leader has settled it.

        Args:
            ticket: The caller's.
            timeout: The longest wait, in seconds. A ticket whose operation is being run waits once more as long.

        Returns:
            Whether the ticket leads; then `leave` must follow. Else it is settled.

        Raises:
            TimeoutError: The wait was too long; the operation was not run, unless the ticket is gone from the line.
        """
        with self._mutex:
            if self._leader is None:
                self._leader = ticket
                return True
            self._line.append(ticket)
        try:
            if ticket.gate.acquire(timeout=timeout):
                return self._leads(ticket)
        except BaseException:
            self._withdraw(ticket)
            raise
        if self._leads(ticket):
            return True
        if self._withdraw(ticket) or not ticket.gate.acquire(timeout=timeout):
            raise TimeoutError
        return self._leads(ticket)

    def company(self) -> list[Ticket[Any]]:
        """For the leader: take those who wait next out of the line, up to the first who must run alone."""
        taken: list[Ticket[Any]] = []
        with self._mutex:
            while self._line and not self._line[0].alone and len(taken) < _LARGEST_COMPANY:
                taken.append(self._line.popleft())
        return taken

    def put_back(self, tickets: list[Ticket[Any]]) -> None:
        """For the leader: return taken tickets to the front of the line, not run."""
        with self._mutex:
            self._line.extendleft(reversed(tickets))

    def leave(self, ticket: Ticket[Any]) -> None:
        """Hand the lead on. Nothing happens if the ticket does not lead."""
        with self._mutex:
            if self._leader is ticket:
                self._leader = self._line[0] if self._line else None
                if self._leader is not None:
                    self._line.popleft().gate.release()

    def _leads(self, ticket: Ticket[Any]) -> bool:
        with self._mutex:
            return self._leader is ticket

    def _withdraw(self, ticket: Ticket[Any]) -> bool:
        """Step out of the line. False: too late, a leader has taken the ticket."""
        with self._mutex:
            try:
                self._line.remove(ticket)
            except ValueError:
                return False
            return True
