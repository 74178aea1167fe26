"""From the call of spawn to the first line of the handler, while a pool of eight has nothing else to do.

Between two spawns, a bare single-row commit is timed after just such a pause. A processor and a disk that have had nothing to
do for some milliseconds take their time to begin: on a virtual machine a commit then takes several times what it takes in a
loop, whoever makes it. So it is this commit that a wait can be compared with, and a loop's that it cannot.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from benchmarks.adapters import Step
from benchmarks.store import Store

_PATIENCE = 30.0
_WORKERS = 8
_LEAST, _MOST = 5, 500


def run(store: Store, *, seconds: float, outside: bool = False) -> dict[str, float]:
    """`outside`: another process spawns. All processes of a machine share the monotonic clock that is read."""
    waits: list[float] = []
    commits: list[float] = []
    started = threading.Event()

    def job(params: Any, step: Step) -> None:
        waits.append(time.perf_counter() - params)
        if len(waits) == 1:
            store.watch.read_back(mine=True)
        started.set()

    with _bare(store, commits) as commit, store.open(workers=_WORKERS) as system, system.pool(_WORKERS, job):
        if outside:
            with store.second("spawner") as other:
                other.hear()
                _sample(lambda: other.say("spawn"), commit, started, waits, seconds)
                other.say("end")
        else:
            _sample(lambda: system.spawn(time.perf_counter()), commit, started, waits, seconds)
    waits = sorted(waits[1:])  # the first also waited for the pool to start
    return {
        "median": statistics.median(waits),
        "p99": waits[min(len(waits) - 1, int(len(waits) * 0.99))],
        "commit": statistics.median(commits),
        "samples": len(waits),
    }


@contextmanager
def _bare(store: Store, commits: list[float]) -> Iterator[Callable[[], None]]:
    """A function that makes one commit to a file of its own, and notes how long it took."""
    # Not by `connect`, which would take it for one of the system's.
    with closing(sqlite3.Connection(f"{store.path}.bare", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={store.synchronous}")
        connection.execute("CREATE TABLE counter (value INTEGER NOT NULL)")
        connection.execute("INSERT INTO counter VALUES (1)")

        def commit() -> None:
            began = time.perf_counter()
            connection.execute("UPDATE counter SET value = value + 1")
            commits.append(time.perf_counter() - began)

        yield commit


def _sample(
    spawn: Callable[[], None],
    commit: Callable[[], None],
    started: threading.Event,
    waits: list[float],
    seconds: float,
) -> None:
    """Spawn one after the other, with pauses of random length, so that no poll stays in step with them."""
    pauses = random.Random(1)
    ends = time.perf_counter() + seconds
    while len(waits) <= _LEAST or (time.perf_counter() < ends and len(waits) <= _MOST):
        started.clear()
        spawn()
        if not started.wait(_PATIENCE):
            raise TimeoutError(f"a task had not started after {_PATIENCE:.0f} s")
        time.sleep(pauses.uniform(0.01, 0.05))
        commit()
        time.sleep(pauses.uniform(0.01, 0.05))
