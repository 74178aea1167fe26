"""No-op tasks beside one handler that computes in Python without a pause, and so fights for the interpreter."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.adapters import Step
from benchmarks.store import Store
from benchmarks.tally import Tally

_BURN = "burn"


def run(store: Store, *, workers: int, seconds: float, tasks: int) -> dict[str, float]:
    store.fill(1, params=_BURN)
    store.fill(tasks)
    tally = Tally(store.watch, tasks)

    def job(params: Any, step: Step) -> None:
        if params == _BURN:
            ends = time.perf_counter() + 1.5 * seconds + 0.5
            while time.perf_counter() < ends:
                pass
        else:
            tally.job(params, step)

    with store.open(workers=workers) as system, system.pool(workers, job):
        window = tally.window(seconds)
    return {"rate": window.rate}
