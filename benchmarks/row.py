"""A row of the table: one workload with its options, in which systems take part, and how long at which scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.measures import Measure, Target
from benchmarks.systems import BARE, System

SCALES: Final = ("tiny", "quick", "full", "large")

_SECONDS: Final = {"tiny": 0.2, "quick": 0.6, "full": 4.0, "large": 4.0}
_ROUNDS: Final = {"tiny": 1, "quick": 3, "full": 7, "large": 7}
BARE_SECONDS: Final = 0.3
"""How long the bare loop lasts, once a round."""

_SLOWLY: Final = ("drain-full-8", "steps-8", "spawn", "latency")
"""The rows in which, at the quick scale, systems take part that are slow to start."""

_SPARE: Final = 1.5
"""A store is filled with so many times the tasks that a window should take."""
_MORE: Final = 40
_FILLINGS: Final = (10, 15, 20, 30, 40, 60, 80, 100)
"""What a filling is rounded up to, times a power of ten: rows that want about as many tasks share a prepared store."""


@dataclass(frozen=True)
class Row:
    """A row: one workload with its options."""

    id: str
    title: str
    workload: str
    systems: tuple[System, ...]
    measures: tuple[Measure, ...]
    targets: tuple[Target, ...] = ()
    synchronous: str = "FULL"
    options: dict[str, Any] = field(default_factory=dict)
    sized: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Options that depend on the scale; a scale that is left out has those of the one before it."""
    fill: float | None = None
    """Filled with this share of each system's pace; None: the workload fills nothing."""
    rounds: dict[str, int] = field(default_factory=dict)
    timed: bool = True
    """Whether the workload lasts for a given time."""
    together: bool = False
    """Whether all systems are measured at the same time: for what does next to nothing."""
    windows: float = 1.2
    """How many times that time, about."""
    stores: str = ""
    """Rows that follow each other with the same word here use the same large stores."""

    def rounds_at(self, scale: str) -> int:
        """How many rounds there are."""
        return self.rounds.get(scale, _ROUNDS[scale])

    def rounds_of(self, system: System, scale: str) -> int:
        """In how many of them a system takes part. At the quick scale, one that no target names is measured once."""
        named = {
            BARE.id,
            *(target.system for target in self.targets),
            *(target.peer for target in self.targets),
        }
        if scale != "quick" or system.id in named:
            return self.rounds_at(scale)
        return 0 if system.starts_slowly and self.id not in _SLOWLY else 1

    def options_for(self, system: System, scale: str) -> dict[str, Any]:
        """The workload's options for one system."""
        options = {**self.options}
        if self.timed:
            options["seconds"] = _SECONDS[scale]
        for name in SCALES[: SCALES.index(scale) + 1]:
            options |= self.sized.get(name, {})
        if self.fill is not None:
            options["tasks"] = _filling(system.pace * self.fill * options["seconds"] * _SPARE + _MORE)
        return options


def _filling(tasks: float) -> int:
    power: int = 10 ** max(0, math.floor(math.log10(tasks)) - 1)
    return next(step * power for step in _FILLINGS if step * power >= tasks)
