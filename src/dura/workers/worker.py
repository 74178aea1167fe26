"""One worker: a loop that claims a run, carries it out, and waits when there is none."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dura.checks import function, functions, name, names, seconds
from dura.engine import DurableEngine
from dura.errors import EngineError, InvalidValue, StoreBusy, shown
from dura.health import Heartbeat
from dura.log import logger_of
from dura.records import ClaimedTask
from dura.store.claim import Claim
from dura.store.idle import IdleWorkers
from dura.store.settle import Settlement
from dura.workers.executor import Handler, carry_out, report_lost
from dura.workers.wakeup import Wakeup

logger = logger_of("dura.workers")

_SHORTEST_WAIT: Final = 0.001
"""Seconds; a due time that has just passed must not make an idle worker spin."""

REACH_SECONDS: Final = 2.0
"""How long giving back waits for claims that are being made: the parent of several processes kills those that take five."""

_BUSY_PAUSE: Final = 0.05
"""Seconds before a draining worker asks for the lock again; its busy timeout may be zero."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the workers of a pool have in common."""

    engine: DurableEngine
    handlers: Mapping[str, Handler]
    stop_event: threading.Event
    heartbeat: Heartbeat | None
    claim_timeout_secs: float
    poll_interval: float
    queues: tuple[str, ...] | None

    def __post_init__(self) -> None:
        functions(self.handlers, "handlers")
        if not isinstance(self.engine, DurableEngine):
            raise InvalidValue(f"engine must be a DurableEngine, not {shown(self.engine)}")
        if self.heartbeat is not None:
            function(getattr(self.heartbeat, "beat", None), "heartbeat.beat")
        for method in ("is_set", "set", "wait"):
            function(getattr(self.stop_event, method, None), f"stop_event.{method}")


class Worker:
    """One thread's worth of work."""

    def __init__(self, terms: Terms, *, worker_id: str, max_priority: int | None) -> None:
        self.worker_id = worker_id
        self.task: ClaimedTask | None = None
        """The run in hand: being carried out, or not settled yet."""
        self._settlement: Settlement | None = None
        """How the run in hand is to be settled, once its handler has ended."""
        self._reaching = threading.Lock()
        """Held from before a claim is made until its run is in hand."""
        self._given_back: ClaimedTask | None = None
        self._terms = terms
        self._wanted = Claim(
            worker_id=worker_id,
            lease_seconds=terms.claim_timeout_secs,
            queues=terms.queues,
            max_priority=max_priority,
        )

    def run(self, wakeup: Wakeup) -> None:
        """Work until the stop event is set; the run in hand is finished first."""
        terms = self._terms
        give_up: float | None = None
        logger.info("worker %s started", self.worker_id)
        try:
            while not terms.stop_event.is_set() or self._settlement is not None:
                if terms.heartbeat is not None:
                    terms.heartbeat.beat()
                try:
                    self._turn(wakeup.idle)
                except Exception as error:
                    # A store that cannot be read or written now may be so later; the pool must not shrink meanwhile.
                    logger.exception("worker %s met an error and goes on", self.worker_id)
                    if terms.stop_event.wait(terms.poll_interval):
                        # A drain waits for a lock too: what a handler has done would be done again after the lease. Past
                        # the lease it is another worker's anyway.
                        give_up = give_up or time.monotonic() + terms.claim_timeout_secs
                        busy = isinstance(error, StoreBusy) and time.monotonic() < give_up
                        if self._settlement is None or not busy:
                            return
                        time.sleep(_BUSY_PAUSE)
        finally:
            terms.engine.close()
            logger.info("worker %s stopped", self.worker_id)

    def give_back(self, patience: float) -> None:
        """Give back the run in hand, from another thread, because the process is about to end.

        Args:
            patience: How long to wait for a claim that is being made, in seconds: its run would be left to its lease.
        """
        reached = self._reaching.acquire(timeout=patience)
        try:
            if self.task is not None and self.task is not self._given_back:
                self._given_back = self.task
                self._give_back(self.task)
        finally:
            if reached:
                self._reaching.release()

    def _give_back(self, task: ClaimedTask) -> None:
        try:
            self._terms.engine.give_back_run(run_id=task.run_id, claim_token=task.claim_token)
            logger.warning("%s: task %s was given back unfinished", task.name, task.task_id)
        except EngineError as error:
            logger.warning("%s: task %s could not be given back: %s", task.name, task.task_id, error)

    def _turn(self, idle: IdleWorkers) -> None:
        """Settle the run in hand, claim the next or wait for it, and carry it out."""
        terms = self._terms
        stirs, looks = idle.stirs, self._settlement is None
        with self._reaching:
            task = self._next()
            if task is not None and looks:
                # Where who looks finds one, there may be more.
                idle.stir()
            elif task is None and not terms.stop_event.is_set():
                task = self.task = self._wait(idle, stirs)
        if task is None:
            return
        if terms.stop_event.is_set():
            self.give_back(REACH_SECONDS)
            self.task = None
        elif (handler := terms.handlers.get(task.name)) is not None:
            self._settlement = carry_out(terms.engine, handler, task)
            if self._settlement is None:
                self.task = None
        else:
            self.task = None
            delay = terms.engine.defer_run(run_id=task.run_id, claim_token=task.claim_token)
            logger.warning(
                "%s: no handler for task %s of queue %s here; left to other workers for %.1f s",
                *(task.name, task.task_id, task.queue, delay),
            )

    def _next(self) -> ClaimedTask | None:
        """The next run, claimed in the transaction that settles the one in hand; no claim once stop was asked for."""
        engine, settled = self._terms.engine, self.task
        claims = self._claims()
        if self._settlement is None or settled is None:
            self.task = engine.claim_next(self._wanted) if claims else None
            return self.task
        task: ClaimedTask | None = None
        if not claims:
            lost = engine.settle(self._settlement)
        else:
            lost, task = engine.settle_and_claim(self._settlement, self._wanted)
        self._settlement, self.task = None, task
        if lost is not None:
            report_lost(settled, lost)
        return task

    def _claims(self) -> bool:
        """Whether to claim a run next."""
        return not self._terms.stop_event.is_set()

    def _wait(self, idle: IdleWorkers, stirs: int) -> ClaimedTask | None:
        """Wait until it is time to look. Returns the next run, if one was claimed for this worker meanwhile."""
        return self._terms.engine.wait_for_claim(self._wanted, idle, self._idle_seconds(), stirs)

    def _idle_seconds(self) -> float:
        """How long to wait: until something is due, at most the poll interval."""
        due = self._terms.engine.seconds_until_due()
        if due is None:
            return self._terms.poll_interval
        return min(self._terms.poll_interval, max(due, _SHORTEST_WAIT))


def default_worker_id(thread_name: str) -> str:
    """An id that names host, process and thread, so that no two workers share one and a dead one can be told."""
    return f"{socket.gethostname()}:{os.getpid()}:{thread_name}"


def run_worker(
    engine: DurableEngine,
    *,
    handlers: Mapping[str, Handler],
    worker_id: str,
    stop_event: threading.Event,
    heartbeat: Heartbeat | None = None,
    claim_timeout_secs: float = 120,
    poll_interval: float = 1.0,
    max_priority: int | None = None,
    queues: Sequence[str] | None = None,
) -> None:
    """Work on the calling thread until `stop_event` is set.

    Args:
        engine: The store.
        handlers: Task names to handlers; tasks of other names are left to other workers.
        worker_id: Who works; shown by monitors.
        stop_event: Ends the loop once the run in hand is finished.
        heartbeat: Beaten at every turn of the loop.
        claim_timeout_secs: The lease's length, in seconds: longer than any step without `extend_claim`.
        poll_interval: The longest wait between two looks, in seconds; work made due by a commit is noticed at once.
        max_priority: Only runs of at most this priority.
        queues: Only runs of these queues; by default of any.
    """
    terms = Terms(
        engine=engine,
        handlers=handlers,
        stop_event=stop_event,
        heartbeat=heartbeat,
        claim_timeout_secs=seconds(claim_timeout_secs, "claim_timeout_secs", positive=True),
        poll_interval=seconds(poll_interval, "poll_interval", positive=True),
        queues=names(queues, "queues"),
    )
    with Wakeup(engine, stop_event) as wakeup:
        Worker(terms, worker_id=name(worker_id, "worker_id"), max_priority=max_priority).run(wakeup)
