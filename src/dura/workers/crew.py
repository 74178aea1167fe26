"""The threads of a pool. Each works for a worker; while handlers are quick, one of them works for all.

To wake a thread costs more than a handler that computes but a little. So a thread that finds its handlers quick leaves its
worker to the one that drives, and rests. The driver settles the runs of all workers that are left to it and claims their next
ones in one transaction, and carries them out one after the other.

    a handler was quick, nobody drives   ──▶ drives
    a handler was quick, somebody drives ──▶ leaves its worker, rests
    a handler of the driver's is slow    ──▶ the first who rests sees it within moments, and every worker has its thread again

There are as many threads as workers, and a thread that does not rest has a worker. So whoever rests gets one again, if not the
same, as soon as there is one that the driver does not go on with: for want of a run, because its run's handler is not known
to be quick, after an error, or at the end. A thread that is the only one has nobody to drive for.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from dura.errors import StoreBusy
from dura.log import logger_of
from dura.records import ClaimedTask
from dura.store.idle import IdleWorkers
from dura.workers.courtesy import Courtesy
from dura.workers.executor import carry_out
from dura.workers.worker import Terms, Worker

logger = logger_of("dura.workers")

_QUICK: Final = 0.0001
"""Seconds that a handler may take at most to count as quick: about what it costs to wake a thread for it."""

_PROOF: Final = 16
_LAPSE: Final = 64
_MOST: Final = 256
"""Runs that must have been quick before a handler is taken for quick; how many of them one that is slow takes away; how many are
counted. So a handler that is slow oftener than once in 64 times is not taken for quick for long."""

_PATIENCE: Final = 0.002
"""Seconds after which a driver that is still at the same run is found to be slow."""

_SHORTEST_WAIT: Final = 0.001
"""Seconds; a due time that has just passed must not make an idle worker spin."""

_BUSY_PAUSE: Final = 0.05
"""Seconds before a draining worker asks for the lock again; its busy timeout may be zero."""


class _Hand:
    """A thread of the crew."""

    __slots__ = ("gate", "worker")

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        """For whom it works; if it rests, for whom it did."""
        self.gate = threading.Lock()
        """Released for one that rests once it has a worker again."""
        self.gate.acquire()


class Crew:
    """The threads of a pool, or the only one of `run_worker`."""

    def __init__(self, terms: Terms, idle: IdleWorkers, courtesy: Courtesy | None = None) -> None:
        self._terms = terms
        self._idle = idle
        self._courtesy = courtesy
        self._quick_runs: dict[str, int] = {}
        """By task name: how many runs have been quick."""
        self._mutex = threading.Lock()
        self._hands = 0
        """How many threads there are."""
        self._driver: _Hand | None = None
        self._carrying = False
        """Whether the driver is in a handler, and not in a transaction."""
        self._carried = 0
        """How many runs drivers have carried out."""
        self._ready: deque[Worker] = deque()
        """Workers whose runs the driver has still to carry out."""
        self._done: deque[Worker] = deque()
        """Workers whose runs it has still to settle."""
        self._free: deque[Worker] = deque()
        """Workers for whom the next thread that has none is to work; never any while a thread rests."""
        self._resting: list[_Hand] = []

    def work(self, worker: Worker) -> None:
        """Work on the calling thread until the stop event is set; the run in hand is finished first."""
        terms, hand = self._terms, _Hand(worker)
        give_up: float | None = None
        logger.info("worker %s started", worker.worker_id)
        with self._mutex:
            self._hands += 1
        try:
            while not terms.stop_event.is_set() or hand.worker.task is not None:
                try:
                    if terms.heartbeat is not None:
                        terms.heartbeat.beat()
                    self._turn(hand)
                except Exception as error:
                    # A store that cannot be read or written now may be so later; the pool must not shrink meanwhile.
                    logger.exception("worker %s met an error and goes on", hand.worker.worker_id)
                    if terms.stop_event.wait(terms.poll_interval) and hand.worker.settlement is not None:
                        # A drain waits for a lock too: what a handler has done would be done again after the lease. Past
                        # the lease it is another worker's anyway.
                        give_up = give_up or time.monotonic() + terms.claim_timeout_secs
                        busy = isinstance(error, StoreBusy) and time.monotonic() < give_up
                        if not busy:
                            return
                        time.sleep(_BUSY_PAUSE)
        finally:
            with self._mutex:
                self._hands -= 1
                self._disband(hand)
            terms.engine.close()
            logger.info("worker %s stopped", hand.worker.worker_id)

    def _turn(self, hand: _Hand) -> None:
        """Settle the run in hand, claim the next or wait for it, and carry it out; or drive, or leave that to the driver."""
        worker = hand.worker
        if self._may_be_driven(worker):
            with self._mutex:
                self._driver = self._driver or hand
                drives = self._driver is hand
                if not drives:
                    self._done.append(worker)
                    self._lie_down(hand)
            if drives:
                self._drive(hand)
            else:
                self._rest(hand)
            return
        if self._driver is hand:
            with self._mutex:
                self._disband(hand)
        if worker.task is None or worker.settlement is not None:
            with worker.reaching:
                self._find_run(worker)
        if worker.task is not None:
            self._carry_out(worker)

    def _find_run(self, worker: Worker) -> None:
        """Settle the run in hand, and claim the next or wait for it."""
        stirs, looks = self._idle.stirs, worker.settlement is None
        self._take_turns([worker])
        if worker.task is not None and looks:
            # Where who looks finds one, there may be more.
            self._idle.stir()
        elif worker.task is None and not self._terms.stop_event.is_set():
            worker.task = self._wait(worker, stirs)

    def _may_be_driven(self, worker: Worker) -> bool:
        """Whether it has a run to settle that was quick, and there are others to drive for."""
        return (
            worker.settlement is not None
            and self._hands > 1
            and self._is_quick(worker.settlement.name)
            and not self._terms.stop_event.is_set()
        )

    def _is_quick(self, name: str) -> bool:
        return self._quick_runs.get(name, 0) >= _PROOF

    def _take_turns(self, workers: Sequence[Worker]) -> None:
        """Settle what the workers have in hand, and claim their next runs, none once stop was asked for.

        Raises:
            StoreError: Some or all could not be settled, and have their runs in hand still.
        """
        courtesy, began = self._courtesy, time.monotonic()
        claims = not self._terms.stop_event.is_set() and (courtesy is None or courtesy.may_claim())
        try:
            if len(workers) == 1:
                workers[0].take_turn(claims=claims)
            else:
                turns = [worker.turn(claims=claims) for worker in workers]
                outcomes = self._terms.engine.take_turns(turns)
                for worker, outcome in zip(workers, outcomes, strict=True):
                    if not isinstance(outcome, Exception):
                        worker.has(*outcome)
                for outcome in outcomes:
                    if isinstance(outcome, Exception):
                        raise outcome
        finally:
            if courtesy is not None and claims:
                courtesy.heed(time.monotonic() - began)

    def _wait(self, worker: Worker, stirs: int) -> ClaimedTask | None:
        """Wait until it is time to look. Returns the next run, if one was claimed for the worker meanwhile."""
        engine, longest = self._terms.engine, self._terms.poll_interval
        if self._courtesy is not None and (pause := self._courtesy.pause()) > 0:
            # Not among the idle: nobody is to claim for it either.
            self._terms.stop_event.wait(min(pause, longest))
            return None
        due = engine.seconds_until_due()
        seconds = longest if due is None else min(longest, max(due, _SHORTEST_WAIT))
        return engine.wait_for_claim(worker.wanted, self._idle, seconds, stirs)

    def _carry_out(self, worker: Worker) -> bool:
        """Let the handler run. Returns whether it has ended, was quick, and is known to be."""
        terms, task = self._terms, worker.task
        assert task is not None
        if terms.stop_event.is_set():
            worker.give_back()
            worker.task = None
        elif (handler := terms.handlers.get(task.name)) is not None:
            began = time.monotonic()
            try:
                worker.settlement = carry_out(terms.engine, handler, task)
            finally:
                if worker.settlement is None:
                    # Parked; or nobody knows what became of it, and it is left to its lease.
                    worker.task = None
            runs = self._quick_runs.get(task.name, 0)
            if worker.settlement is not None and time.monotonic() - began <= _QUICK:
                if runs < _MOST:
                    self._quick_runs[task.name] = runs + 1
                return runs >= _PROOF
            self._quick_runs[task.name] = max(runs - _LAPSE, 0)
        else:
            worker.task = None
            delay = terms.engine.defer_run(run_id=task.run_id, claim_token=task.claim_token)
            logger.warning(
                "%s: no handler for task %s of queue %s here; left to other workers for %.1f s",
                *(task.name, task.task_id, task.queue, delay),
            )
        return False

    def _drive(self, hand: _Hand) -> None:
        """Settle the runs of the workers that are left to the driver, claim their next ones, and carry those out."""
        with self._mutex:
            taken = [hand.worker, *self._done]
            self._done.clear()
        try:
            for worker in taken:
                worker.reaching.acquire()
            try:
                self._take_turns(taken)
            finally:
                for worker in taken:
                    worker.reaching.release()
        except BaseException:
            # This thread waits before it tries again: with a worker that has something to settle still.
            taken.sort(key=lambda worker: worker.settlement is not None)
            with self._mutex:
                hand.worker = taken.pop()
                self._set_free(taken)
                self._disband(hand)
            raise
        others: list[Worker] = []
        with self._mutex:
            for worker in taken:
                quick = (
                    worker.task is not None and worker.settlement is None and self._is_quick(worker.task.name)
                )
                (self._ready if quick else others).append(worker)
            drives = self._carrying = bool(self._ready)
            hand.worker = self._ready.popleft() if drives else others.pop()
            if others:
                self._set_free(others)
            if not drives:
                self._disband(hand)
        while drives:
            quick = self._carry_out(hand.worker)
            with self._mutex:
                drives = self._goes_on(hand, quick=quick)

    def _goes_on(self, hand: _Hand, *, quick: bool) -> bool:
        """For the driver, after a run that was quick or not. Called with the mutex held.

        Returns:
            Whether it has the next run to carry out in hand; else it has one to settle.
        """
        self._carried += 1
        if self._driver is not hand or not quick:
            self._disband(hand)
            return False
        self._done.append(hand.worker)
        self._carrying = bool(self._ready)
        hand.worker = (self._ready or self._done).popleft()
        return self._carrying

    def _rest(self, hand: _Hand) -> None:
        """Wait for a worker. The first who rests keeps an eye on the driver."""
        watches, seen = self._resting[:1] == [hand], -1
        while not hand.gate.acquire(timeout=_PATIENCE if watches else -1):
            with self._mutex:
                if self._carrying and seen == self._carried:
                    self._disband(self._driver)
                seen = self._carried

    def _lie_down(self, hand: _Hand) -> None:
        """Let the thread be given a worker, at once if one is free. Called with the mutex held; `_rest` must follow."""
        self._resting.append(hand)
        self._set_free(())

    def _disband(self, driver: _Hand | None) -> None:
        """If that is the driver, let every worker have a thread again. Called with the mutex held."""
        if driver is not None and self._driver is driver:
            self._driver, self._carrying = None, False
            self._set_free([*self._done, *self._ready])
            self._done.clear()
            self._ready.clear()

    def _set_free(self, workers: Sequence[Worker]) -> None:
        """Give these workers to threads that rest, or that will. Called with the mutex held."""
        self._free.extend(workers)
        while self._free and self._resting:
            hand = self._resting.pop()
            hand.worker = self._free.popleft()
            hand.gate.release()
