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
_LEAST = 3
"""Claims of a block that are made however long they take."""

_PATIENCE = 0.5
"""Seconds after which a block, or the warming, ends early: a claim may take seconds in a store of millions."""


def run(store: Store, *, mix: str, sizes: list[int]) -> dict[str, float]:
    """`mix` as for the builder; besides it there is always enough to claim. The sizes take turns, block by block."""
    paths = {size: str(Path(store.path).with_name(f"store-{size}.db")) for size in sizes}
    for size, store.path in paths.items():
        store.build({mix: size, "pending": max(size if mix == "pending" else 0, _CLAIMABLE)})
    took: dict[int, list[float]] = {size: [] for size in sizes}
    with ExitStack() as stack:
        systems: dict[int, Any] = {}
        for size, store.path in paths.items():
            systems[size] = stack.enter_context(store.open())
            _claims(systems[size], _WARMING)
            store.watch.read_back(mine=True)
        for _ in range(_BLOCKS):
            for size, system in systems.items():
                took[size] += _claims(system, _BLOCK)
    medians = {size: statistics.median(seconds) for size, seconds in took.items()}
    metrics = {f"claim {size}": seconds for size, seconds in medians.items()}
    return {**metrics, "growth": max(medians.values()) / medians[sizes[0]]}


def _claims(system: Any, count: int) -> list[float]:
    """Seconds that each of so many claims takes."""
    took: list[float] = []
    while len(took) < count and (len(took) < _LEAST or sum(took) < _PATIENCE):
        began = time.perf_counter()
        claimed = system.claim()
        took.append(time.perf_counter() - began)
        assert claimed
    return took
