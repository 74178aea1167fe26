"""Tasks that wait in the store, carried out by a pool."""

from __future__ import annotations

from benchmarks.store import Store
from benchmarks.tally import Tally


def run(store: Store, *, workers: int, seconds: float, tasks: int, steps: int = 0) -> dict[str, float]:
    store.fill(tasks, steps=steps > 0)
    tally = Tally(store.watch, tasks, steps=steps)
    with store.open(workers=workers) as system, system.pool(workers, tally.job):
        window = tally.window(seconds)
    return {"rate": window.rate, "cpu": window.cpu / window.jobs}
