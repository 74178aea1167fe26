"""The rows of the table: which workload, of which systems, in which sizes, and what is asked of dura."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.measures import Measure, Target, commits, itself, rate, times
from benchmarks.systems import BARE, DBOS, EVERYONE, HUEY, OURS, RELEASE, UPGRADED, System

SCALES: Final = ("tiny", "quick", "full", "large")

_SECONDS: Final = {"tiny": 0.2, "quick": 0.4, "full": 4.0, "large": 4.0}
_ROUNDS: Final = {"tiny": 1, "quick": 3, "full": 7, "large": 7}
_SPARE: Final = 1.5
"""A store is filled with so many times the tasks that a window should take."""
_MORE: Final = 40

BOTH: Final = (OURS, RELEASE)
STEPPING: Final = (OURS, RELEASE, DBOS)


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

    def rounds_at(self, scale: str) -> int:
        """How often each system is measured."""
        return self.rounds.get(scale, _ROUNDS[scale])

    def options_for(self, system: System, scale: str) -> dict[str, Any]:
        """The workload's options for one system."""
        options = {**self.options}
        if self.timed:
            options["seconds"] = _SECONDS[scale]
        for name in SCALES[: SCALES.index(scale) + 1]:
            options |= self.sized.get(name, {})
        if self.fill is not None:
            options["tasks"] = math.ceil(system.pace * self.fill * options["seconds"] * _SPARE) + _MORE
        return options


_CPU: Final = Measure("cpu", "processor time a task", "seconds")


def _drain(name: str, workers: int, fill: float, targets: tuple[Target, ...], level: str = "FULL") -> Row:
    crew = "1 worker" if workers == 1 else f"{workers} workers"
    return Row(
        f"{name}-{workers}",
        f"no-op tasks/s, {level}, {crew}",
        "drain",
        (*EVERYONE, BARE),
        (rate(), _CPU),
        targets,
        level,
        {"workers": workers},
        fill=fill,
    )


def _steps(workers: int, floor: float, goal: float) -> Row:
    return Row(
        f"steps-{workers}",
        f"five-step tasks/s, FULL, {workers} workers",
        "drain",
        (*STEPPING, BARE),
        (rate(), _CPU),
        (times("rate", "dura-1.3.0", floor, goal),),
        options={"workers": workers, "steps": 5},
        fill=0.2,
    )


_SIZES: Final = {
    "tiny": {"sizes": [300, 1_000]},
    "quick": {"sizes": [1_000, 30_000]},
    "full": {"sizes": [1_000, 10_000, 100_000, 1_000_000]},
    "large": {"sizes": [1_000, 10_000, 100_000, 1_000_000, 10_000_000]},
}
_ONCE: Final = {"quick": 1, "full": 1, "large": 1}
_SELDOM: Final = {"quick": 1, "full": 3, "large": 3}
_TWICE: Final = {"quick": 2}


def _claims(state: str, title: str) -> Row:
    sizes = sorted({size for sized in _SIZES.values() for size in sized["sizes"]})
    return Row(
        f"claims-{state}",
        f"a claim, {title}",
        "claims",
        (OURS, UPGRADED, RELEASE),
        (
            *(Measure(f"claim {size}", f"{size:,} rows", "seconds") for size in sizes),
            Measure("growth", "slowest to smallest", "ratio"),
        ),
        (itself("growth", 1.5, 1.2), itself("growth", 2.5, 1.5, system="dura-upgraded")),
        options={"mix": state},
        sized=_SIZES,
        rounds=_ONCE,
        timed=False,
    )


ROWS: Final = (
    _drain("drain-full", 8, 1.0, (times("rate", "dura-1.3.0", 3.5, 5), times("rate", "huey", 3))),
    _drain("drain-full", 1, 1.0, (times("rate", "dura-1.3.0", 1.5, 2),)),
    _drain("drain-normal", 8, 2.0, (times("rate", "dura-1.3.0", 1.7, 2.5),), "NORMAL"),
    _steps(8, 2.3, 3.3),
    _steps(32, 3, 5),
    Row(
        "busy",
        "no-op tasks/s beside one CPU-bound handler, FULL, 8 workers",
        "busy",
        (OURS, RELEASE, HUEY),
        (rate(),),
        (times("rate", "dura-1.3.0", 20, 100),),
        options={"workers": 8},
        sized={"quick": {"seconds": 1.0}, "full": {"seconds": 4.0}},
        fill=0.25,
        rounds=_TWICE,
    ),
    Row(
        "spawn",
        "spawns/s, one by one, FULL",
        "spawn",
        (*EVERYONE, BARE),
        (rate(),),
        (times("rate", "dura-1.3.0", 1.2, 1.5),),
    ),
    Row(
        "bulk",
        "tasks/s spawned by the thousand, FULL",
        "bulk",
        (OURS,),
        (rate(), Measure("times", "against its own one by one", "ratio", more_is_better=True)),
        (itself("times", 15, 30),),
    ),
    Row(
        "latency",
        "idle pool of 8, spawn to start",
        "latency",
        (OURS, RELEASE, HUEY, DBOS, BARE),
        (Measure("median", "median", "seconds"), Measure("p99", "99th percentile", "seconds")),
        (commits("median", 5, 3), commits("p99", 20, 10)),
        sized={"quick": {"seconds": 1.0}, "full": {"seconds": 10.0}},
        rounds=_SELDOM,
    ),
    Row(
        "latency-outside",
        "the same, spawned by another process",
        "latency",
        (OURS, RELEASE, HUEY),
        (Measure("median", "median", "seconds"), Measure("p99", "99th percentile", "seconds")),
        (itself("median", 0.060, 0.030),),
        options={"outside": True},
        sized={"quick": {"seconds": 1.0}, "full": {"seconds": 10.0}},
        rounds=_SELDOM,
    ),
    Row(
        "fairness",
        "8 threads spawning, luckiest to unluckiest",
        "fairness",
        (*EVERYONE, BARE),
        (Measure("luck", "spawns", "ratio"), rate("all spawns/s")),
        (itself("luck", 1.5, 1.1),),
        rounds=_TWICE,
    ),
    Row(
        "waiting",
        "one spawn while 8 workers drain, FULL",
        "waiting",
        (*EVERYONE, BARE),
        (Measure("worst", "worst wait", "seconds"), Measure("median", "median wait", "seconds")),
        (commits("worst", 50, 20),),
        fill=1.3,
        rounds=_TWICE,
    ),
    _claims("pending", "all pending"),
    _claims("sleeping", "behind far-future sleepers of a higher priority"),
    _claims("running", "beside live leases"),
    _claims("completed", "beside a history"),
    Row(
        "idle",
        "idle pool of 8",
        "idle",
        (OURS, RELEASE, HUEY),
        (
            Measure("locks", "write locks a second", "locks"),
            Measure("growth", "growth of file and log", "bytes"),
            Measure("cpu", "CPU time", "share"),
        ),
        (itself("locks", 0), itself("growth", 0), times("cpu", "dura-1.3.0", 1)),
        sized={"tiny": {"seconds": 0.5}, "quick": {"seconds": 2.0}, "full": {"seconds": 20.0}},
        rounds=_SELDOM,
    ),
    Row(
        "cleanup",
        "cleanup of a history",
        "cleanup",
        (*BOTH, BARE),
        (
            Measure("worst", "longest wait of another thread's spawn", "seconds"),
            Measure("outside", "longest wait of another process's spawn", "seconds"),
            Measure("seconds", "duration", "seconds"),
            Measure("before", "file before", "bytes"),
            Measure("after", "file after", "bytes"),
        ),
        (commits("worst", 100, 30),),
        sized={"tiny": {"tasks": 500}, "quick": {"tasks": 10_000}, "full": {"tasks": 100_000}},
        rounds=_SELDOM,
        timed=False,
    ),
    Row(
        "footprint",
        "a completed no-op task in the file",
        "footprint",
        EVERYONE,
        (Measure("bytes", "", "bytes"),),
        (times("bytes", "dura-1.3.0", 1.1, 0.9),),
        sized={"tiny": {"tasks": 200}, "quick": {"tasks": 300}, "full": {"tasks": 5_000}},
        rounds=_ONCE,
        timed=False,
    ),
    Row(
        "processes",
        "4 processes of 2 workers against 1 of 8, FULL",
        "processes",
        (OURS, RELEASE, HUEY),
        (
            Measure("share", "four to one", "ratio", more_is_better=True),
            Measure("four", "four, tasks/s", "rate", more_is_better=True),
            Measure("one", "one, tasks/s", "rate", more_is_better=True),
        ),
        (itself("share", 0.8, 1.0),),
        fill=2.0,
        rounds={"quick": 1},
    ),
    Row(
        "counts",
        "counting, nine in ten tasks pending",
        "counts",
        BOTH,
        (Measure("ready", "ready_run_count", "seconds"), Measure("counts", "counts by state", "seconds")),
        (itself("ready", 0.050, 0.005), itself("counts", 0.050, 0.005)),
        sized={
            "tiny": {"tasks": 1_000},
            "quick": {"tasks": 50_000},
            "full": {"tasks": 1_000_000},
            "large": {"tasks": 10_000_000},
        },
        rounds=_ONCE,
        timed=False,
    ),
    Row(
        "monitor",
        "a monitor that looks every second",
        "monitor",
        (OURS,),
        (
            Measure("snapshot", "a look at every list", "seconds"),
            Measure("counts", "a look at the counts", "seconds"),
            Measure("share", "workers' rate with it to without", "ratio", more_is_better=True),
            Measure("duty", "share of its time spent looking", "share"),
            Measure("wal", "largest log with it", "bytes"),
            Measure("wal without", "largest log without", "bytes"),
        ),
        (itself("snapshot", 0.5, 0.1), itself("share", 0.95, 0.98), itself("duty", 0.05, 0.01)),
        sized={
            "tiny": {"tasks": 20_000, "seconds": 0.8},
            "quick": {"tasks": 50_000, "seconds": 3.0},
            "full": {"tasks": 1_000_000, "seconds": 60.0},
            "large": {"tasks": 10_000_000, "seconds": 600.0},
        },
        rounds=_ONCE,
    ),
)
"""In the order of the table."""
