"""Counting a large store: how many runs are ready, how many tasks are in each state."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import bulk_rows
from benchmarks.store import Store

_LOOKS = 5
_PATIENCE = 10.0
"""Seconds after which a count is not repeated."""


def run(store: Store, *, sizes: list[int]) -> dict[str, float]:
    paths = {size: str(Path(store.path).with_name(f"store-{size}.db")) for size in sizes}
    for size, store.path in paths.items():
        store.build(bulk_rows.mixed(size))
    metrics: dict[str, float] = {}
    for size, store.path in paths.items():
        with store.open() as system:
            engine = system.engine
            store.watch.read_back(mine=True)
            counts = (engine.task_counts_by_state, engine.task_counts_by_name_and_state)
            metrics[f"ready {size}"] = _median(engine.ready_run_count)
            metrics[f"counts {size}"] = max(_median(count) for count in counts)
    return metrics


def _median(look: Callable[[], Any]) -> float:
    took: list[float] = []
    while len(took) < _LOOKS and sum(took) < _PATIENCE:
        began = time.perf_counter()
        look()
        took.append(time.perf_counter() - began)
    return statistics.median(took)
