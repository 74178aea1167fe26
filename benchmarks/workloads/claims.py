"""How long a claim takes by the size of the store, for what a store may be full of."""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.store import Store

_BLOCKS, _BLOCK = 10, 20
_WARMING = 20
_CLAIMABLE = _WARMING + _BLOCKS * _BLOCK


def run(store: Store, *, mix: str, sizes: list[int]) -> dict[str, float]:
    """`mix` as for the builder; besides it there is always enough to claim. The sizes take turns, block by block."""
    took: dict[int, list[float]] = {}
    with ExitStack() as stack:
        systems: dict[int, Any] = {}
        for size in sizes:
            store.path = str(Path(store.path).with_name(f"store-{size}.db"))
            store.build({mix: size, "pending": max(size if mix == "pending" else 0, _CLAIMABLE)})
            systems[size] = stack.enter_context(store.open())
            _claims(systems[size], _WARMING)
            store.watch.read_back(mine=True)
        for _ in range(_BLOCKS):
            for size, system in systems.items():
                took.setdefault(size, []).extend(_claims(system, _BLOCK))
    medians = {size: statistics.median(seconds) for size, seconds in took.items()}
    metrics = {f"claim {size}": seconds for size, seconds in medians.items()}
    return {**metrics, "growth": max(medians.values()) / medians[sizes[0]]}


def _claims(system: Any, count: int) -> list[float]:
    """Seconds that each of so many claims takes."""
    took = []
    for _ in range(count):
        began = time.perf_counter()
        claimed = system.claim()
        took.append(time.perf_counter() - began)
        assert claimed
    return took
