"""From the call of spawn to the first line of the handler, while a pool of eight has nothing else to do."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

from benchmarks.adapters import Step
from benchmarks.store import Store

_PATIENCE = 30.0
_WORKERS = 8
_LEAST, _MOST = 5, 500


def run(store: Store, *, seconds: float, outside: bool = False) -> dict[str, float]:
    """`outside`: another process spawns. All processes of a machine share the monotonic clock that is read."""
    waits: list[float] = []
    started = threading.Event()

    def job(params: Any, step: Step) -> None:
        waits.append(time.perf_counter() - params)
        if len(waits) == 1:
            store.watch.read_back(mine=True)
        started.set()

    with store.open(workers=_WORKERS) as system, system.pool(_WORKERS, job):
        if outside:
            with store.second("spawner") as other:
                other.hear()
                _sample(lambda: other.say("spawn"), started, waits, seconds)
                other.say("end")
        else:
            _sample(lambda: system.spawn(time.perf_counter()), started, waits, seconds)
    waits = sorted(waits[1:])  # the first also waited for the pool to start
    return {
        "median": statistics.median(waits),
        "p99": waits[min(len(waits) - 1, int(len(waits) * 0.99))],
        "samples": len(waits),
    }


def _sample(spawn: Callable[[], None], started: threading.Event, waits: list[float], seconds: float) -> None:
    """Spawn one after the other, with pauses of random length, so that no poll stays in step with them."""
    pauses = random.Random(1)
    ends = time.perf_counter() + seconds
    while len(waits) <= _LEAST or (time.perf_counter() < ends and len(waits) <= _MOST):
        started.clear()
        spawn()
        if not started.wait(_PATIENCE):
            raise TimeoutError(f"a task had not started after {_PATIENCE:.0f} s")
        time.sleep(pauses.uniform(0.01, 0.05))
