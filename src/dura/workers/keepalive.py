"""Keeping a lease alive while a long step runs, for a bounded time.

A lease tells a hung handler from a busy one only by running out, so nothing extends it by itself. A handler that knows
how long a step may take says so; past that bound the lease runs out as if nothing had been said, and another worker takes
the run over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dura.checks import seconds
from dura.engine import DurableEngine
from dura.errors import StoreError
from dura.log import logger_of
from dura.records import ClaimedTask
from dura.store.settle import NO_LONGER_HELD

logger = logger_of("dura.workers")

_EXTENSIONS_A_LEASE: Final = 3
"""So that two may come late or fail before the lease runs out."""


@contextmanager
def keep_alive(
    engine: DurableEngine, task: ClaimedTask, *, at_most_secs: float, lease_secs: float = 120
) -> Iterator[None]:
    """Extend the task's lease again and again while the block runs.

    Args:
        engine: The engine that the task was claimed from.
        task: The claimed task.
        at_most_secs: How long to go on extending, in seconds: the longest that the block can take if it is not hung.
        lease_secs: How far each extension reaches, in seconds; extended three times in that time.

    Raises:
        InvalidValue: A duration is no finite number above zero.
    """
    seconds(at_most_secs, "at_most_secs", positive=True)
    seconds(lease_secs, "lease_secs", positive=True)
    ended = threading.Event()
    thread = threading.Thread(
        target=_extend,
        args=(engine, task, ended, at_most_secs, lease_secs),
        name="dura-keep-alive",
        daemon=True,
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _extend(
    engine: DurableEngine, task: ClaimedTask, ended: threading.Event, at_most_secs: float, lease_secs: float
) -> None:
    deadline = time.monotonic() + at_most_secs
    try:
        while not ended.is_set() and time.monotonic() < deadline:
            try:
                engine.extend_claim(run_id=task.run_id, by_secs=lease_secs, claim_token=task.claim_token)
            except NO_LONGER_HELD as error:
                logger.warning(
                    "%s: the lease of task %s is not extended any more: %s", task.name, task.task_id, error
                )
                return
            except StoreError as error:
                logger.warning(
                    "%s: the lease of task %s was not extended: %s", task.name, task.task_id, error
                )
            ended.wait(lease_secs / _EXTENSIONS_A_LEASE)
        if not ended.is_set():
            logger.warning(
                "%s: task %s has taken longer than at_most_secs=%g; its lease is left to run out",
                *(task.name, task.task_id, at_most_secs),
            )
    finally:
        engine.close()
