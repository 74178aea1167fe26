"""Builds a large store, in whichever environment it is asked to: the file is that environment's engine's."""

from __future__ import annotations

from benchmarks.store import Store


def run(store: Store, *, rows: dict[str, int]) -> dict[str, float]:
    """`rows`: how many tasks are pending; sleeping, far ahead and of a higher priority; running; completed."""
    store.build(rows)
    return {}
