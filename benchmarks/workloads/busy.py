"""No-op tasks beside one handler that computes in Python without a pause, and so fights for the interpreter.

They are counted in the store, since whoever counts in the process that computes would be slowed by it too. A system that
can spread its workers over several processes does.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from benchmarks.adapters import Step
from benchmarks.store import Store

_BURN = "burn"
_over = threading.Event()
"""Ends the handler that computes, where it is in this process."""

_PATIENCE = 60.0
"""Seconds to wait for the first no-op task, and the longest that the handler computes."""

_PAUSE = 0.05
"""Seconds between two looks for it."""

_LEAST = 20
"""Tasks that a window should have."""

_LONGEST = 10
"""So many times its length a window may last to have them."""


def run(store: Store, *, workers: int, processes: int, seconds: float, tasks: int) -> dict[str, float]:
    store.fill(1, params=_BURN)
    store.fill(tasks)

    def watched(params: Any, step: Step) -> None:
        store.watch.read_back(mine=True)
        job(params, step)

    with store.open(workers=workers) as system:
        before = system.done()
        spread = hasattr(system, "spread")
        with system.spread(workers, processes, job) if spread else system.pool(workers, watched):
            try:
                _wait_for_first(system, before)
                done, rate = _window(system, seconds)
            finally:
                _over.set()
        if done - before >= tasks:
            raise RuntimeError(f"all {tasks} tasks ran: fill the store with more")
    return {"rate": rate}


def job(params: Any, step: Step) -> None:
    """Compute until it is over, or do nothing; a function of a module, so that other processes find it."""
    if params == _BURN:
        ends = time.perf_counter() + _PATIENCE
        while time.perf_counter() < ends and not _over.is_set():
            pass


def _wait_for_first(system: Any, before: int) -> None:
    ends = time.perf_counter() + _PATIENCE
    while system.done() == before:
        if time.perf_counter() > ends:
            raise TimeoutError(f"no task ran within {_PATIENCE:.0f} s")
        time.sleep(_PAUSE)


def _window(system: Any, seconds: float) -> tuple[int, float]:
    """How many are done after a window of so many seconds, or of some more to have enough of them; and the rate in it."""
    time.sleep(seconds / 10)
    first, began = system.done(), time.perf_counter()
    time.sleep(seconds)
    done, ended = system.done(), time.perf_counter()
    while done - first < _LEAST and ended - began < _LONGEST * seconds:
        time.sleep(seconds / 10)
        done, ended = system.done(), time.perf_counter()
    return done, (done - first) / (ended - began)
