"""A monitor in a process of its own, which looks once a second as the terminal's does."""

from __future__ import annotations

import json
import sys
import threading
import time

from benchmarks.store import Store
from dura.monitor import Monitor
from dura.records import TaskQuery, Want

_EVERY = 1.0
_ROWS = 50


def run(store: Store) -> dict[str, float]:
    ended = threading.Event()
    looked = 0.0
    with Monitor(store.path) as monitor:
        look_fully(monitor)
        print(json.dumps("ready"), flush=True)
        threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
        while True:
            looked += look_fully(monitor)
            if ended.wait(_EVERY):
                break
    print(json.dumps(looked), flush=True)
    return {}


def look_fully(monitor: Monitor) -> float:
    """Seconds that a look takes that asks for every list at once, more than any screen does."""
    want = Want(
        leases=_ROWS,
        sleepers=_ROWS,
        awaited=_ROWS,
        events=_ROWS,
        failures=_ROWS,
        workers=True,
        throughput=True,
        tasks=TaskQuery(limit=_ROWS),
        namespaces=True,
        audit=_ROWS,
    )
    return _look(monitor, want)


def look_shortly(monitor: Monitor) -> float:
    """Seconds that a look at the counts takes."""
    return _look(monitor, Want())


def _look(monitor: Monitor, want: Want) -> float:
    began = time.perf_counter()
    monitor.snapshot(want)
    return time.perf_counter() - began


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.readline()
    ended.set()
