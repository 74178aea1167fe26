"""How much a completed no-op task leaves in the file."""

from __future__ import annotations

from benchmarks.store import Store
from benchmarks.tally import Tally

_WORKERS = 8


def run(store: Store, *, tasks: int) -> dict[str, float]:
    with store.open(synchronous="FULL"):
        pass
    empty = sum(store.files())
    store.fill(tasks)
    tally = Tally(store.watch, tasks)
    with store.open(workers=_WORKERS) as system, system.pool(_WORKERS, tally.job):
        tally.wait_for_first()
        if not tally.wait_for_all(120):
            raise TimeoutError(f"{tasks} tasks were not drained within two minutes")
    return {"bytes": (sum(store.files()) - empty) / tasks}
