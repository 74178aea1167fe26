"""Tasks enqueued one by one, by one thread."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.store import Store


def run(store: Store, *, seconds: float, beside: int = 0) -> dict[str, float]:
    """`beside`: how many tasks there are already."""
    if beside:
        store.build({"pending": beside})
    with store.open() as system:
        system.spawn(0)
        store.watch.read_back(mine=True)
        return {"rate": rate(system, seconds)}


def rate(system: Any, seconds: float) -> float:
    """Spawns a second."""
    count, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        system.spawn(count)
        count += 1
    return count / took
