"""How much a completed no-op task leaves in the file."""

from __future__ import annotations

from pathlib import Path

from benchmarks.store import Store
from benchmarks.tally import Tally

_WORKERS = 8
_PATIENCE = 120


def run(store: Store, *, tasks: int) -> dict[str, float]:
    filled = store.path
    store.path = str(Path(filled).with_name("empty.db"))
    with store.open():
        pass
    empty = sum(store.files())
    store.path = filled
    store.fill(tasks)
    tally = Tally(store.watch, tasks)
    with store.open(workers=_WORKERS) as system, system.pool(_WORKERS, tally.job):
        tally.wait_for_first()
        if not tally.wait_for_all(_PATIENCE):
            raise TimeoutError(f"{tasks} tasks were not drained within {_PATIENCE} s")
    return {"bytes": (sum(store.files()) - empty) / tasks}
