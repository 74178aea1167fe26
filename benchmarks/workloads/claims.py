"""How long a claim takes by the size of the store, for what a store may be full of."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.store import Store

_CLAIMS = 200
_WARMING = 20


def run(store: Store, *, mix: str, sizes: list[int]) -> dict[str, float]:
    """`mix` as for the builder; besides it there is always enough to claim."""
    medians = {}
    folder = Path(store.path).parent
    for size in sizes:
        store.path = str(folder / f"store-{size}.db")
        rows = {mix: size, "pending": max(size if mix == "pending" else 0, _CLAIMS + _WARMING)}
        store.build(rows)
        with store.open() as system:
            medians[size] = _claim_seconds(system, store)
        for file in folder.glob(f"store-{size}.db*"):
            file.unlink()
    metrics = {f"claim {size}": seconds for size, seconds in medians.items()}
    return {**metrics, "growth": max(medians.values()) / medians[sizes[0]]}


def _claim_seconds(system: Any, store: Store) -> float:
    for _ in range(_WARMING):
        system.claim()
    store.watch.read_back(mine=True)
    took = []
    for _ in range(_CLAIMS):
        began = time.perf_counter()
        claimed = system.claim()
        took.append(time.perf_counter() - began)
        assert claimed
    return statistics.median(took)
