"""One worker: a loop that claims a run, carries it out, and waits when there is none."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dura.engine import DurableEngine
from dura.errors import EngineError
from dura.health import Heartbeat
from dura.records import ClaimedTask
from dura.workers.executor import Handler, process_task
from dura.workers.wakeup import Wakeup

logger = logging.getLogger("dura.workers")

_SHORTEST_WAIT: Final = 0.001
"""Seconds; a due time that has just passed must not make an idle worker spin."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the workers of a pool have in common."""

    engine: DurableEngine
    handlers: Mapping[str, Handler]
    stop_event: threading.Event
    heartbeat: Heartbeat | None
    claim_timeout_secs: float
    poll_interval: float
    queues: Sequence[str] | None


class Worker:
    """One thread's worth of work."""

    def __init__(self, terms: Terms, *, worker_id: str, max_priority: int | None) -> None:
        self.worker_id = worker_id
        self.task: ClaimedTask | None = None
        """The run that is being carried out."""
        self._terms = terms
        self._max_priority = max_priority

    def run(self, wakeup: Wakeup) -> None:
        """Work until the stop event is set; the run in hand is finished first."""
        terms = self._terms
        logger.info("worker %s started", self.worker_id)
        try:
            while not terms.stop_event.is_set():
                if terms.heartbeat is not None:
                    terms.heartbeat.beat()
                try:
                    if not self._work():
                        wakeup.wait(self._idle_seconds())
                    else:
                        wakeup.signal()
                except Exception:
                    # A store that cannot be read or written now may be so later; the pool must not shrink meanwhile.
                    logger.exception("worker %s met an error and goes on", self.worker_id)
                    terms.stop_event.wait(terms.poll_interval)
        finally:
            terms.engine.close()
            logger.info("worker %s stopped", self.worker_id)

    def give_back(self) -> None:
        """Give back the run in hand, from another thread, because the process is about to end."""
        task = self.task
        if task is None:
            return
        try:
            self._terms.engine.give_back_run(run_id=task.run_id, claim_token=task.claim_token)
            logger.warning("%s: task %s was given back unfinished", task.name, task.task_id)
        except EngineError as error:
            logger.warning("%s: task %s could not be given back: %s", task.name, task.task_id, error)

    def _work(self) -> bool:
        """Claim a run and carry it out. Returns whether there was one."""
        terms = self._terms
        task = self.task = terms.engine.claim_task(
            worker_id=self.worker_id,
            timeout_secs=terms.claim_timeout_secs,
            max_priority=self._max_priority,
            queue=terms.queues,
        )
        if task is None:
            return False
        try:
            if terms.stop_event.is_set():
                self.give_back()
            elif task.name in terms.handlers:
                process_task(terms.engine, handlers=terms.handlers, task=task, worker_id=self.worker_id)
            else:
                delay = terms.engine.defer_run(run_id=task.run_id, claim_token=task.claim_token)
                logger.warning(
                    "%s: no handler for task %s here; left to other workers for %.1f s",
                    task.name,
                    task.task_id,
                    delay,
                )
        finally:
            self.task = None
        return True

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
        claim_timeout_secs=claim_timeout_secs,
        poll_interval=poll_interval,
        queues=queues,
    )
    with Wakeup(engine, stop_event) as wakeup:
        Worker(terms, worker_id=worker_id, max_priority=max_priority).run(wakeup)
