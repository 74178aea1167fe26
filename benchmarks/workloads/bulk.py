"""A thousand tasks in one call, against as many calls; a release that cannot do it makes as many calls as it takes."""

from __future__ import annotations

import time

from benchmarks.store import Store
from benchmarks.workloads import spawn

_TASKS = range(1000)


def run(store: Store, *, seconds: float) -> dict[str, float]:
    with store.open() as system:
        one_by_one = spawn.rate(system, seconds)
        if not hasattr(system, "spawn_many"):
            return {"one by one": one_by_one}
        calls, began = 0, time.perf_counter()
        while (took := time.perf_counter() - began) < seconds:
            system.spawn_many(_TASKS)
            calls += 1
        bulk = calls * len(_TASKS) / took
    return {"rate": bulk, "one by one": one_by_one}
