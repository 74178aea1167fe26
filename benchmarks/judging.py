"""Whether dura reaches what is asked of it: each target against the medians of the same run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.measures import Measure, Target, written
from benchmarks.results import Results
from benchmarks.rows import Row
from benchmarks.systems import BY_ID

State = Literal["goal", "floor", "below", "not measured"]


@dataclass(frozen=True)
class Verdict:
    """A target and what became of it."""

    title: str
    reached: str
    """What was reached, in the target's terms."""
    floor: str
    goal: str
    state: State


def verdicts(results: Results, row: Row) -> list[Verdict]:
    """Every target of a row that this run measured."""
    if not any(cell.row == row.id for cell in results.cells):
        return []
    return [_verdict(results, row, target) for target in row.targets]


def _verdict(results: Results, row: Row, target: Target) -> Verdict:
    measure = next(measure for measure in row.measures if measure.key == target.measure)
    title = ", ".join(part for part in (row.title, measure.title) if part)
    if target.system != "dura":
        title += f" ({BY_ID[target.system].title})"
    value = _value(results, row, target)
    floor = _in_terms(target, measure, target.floor)
    goal = "" if target.goal is None else _in_terms(target, measure, target.goal)
    if value is None:
        return Verdict(title, "", floor, goal, "not measured")
    return Verdict(title, _in_terms(target, measure, value), floor, goal, _state(target, measure, value))


def _value(results: Results, row: Row, target: Target) -> float | None:
    ours = results.median(row.id, target.system, target.measure)
    if ours is None or target.against == "itself":
        return ours
    if target.against == "commits":
        limit = results.median(row.id, "bare", "rate")
        return None if limit is None else ours * limit
    peer = results.median(row.id, target.peer or "", target.measure)
    return ours / peer if peer else None


def _state(target: Target, measure: Measure, value: float) -> State:
    def reaches(asked: float) -> bool:
        return value >= asked if measure.more_is_better else value <= asked

    if target.goal is None:
        return "goal" if reaches(target.floor) else "below"
    return "goal" if reaches(target.goal) else "floor" if reaches(target.floor) else "below"


def _in_terms(target: Target, measure: Measure, value: float) -> str:
    if target.against == "commits":
        return f"{value:,.0f} commits"
    if target.against == "peer":
        return f"{value:.2f} x {BY_ID[target.peer or ''].title}"
    return written(value, measure.kind)
