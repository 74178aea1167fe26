"""Builds a large store, in whichever environment it is asked to: the file is that environment's engine's."""

from __future__ import annotations

from benchmarks import bulk_rows
from benchmarks.store import Store


def run(store: Store, *, rows: dict[str, int]) -> dict[str, float]:
    """`rows`: how many tasks are pending; sleeping, far ahead and of a higher priority; running; completed."""
    with store.open(synchronous="FULL"):
        pass
    for state, count in rows.items():
        bulk_rows.add(store.path, state, count, priority=5 if state == "sleeping" else 0)
    return {}
