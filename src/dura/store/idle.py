"""Workers that wait for a run: the transaction that makes work due makes their claims too.

An idle worker leaves its claim here. Whoever commits work runs the claims in the same transaction, so that a worker wakes with
a run in hand: one commit and one switch of threads after the call that made the work, and no worker wakes for nothing.

    waits ──a leader has committed its claim──▶ goes on with a run
      ├────stirred: another process's commit, or a time that came──▶ looks for itself
      └────closed: the pool ends──▶ leaves

Of those who wait, one keeps an eye on the time, the one who would look first; the others sleep until they are woken.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from dura.store.claim import Claim, Granted, claim_pending
from dura.store.door import Ticket
from dura.store.transaction import Transaction

IdleTicket = Ticket[Granted | None]


class IdleWorkers:
    """The idle workers of a pool, and their claims."""

    def __init__(self) -> None:
        self.stirs = 0
        """Changes whenever there may be work; a worker notes it before it looks for some."""
        self._mutex = threading.Lock()
        self._serving = threading.Lock()
        """Held while a leader makes the claims, until it has committed."""
        self._waiting: list[IdleTicket] = []
        """Who keeps an eye on the time comes first, who has come last comes last."""
        self._alarm = math.inf
        """When one of them will look, on the monotonic clock."""
        self._closed = False

    def wait(self, wanted: Claim, seconds: float, stirs: int) -> Granted | None:
        """Wait until the claim has been made, there may be work, or so many seconds have passed.

        Args:
            wanted: The worker's claim.
            seconds: When to look for work if nothing happens; that may be left to a worker who looks earlier.
            stirs: What `stirs` was before the worker last looked.

        Returns:
            The claim, if it has been made.
        """
        ticket: IdleTicket = Ticket(claim_pending, wanted)
        deadline = time.monotonic() + seconds
        with self._mutex:
            if self._closed or self.stirs != stirs:
                return None
            watches = deadline < self._alarm
            if watches:
                self._alarm = deadline
            self._waiting.insert(0 if watches else len(self._waiting), ticket)
        try:
            ticket.gate.acquire(timeout=seconds if watches else -1)
        finally:
            # Not before a leader that makes the claim has committed it.
            with self._serving, self._mutex:
                if not ticket.settled:
                    self._waiting.remove(ticket)
                if watches and self._alarm == deadline:
                    self._alarm = math.inf
        if not ticket.settled:
            return None
        if watches:
            # Another one is to keep an eye on the time.
            self.stir()
        return ticket.outcome()

    @contextmanager
    def serve(self) -> Iterator[list[IdleTicket]]:
        """For a leader whose transaction has made work due: the claims to make and, once committed, to settle."""
        with self._serving:
            with self._mutex:
                tickets = self._waiting[::-1]
            try:
                yield tickets
            finally:
                with self._mutex:
                    self.stirs += 1
                    self._waiting = [ticket for ticket in self._waiting if not ticket.settled]
                    for ticket in self._waiting:
                        # Who has come meanwhile may have looked before the commit.
                        if ticket not in tickets:
                            ticket.let_go()

    def stir(self) -> None:
        """Let a worker look for work; of those who may have different runs, one each."""
        with self._mutex:
            self.stirs += 1
            lanes = set()
            for ticket in reversed(self._waiting):
                if not ticket.settled and (lane := ticket.request.lane()) not in lanes:
                    lanes.add(lane)
                    ticket.let_go()

    def close(self) -> None:
        """Let all go, and nobody wait any more."""
        with self._mutex:
            self._closed = True
            for ticket in self._waiting:
                ticket.let_go()


@contextmanager
def claims_ride_along(
    pools: Sequence[IdleWorkers], tx: Transaction, call: Callable[[list[IdleTicket], Transaction], None]
) -> Iterator[list[IdleTicket]]:
    """Claim what the transaction has made due for idle workers, before the block commits it, and tell of the rest after.

    Args:
        pools: Whose workers.
        tx: The transaction.
        call: Runs tickets in a savepoint.

    Yields:
        Those that were granted a run, to settle once it is committed.
    """
    granted: list[IdleTicket] = []
    pools = tuple(pools)
    with ExitStack() as stack:
        for idle in pools:
            tickets = stack.enter_context(idle.serve())
            if tickets:
                call(tickets, tx)
                granted += [
                    ticket for ticket in tickets if ticket.error is None and ticket.result is not None
                ]
        yield granted
    if tx.announces > len(granted):
        for idle in pools:
            idle.stir()
