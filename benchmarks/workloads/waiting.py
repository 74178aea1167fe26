"""The worst wait of one spawn while a pool of eight drains no-op tasks."""

from __future__ import annotations

import statistics
import time

from benchmarks.store import Store
from benchmarks.tally import Tally

_WORKERS = 8
_PAUSE = 0.01


def run(store: Store, *, seconds: float, tasks: int) -> dict[str, float]:
    store.fill(tasks)
    tally = Tally(store.watch, tasks)
    waits: list[float] = []
    with store.open(workers=_WORKERS) as system, system.pool(_WORKERS, tally.job):
        tally.wait_for_first()
        ends = time.perf_counter() + seconds
        while (began := time.perf_counter()) < ends and not tally.wait_for_all(0):
            system.spawn(0)
            waits.append(time.perf_counter() - began)
            time.sleep(_PAUSE)
    return {"worst": max(waits), "median": statistics.median(waits)}
