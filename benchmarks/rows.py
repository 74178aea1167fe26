"""The rows of the table: which workload, of which systems, in which sizes, and what is asked of dura."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.measures import Measure, Target, commits, itself, rate, times
from benchmarks.row import Row
from benchmarks.systems import BARE, DBOS, EVERYONE, HUEY, OURS, RELEASE, UPGRADED

BOTH: Final = (OURS, RELEASE)
STEPPING: Final = (OURS, RELEASE, DBOS)

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


_CLAIMED: Final = {
    "tiny": [300, 1_000],
    "quick": [1_000, 30_000],
    "full": [1_000, 10_000, 100_000, 1_000_000],
    "large": [1_000, 10_000, 100_000, 1_000_000, 10_000_000],
}
_COUNTED: Final = {
    "tiny": [1_000],
    "quick": [50_000],
    "full": [1_000_000],
    "large": [1_000_000, 10_000_000],
}
_WATCHED: Final = {"tiny": [20_000], **{scale: _COUNTED[scale] for scale in ("quick", "full", "large")}}


def _sized(sizes: dict[str, list[int]]) -> dict[str, dict[str, Any]]:
    return {scale: {"sizes": counts} for scale, counts in sizes.items()}


def _each_size(sizes: dict[str, list[int]]) -> list[int]:
    return sorted({size for counts in sizes.values() for size in counts})


_ONCE: Final = {"quick": 1, "full": 1, "large": 1}
_SELDOM: Final = {"quick": 1, "full": 3, "large": 3}
_TWICE: Final = {"quick": 2}


def _claims(state: str, title: str) -> Row:
    return Row(
        f"claims-{state}",
        f"a claim, {title}",
        "claims",
        (OURS, UPGRADED, RELEASE),
        (
            *(Measure(f"claim {size}", f"{size:,} rows", "seconds") for size in _each_size(_CLAIMED)),
            Measure("growth", "slowest to smallest", "ratio"),
        ),
        (itself("growth", 1.5, 1.2), itself("growth", 2.5, 1.5, system="dura-upgraded")),
        options={"mix": state},
        sized=_sized(_CLAIMED),
        rounds=_ONCE,
        timed=False,
        stores=f"claims-{state}",
    )


def _counts() -> Row:
    sizes = _each_size(_COUNTED)
    return Row(
        "counts",
        "counting, nine in ten tasks pending",
        "counts",
        BOTH,
        (
            *(Measure(f"ready {size}", f"ready_run_count of {size:,}", "seconds") for size in sizes),
            *(Measure(f"counts {size}", f"counts by state of {size:,}", "seconds") for size in sizes),
        ),
        tuple(itself(f"{what} {size}", 0.050, 0.005) for what in ("ready", "counts") for size in sizes),
        sized=_sized(_COUNTED),
        rounds=_ONCE,
        timed=False,
        stores="mixed",
    )


def _monitor() -> Row:
    sizes = _each_size(_WATCHED)
    return Row(
        "monitor",
        "a monitor that looks every second",
        "monitor",
        (OURS,),
        (
            *(Measure(f"snapshot {size}", f"a look at every list of {size:,}", "seconds") for size in sizes),
            *(Measure(f"short {size}", f"a look at the counts of {size:,}", "seconds") for size in sizes),
            Measure("share", "workers' rate with it to without", "ratio", more_is_better=True),
            Measure("duty", "share of its time spent looking", "share"),
            Measure("wal", "largest log with it", "bytes"),
            Measure("wal without", "largest log without", "bytes"),
            Measure("wal limit", "the log's limit", "bytes"),
        ),
        (
            *(itself(f"snapshot {size}", 0.5, 0.1) for size in sizes),
            itself("share", 0.95, 0.98),
            itself("duty", 0.05, 0.01),
            times("wal", "dura", 1, of="wal limit"),
        ),
        sized={
            "tiny": {"sizes": _WATCHED["tiny"], "seconds": 0.8, "part": 0.2},
            "quick": {"sizes": _WATCHED["quick"], "seconds": 4.0, "part": 1.0},
            "full": {"sizes": _WATCHED["full"], "seconds": 60.0, "part": 10.0},
            "large": {"sizes": _WATCHED["large"], "seconds": 600.0, "part": 60.0},
        },
        rounds=_ONCE,
        stores="mixed",
    )


ROWS: Final = (
    _drain("drain-full", 8, 1.0, (times("rate", "dura-1.3.0", 3.5, 5), times("rate", "huey", 3))),
    _drain("drain-full", 1, 1.0, (times("rate", "dura-1.3.0", 1.5, 2),)),
    _drain("drain-normal", 8, 2.0, (times("rate", "dura-1.3.0", 1.7, 2.5),), "NORMAL"),
    _steps(8, 2.3, 3.3),
    _steps(32, 3, 5),
    Row(
        "busy",
        "no-op tasks/s beside one CPU-bound handler, FULL, 8 workers (dura's in 2 processes)",
        "busy",
        (OURS, RELEASE, HUEY, BARE),
        (rate(),),
        (times("rate", "dura-1.3.0", 20, 100),),
        options={"workers": 8, "processes": 2},
        sized={"quick": {"seconds": 1.0}, "full": {"seconds": 4.0}},
        fill=0.75,
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
        "spawn-large",
        "spawns/s, one by one into a large store, FULL",
        "spawn",
        (*BOTH, BARE),
        (rate(),),
        (times("rate", "dura-1.3.0", 1.2, 1.5),),
        sized={"tiny": {"beside": 1_000}, "quick": {"beside": 100_000}, "full": {"beside": 1_000_000}},
        stores="spawn-large",
    ),
    Row(
        "bulk",
        "tasks/s spawned by the thousand, FULL",
        "bulk",
        (*BOTH, BARE),
        (rate(), Measure("one by one", "one by one", "rate", more_is_better=True)),
        (
            times("rate", "dura-1.3.0", 15, 30, of="one by one"),
            times("rate", "dura", 15, 30, of="one by one"),
        ),
        windows=2.0,
    ),
    Row(
        "latency",
        "idle pool of 8, spawn to start",
        "latency",
        (OURS, RELEASE, HUEY, DBOS, BARE),
        (
            Measure("median", "median", "seconds"),
            Measure("p99", "99th percentile", "seconds"),
            Measure("commit", "a bare commit after such a pause", "seconds"),
        ),
        (
            commits("median", 5, 3),
            commits("p99", 20, 10),
            times("median", "dura", 5, 3, of="commit"),
            times("p99", "dura", 20, 10, of="commit"),
        ),
        sized={"quick": {"seconds": 2.0}, "full": {"seconds": 20.0}},
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
        together=True,
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
        (
            commits("worst", 100, 30),
            commits("outside", 100, 30),
            times("after", "dura", 0.99, of="before"),
        ),
        sized={"tiny": {"tasks": 500}, "quick": {"tasks": 10_000}, "full": {"tasks": 100_000}},
        rounds={"full": 3, "large": 3},
        timed=False,
    ),
    Row(
        "footprint",
        "a completed no-op task in the file",
        "footprint",
        EVERYONE,
        (Measure("bytes", "", "bytes"),),
        (times("bytes", "dura-1.3.0", 1.1, 0.9),),
        sized={"tiny": {"tasks": 200}, "quick": {"tasks": 600}, "full": {"tasks": 5_000}},
        rounds=_ONCE,
        timed=False,
    ),
    Row(
        "processes",
        "4 processes of 2 workers against 1 of 8, FULL",
        "processes",
        (OURS, RELEASE, HUEY, BARE),
        (
            Measure("share", "four to one", "ratio", more_is_better=True),
            Measure("four", "four, tasks/s", "rate", more_is_better=True),
            Measure("one", "one, tasks/s", "rate", more_is_better=True),
        ),
        (itself("share", 0.8, 1.0),),
        fill=2.0,
        rounds=_TWICE,
        windows=2.5,
    ),
    _counts(),
    _monitor(),
)
"""In the order of the table."""
