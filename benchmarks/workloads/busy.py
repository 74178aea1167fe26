"""No-op tasks beside one handler that computes in Python without a pause, and so fights for the interpreter."""

from __future__ import annotations

import threading
import time
from typing import Any

from benchmarks.adapters import Step
from benchmarks.store import Skip, Store
from benchmarks.tally import Tally


def run(store: Store, *, workers: int, seconds: float, tasks: int, processes: int = 0) -> dict[str, float]:
    if processes:
        raise Skip("the pool has no processes in this version")
    store.fill(tasks + 1)
    tally = Tally(store.watch, tasks)
    ended, burning = threading.Event(), threading.Lock()

    def job(params: Any, step: Step) -> None:
        if burning.acquire(blocking=False):
            while not ended.is_set():
                pass
            burning.release()
        else:
            tally.job(params, step)

    with store.open(workers=workers) as system, system.pool(workers, job):
        try:
            window = tally.window(seconds)
        finally:
            ended.set()
            time.sleep(0)
    return {"rate": window.rate}
