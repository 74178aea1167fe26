"""A worker and its terms: who claims, and what is in hand."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dura.checks import function, functions
from dura.engine import DurableEngine
from dura.errors import EngineError, InvalidValue, shown
from dura.health import Heartbeat
from dura.log import logger_of
from dura.records import ClaimedTask
from dura.store.claim import Claim
from dura.store.settle import Settlement
from dura.store.turns import Turn
from dura.workers.executor import Handler, report_lost

logger = logger_of("dura.workers")

REACH_SECONDS: Final = 2.0
"""How long giving back waits for claims that are being made: the parent of several processes kills those that take five."""


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
    """Who claims one run after the other, and what became of the one in hand. The crew's threads work for it."""

    def __init__(self, terms: Terms, *, worker_id: str, max_priority: int | None) -> None:
        self.worker_id = worker_id
        self.task: ClaimedTask | None = None
        """The run in hand: being carried out, or not settled yet."""
        self.settlement: Settlement | None = None
        """How the run in hand is to be settled, once its handler has ended."""
        self.reaching = threading.Lock()
        """Held from before a claim is made until its run is in hand."""
        self._given_back: ClaimedTask | None = None
        self.wanted = Claim(
            worker_id=worker_id,
            lease_seconds=terms.claim_timeout_secs,
            queues=terms.queues,
            max_priority=max_priority,
        )
        self._engine = terms.engine

    def turn(self, *, claims: bool) -> Turn:
        """What it asks the store for: the run in hand settled and, if it claims, the next one."""
        return Turn(self.settlement, self.wanted if claims else None)

    def take_turn(self, *, claims: bool) -> None:
        """Settle the run in hand, and claim the next in the same transaction, or after a look that finds one.

        Raises:
            StoreError: The run in hand could not be settled, and still is.
        """
        if self.settlement is None:
            self.task = self._engine.claim_next(self.wanted) if claims else None
        elif claims:
            self.has(*self._engine.settle_and_claim(self.settlement, self.wanted))
        else:
            self.has(self._engine.settle(self.settlement), None)

    def has(self, lost: EngineError | None, task: ClaimedTask | None) -> None:
        """Take the next run in hand, the last one being settled, or lost."""
        settled, self.settlement, self.task = self.task, None, task
        if lost is not None and settled is not None:
            report_lost(settled, lost)

    def give_back(self, patience: float = REACH_SECONDS) -> None:
        """Give back the run in hand, perhaps from another thread, because the process is about to end.

        Args:
            patience: How long to wait for a claim that is being made, in seconds: its run would be left to its lease.
        """
        reached = self.reaching.acquire(timeout=patience)
        try:
            if self.task is not None and self.task is not self._given_back:
                self._given_back = self.task
                self._give_back(self.task)
        finally:
            if reached:
                self.reaching.release()

    def _give_back(self, task: ClaimedTask) -> None:
        try:
            self._engine.give_back_run(run_id=task.run_id, claim_token=task.claim_token)
            logger.warning("%s: task %s was given back unfinished", task.name, task.task_id)
        except EngineError as error:
            logger.warning("%s: task %s could not be given back: %s", task.name, task.task_id, error)


def default_worker_id(thread_name: str) -> str:
    """An id that names host, process and thread, so that no two workers share one and a dead one can be told."""
    return f"{socket.gethostname()}:{os.getpid()}:{thread_name}"
