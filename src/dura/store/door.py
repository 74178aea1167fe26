"""The line at the write lock: first come, first served, and whoever is at the front may serve those behind.

SQLite allows one writer. Its busy handler lets waiters poll, and the luckiest gets thousands of commits for the
unluckiest's one; so the threads of a process stand in line here instead. A commit costs the same for one operation as for
many, and handing a lock from thread to thread costs a switch; so the leader takes the operations of those who wait into
its own transaction and tells each how its own went, after the commit.

A leader's every statement lets go of the interpreter, and gets it back from a thread that has work only after that work: so a
leader whose predecessor has just let several go waits for them first, a moment. They come back at once as a rule (the next
step of a handler, the next run of a worker), and then they sleep while it works.

    line up, wait ──front of the line──▶ leads: takes company, commits, settles each ticket, leaves (the next one leads)
      └────another leads───────▶ waits until its ticket is settled, or it leads itself, or its time is over
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Final, Generic, TypeVar

R = TypeVar("R")

_LARGEST_COMPANY: Final = 64

_PATIENCE: Final = 0.00005
"""Seconds that a leader waits for each of those who were let go last, from then on."""

_LONGEST_DOUBT: Final = 64

_NEXT_LOOK: Final = 0.1
"""Seconds after which a caller whose operation is being run sees whether it was put back."""


class Ticket(Generic[R]):
    """One caller's operation and what became of it."""

    settled = False
    left = False
    """Whether the caller is gone, also before its time (Ctrl-C): nobody would lead in its place."""
    result: R | None = None
    error: BaseException | None = None

    def __init__(self, operation: Callable[..., Any], request: Any = None, *, alone: bool = False) -> None:
        self.operation = operation
        self.request = request
        """What the operation is asked to do, if it is one that serves many requests at once; else None."""
        self.alone = alone
        """Whether it must run on its caller's own thread, in a transaction of its own."""
        self.gate = threading.Lock()
        """Held until the ticket is settled or leads."""
        self.gate.acquire()

    def settle(self, error: Exception | None) -> None:
        """Let the caller go on. Repeating the call does no harm."""
        if error is not None:
            self.error = error
        self.settled = True
        self.let_go()

    def let_go(self) -> None:
        """Wake the caller. Two threads may do it at once: the leader who settles it, and whoever leaves the line."""
        try:
            self.gate.release()
        except RuntimeError:
            return  # the other was first

    def outcome(self) -> R:
        """The operation's result, or its error raised."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]  # settled without an error: the operation returned it


class Late(Exception):  # noqa: N818 - not an error of the door
    """A wait was too long, and the ticket has left the line: its operation was not run."""


class Door:
    """The line of one process's writers to one file. Whoever stands first leads.

    The first place is the lead itself, so that one step hands it on: Ctrl-C, which Python may raise between any two
    steps, finds either the old leader or the new one there.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._line: deque[Ticket[Any]] = deque()
        self._settled = 0
        """How many were settled last."""
        self._settled_at = 0.0
        """When, on the monotonic clock."""
        self._awaited = 0
        """How long the line has to be for the leader to wake, who waits for company; 0: nobody waits for it."""
        self._doubt = 0
        """How many leaders do not wait for company, since the last one waited in vain: twice as many each time."""
        self._doubts_left = 0

    def line_up(self, tickets: Sequence[Ticket[Any]]) -> bool:
        """Put the tickets of one caller at the end of the line. For each, `wait` must follow, and `leave` as it says.

        Returns:
            Whether the first of them leads already. It need not wait.
        """
        with self._mutex:
            self._line.extend(tickets)
            if self._line[0] is tickets[0]:
                return True
            if 0 < self._awaited <= len(self._line):
                self._line[0].let_go()
            return False

    def wait(self, ticket: Ticket[Any], timeout: float) -> bool:
        """Wait in line until the ticket leads or a leader has settled it.

        Args:
            ticket: The caller's.
            timeout: The longest wait for the operation to begin, in seconds. One that a leader is running ends soon.

        Returns:
            Whether the ticket leads. Then, and after an exception, `leave` must follow. Else it is settled.

        Raises:
            Late: The wait was too long; the operation was not run.
        """
        while not ticket.gate.acquire(timeout=timeout):
            if self._leads(ticket):
                return True
            if self._withdraw(ticket):
                raise Late
            timeout = _NEXT_LOOK
        return not ticket.settled and self._leads(ticket)

    def settle(self, batch: Sequence[Ticket[Any]], error: Exception | None) -> None:
        """For the leader: let every caller of the batch go on, with the error if there is one."""
        self._settled, self._settled_at = len(batch), monotonic()
        for ticket in batch:
            ticket.settle(error)

    def await_company(self, ticket: Ticket[Any]) -> None:
        """For the leader, by its ticket: wait until those who were let go last are back, if they were several and just now."""
        expected, until = self._settled, self._settled_at + _PATIENCE * self._settled
        if expected < 2 or len(self._line) >= expected or (seconds := until - monotonic()) <= 0:
            return
        if self._doubts_left > 0:
            self._doubts_left -= 1
            return
        self._awaited = expected
        try:
            # Whoever makes the line long enough lets the leader go.
            came = len(self._line) >= expected or ticket.gate.acquire(timeout=seconds)
        finally:
            self._awaited = 0
        self._doubt = 0 if came else min(2 * self._doubt + 1, _LONGEST_DOUBT)
        self._doubts_left = self._doubt

    def company(self, batch: list[Ticket[Any]]) -> None:
        """For the leader: let those who wait next join the batch, up to the first who must run alone."""
        if len(self._line) <= 1:
            return
        with self._mutex:
            while len(self._line) > 1 and not self._line[1].alone and len(batch) <= _LARGEST_COMPANY:
                batch.append(self._line[1])
                del self._line[1]

    def put_back(self, tickets: list[Ticket[Any]]) -> None:
        """For the leader: return taken tickets, not run, to the places behind its own."""
        with self._mutex:
            for ticket in reversed(tickets):
                if ticket not in self._line and not ticket.left:
                    self._line.insert(1, ticket)

    def leave(self, ticket: Ticket[Any]) -> None:
        """Take the ticket out of the line and let whoever is first lead. Repeating the call does no harm."""
        with self._mutex:
            ticket.left = True
            if ticket in self._line:
                self._line.remove(ticket)
            if self._line:
                self._line[0].let_go()

    def _leads(self, ticket: Ticket[Any]) -> bool:
        with self._mutex:
            return bool(self._line) and self._line[0] is ticket

    def _withdraw(self, ticket: Ticket[Any]) -> bool:
        """Step out of the line. False: too late, a leader has taken the ticket."""
        with self._mutex:
            try:
                self._line.remove(ticket)
            except ValueError:
                return False
            return True
