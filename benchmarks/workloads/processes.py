"""Four processes of two workers on one file, against one process of eight."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.store import Store

_HEAD_START = 0.1
"""Seconds between telling the pools and the window that all of them count in."""


def run(store: Store, *, seconds: float, tasks: int) -> dict[str, float]:
    rates = {}
    base = store.path
    for pools, workers in ((1, 8), (4, 2)):
        store.path = str(Path(base).with_name(f"store-{pools}.db"))
        store.fill(tasks)
        rates[pools] = _together(store, pools, workers, seconds)
    return {"one": rates[1], "four": rates[4], "share": rates[4] / rates[1]}


def _together(store: Store, pools: int, workers: int, seconds: float) -> float:
    with ExitStack() as stack:
        others = [stack.enter_context(store.second("pool", workers=workers)) for _ in range(pools)]
        for other in others:
            other.hear()
        begins = time.perf_counter() + _HEAD_START
        for other in others:
            other.say([begins, begins + seconds])
        heard = [other.hear() for other in others]
    for each in heard:
        store.watch.add(each["durability"])
    latest = max(each["latest"] for each in heard)
    if latest > begins + seconds:
        latest = begins + seconds
    return float(sum(each["jobs"] for each in heard) / (latest - begins))
