"""What a row measures and what is asked of it: a measure is one number of a workload, a target what it must reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["rate", "seconds", "bytes", "ratio", "share", "locks"]


@dataclass(frozen=True)
class Measure:
    """One number that a row's workload gives."""

    key: str
    """Its name in the workload's answer."""
    title: str
    kind: Kind
    more_is_better: bool = False


@dataclass(frozen=True)
class Target:
    """What a measure of dura's is held against, and how far it should go."""

    measure: str
    against: Literal["another", "commits", "itself"]
    """Divided by another's, round by round; a duration in units of the bare loop's commits; or the number as it is."""
    floor: float
    goal: float | None = None
    system: str = "dura"
    """Whose measure it is."""
    peer: str = ""
    """Whose other measure divides it."""
    of: str = ""
    """Which measure divides it."""


def times(measure: str, peer: str, floor: float, goal: float | None = None, *, of: str = "") -> Target:
    """So many times the peer's: the same measure, or another `of` it."""
    return Target(measure, "another", floor, goal, peer=peer, of=of or measure)


def commits(measure: str, floor: float, goal: float) -> Target:
    """As long as so many single-row commits of a bare loop."""
    return Target(measure, "commits", floor, goal)


def itself(measure: str, floor: float, goal: float | None = None, *, system: str = "dura") -> Target:
    """The number as it is."""
    return Target(measure, "itself", floor, goal, system=system)


def rate(title: str = "") -> Measure:
    """A rate, by the name that all workloads give theirs."""
    return Measure("rate", title, "rate", more_is_better=True)


_STEPS: Final = ((1.0, 1, "s"), (1e-3, 1e3, "ms"), (0.0, 1e6, "µs"))


def written(value: float, kind: Kind) -> str:
    """A number with its unit, to three figures or so."""
    if kind == "rate":
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
    if kind == "seconds":
        factor, unit = next((factor, unit) for least, factor, unit in _STEPS if abs(value) >= least)
        return f"{_figures(value * factor)} {unit}"
    if kind == "bytes":
        if abs(value) < 10_000:
            return f"{value:,.0f} B"
        return f"{value / 1e6:,.2f} MB"
    if kind == "share":
        return f"{value * 100:.1f} %"
    if kind == "locks":
        return f"{value:.1f}"
    return f"{_figures(value)}"


def _figures(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
