"""The monitor on a large store at work: how long a look takes, and what it costs those who work."""

from __future__ import annotations

import statistics
import threading
import time

from benchmarks.store import Store
from benchmarks.tally import Tally
from benchmarks.workloads.looker import look_fully, look_shortly
from dura.monitor import Monitor

_WORKERS = 8
_PARTS = 4
"""The time is cut into so many parts, in which the monitor is closed and open in turn."""

_LOOKS = 5


def run(store: Store, *, tasks: int, seconds: float) -> dict[str, float]:
    store.build({"pending": tasks * 8 // 10, "sleeping": tasks // 10, "completed": tasks // 10})
    with Monitor(store.path) as monitor:
        look_fully(monitor)
        full = statistics.median(look_fully(monitor) for _ in range(_LOOKS))
        short = statistics.median(look_shortly(monitor) for _ in range(_LOOKS))
    tally = Tally(store.watch, expected=0)
    rates: dict[bool, list[float]] = {False: [], True: []}
    wal: dict[bool, int] = {False: 0, True: 0}
    looked = 0.0
    with store.open() as system, system.pool(_WORKERS, tally.job):
        tally.wait_for_first()
        for part in range(_PARTS):
            with_monitor = part % 2 == 1
            if not with_monitor:
                rate, largest = _rate(store, tally, seconds / _PARTS)
            else:
                with store.second("looker") as other:
                    other.hear()
                    rate, largest = _rate(store, tally, seconds / _PARTS)
                    other.say("end")
                    looked += other.hear()
            rates[with_monitor].append(rate)
            wal[with_monitor] = max(wal[with_monitor], largest)
    return {
        "snapshot": full,
        "counts": short,
        "share": statistics.mean(rates[True]) / statistics.mean(rates[False]),
        "duty": looked / (seconds / 2),
        "wal without": wal[False],
        "wal": wal[True],
    }


def _rate(store: Store, tally: Tally, seconds: float) -> tuple[float, int]:
    """Jobs a second, and the largest size of the write-ahead log meanwhile."""
    largest = 0
    began, before = time.perf_counter(), tally.latest
    pause = threading.Event()
    while (took := time.perf_counter() - began) < seconds:
        largest = max(largest, store.files()[1])
        pause.wait(min(0.05, seconds - took))
    jobs = tally.latest - before
    if jobs == 0:
        raise RuntimeError("the pool ran out of tasks: build a larger store")
    return jobs / took, largest
