"""What a pool of eight costs while it has nothing to do."""

from __future__ import annotations

import threading
import time
from typing import Any

from benchmarks.adapters import Step
from benchmarks.store import Store

_WORKERS = 8
_SETTLING = 1.0
"""Seconds for the pool to become idle after its only task."""


def run(store: Store, *, seconds: float) -> dict[str, float]:
    store.watch.tracing = True
    store.fill(1)
    ran = threading.Event()

    def job(params: Any, step: Step) -> None:
        store.watch.read_back(mine=True)
        ran.set()

    with store.open(workers=_WORKERS) as system, system.pool(_WORKERS, job):
        if not ran.wait(30):
            raise TimeoutError("the pool did not start")
        time.sleep(_SETTLING)
        before = store.watch.locks, sum(store.files()), time.process_time(), time.perf_counter()
        time.sleep(seconds)
        after = store.watch.locks, sum(store.files()), time.process_time(), time.perf_counter()
    took = after[3] - before[3]
    return {
        "locks": (after[0] - before[0]) / took,
        "growth": after[1] - before[1],
        "cpu": (after[2] - before[2]) / took,
    }
