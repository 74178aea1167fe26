"""One of several processes with a pool each: it counts its jobs in the window that it is told."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from benchmarks.adapters import Step
from benchmarks.store import Store
from benchmarks.tally import Tally


def run(store: Store, *, workers: int) -> dict[str, float]:
    tally = Tally(store.watch, expected=0)
    latest = 0.0

    def job(params: Any, step: Step) -> None:
        nonlocal latest
        tally.job(params, step)
        latest = time.perf_counter()

    with store.open(workers=workers) as system, system.pool(workers, job):
        tally.wait_for_first()
        print(json.dumps("ready"), flush=True)
        begins, ends = json.loads(sys.stdin.readline())
        time.sleep(max(0.0, begins - time.perf_counter()))
        before = tally.latest
        time.sleep(max(0.0, ends - time.perf_counter()))
        jobs, seen = tally.latest - before, latest
    heard = {"jobs": jobs, "latest": seen, "durability": store.watch.durability()}
    print(json.dumps(heard), flush=True)
    return {}
