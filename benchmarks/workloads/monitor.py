"""The monitor on a large store at work: how long a look takes, and what it costs those who work."""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks import bulk_rows
from benchmarks.store import Store
from benchmarks.tally import Tally
from benchmarks.workloads.looker import look_fully, look_shortly
from dura.monitor import Monitor

_WORKERS = 8
_LOOKS = 5
_BULK = 1000
_LEAST = 10_000
"""Tasks that are pending at least when a part begins."""


def run(store: Store, *, sizes: list[int], seconds: float, part: float) -> dict[str, float]:
    """Look at each of the sizes while nobody works; then work on the largest for so many `seconds`, cut into parts in
    which the monitor is closed and open in turn; a rate with it is compared with those without it before and after."""
    paths = {size: str(Path(store.path).with_name(f"store-{size}.db")) for size in sizes}
    for size, store.path in paths.items():
        store.build(bulk_rows.mixed(size))
    store.begin()
    metrics: dict[str, float] = {}
    for size, path in paths.items():
        with Monitor(path) as monitor:
            look_fully(monitor)
            metrics[f"snapshot {size}"] = statistics.median(look_fully(monitor) for _ in range(_LOOKS))
            metrics[f"short {size}"] = statistics.median(look_shortly(monitor) for _ in range(_LOOKS))
    tally = Tally(store.watch, expected=0)
    shares: list[float] = []
    wal: dict[bool, int] = {False: 0, True: 0}
    looked = watched = 0.0
    with store.open(workers=_WORKERS) as system, system.pool(_WORKERS, tally.job):
        tally.wait_for_first()
        supply = _Supply(system, tally, bulk_rows.mixed(max(sizes))["pending"])
        before, wal[False] = _rate(store, tally, supply, part)
        while len(shares) < seconds / part / 2:
            with store.second("looker") as other:
                other.hear()
                beside, largest = _rate(store, tally, supply, part)
                wal[True] = max(wal[True], largest)
                other.say("end")
                looked += other.hear()
            after, largest = _rate(store, tally, supply, part)
            wal[False] = max(wal[False], largest)
            # What else changes meanwhile is the same before and after.
            shares.append(2 * beside / (before + after))
            before = after
            watched += part
        limit = store.watch.ask("journal_size_limit")
    return {
        **metrics,
        "share": statistics.median(shares),
        "duty": looked / watched,
        "wal without": wal[False],
        "wal": wal[True],
        "wal limit": limit,
    }


class _Supply:
    """Keeps enough tasks pending for what the pool can carry out in a while."""

    def __init__(self, system: Any, tally: Tally, pending: int) -> None:
        self._system = system
        self._tally = tally
        self._made = pending
        self._began = time.perf_counter()
        self._first = tally.latest

    def last(self, seconds: float) -> None:
        """See to it that there are enough for so many seconds, at twice the rate so far."""
        rate = (self._tally.latest - self._first) / (time.perf_counter() - self._began)
        while self._made - self._tally.latest < max(_LEAST, 2 * rate * seconds):
            self._system.spawn_many([0] * _BULK)
            self._made += _BULK


def _rate(store: Store, tally: Tally, supply: _Supply, seconds: float) -> tuple[float, int]:
    """Jobs a second, and the largest size of the write-ahead log meanwhile."""
    supply.last(seconds)
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
