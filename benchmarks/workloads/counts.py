"""Counting a large store: how many runs are ready, how many tasks are in each state."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.store import Store


def run(store: Store, *, tasks: int, looks: int = 3) -> dict[str, float]:
    store.build({"pending": tasks * 9 // 10, "completed": tasks // 10})
    with store.open() as system:
        engine = system.engine
        store.watch.read_back(mine=True)
        ready = _median(engine.ready_run_count, looks)
        counts = [
            _median(count, looks)
            for count in (engine.task_counts_by_state, engine.task_counts_by_name_and_state)
        ]
    return {"ready": ready, "counts": max(counts)}


def _median(look: Callable[[], Any], looks: int) -> float:
    took = []
    for _ in range(looks):
        began = time.perf_counter()
        look()
        took.append(time.perf_counter() - began)
    return statistics.median(took)
