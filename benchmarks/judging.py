"""Whether dura reaches what is asked of it: each target against the medians of the same run."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Literal

from benchmarks.measures import Measure, Target, written
from benchmarks.results import Results, Spread
from benchmarks.row import Row
from benchmarks.systems import BY_ID

State = Literal["goal", "floor", "below", "not measured"]


@dataclass(frozen=True)
class Verdict:
    """A target and what became of it."""

    title: str
    reached: str
    """What was reached, in the target's terms: the median over the rounds."""
    half: str
    """The middle half of what was reached in the rounds; empty if there was one round only."""
    floor: str
    goal: str
    state: State


def verdicts(results: Results, row: Row) -> list[Verdict]:
    """Every target of a row that this run measured; those of sizes that belong to other scales are left out."""
    cells = [cell for cell in results.cells if cell.row == row.id]
    measured = {key for cell in cells for key in cell.metrics}
    failed = {cell.system for cell in cells if not cell.metrics}
    return [
        _verdict(results, row, target)
        for target in row.targets
        if target.measure in measured or target.system in failed
    ]


def _verdict(results: Results, row: Row, target: Target) -> Verdict:
    measure = next(measure for measure in row.measures if measure.key == target.measure)
    title = ", ".join(part for part in (row.title, measure.title) if part)
    if target.system != "dura":
        title += f" ({BY_ID[target.system].title})"
    found = _found(results, row, target)
    floor = _in_terms(row, target, measure, target.floor)
    goal = "" if target.goal is None else _in_terms(row, target, measure, target.goal)
    if found is None:
        return Verdict(title, "", "", floor, goal, "not measured")
    low, reached, high = (
        _in_terms(row, target, measure, value) for value in (found.low, found.median, found.high)
    )
    half = f"{low.split(' x ')[0]} to {high.split(' x ')[0]}" if found.count > 1 else ""
    return Verdict(title, reached, half, floor, goal, _state(target, measure, found.median))


def _found(results: Results, row: Row, target: Target) -> Spread | None:
    ours = (target.system, target.measure)
    if target.against == "itself":
        return results.spread(row.id, *ours)
    if target.against == "commits":
        return results.against(row.id, ours, ("bare", "rate"), operator.mul)
    return results.against(row.id, ours, (target.peer, target.of))


def _state(target: Target, measure: Measure, value: float) -> State:
    def reaches(asked: float) -> bool:
        return value >= asked if measure.more_is_better else value <= asked

    if target.goal is None:
        return "goal" if reaches(target.floor) else "below"
    return "goal" if reaches(target.goal) else "floor" if reaches(target.floor) else "below"


def _in_terms(row: Row, target: Target, measure: Measure, value: float) -> str:
    if target.against == "commits":
        return f"{value:,.0f} commits"
    if target.against == "another":
        name = BY_ID[target.peer].title if target.peer != target.system else ""
        other = next(measure.title for measure in row.measures if measure.key == target.of)
        return f"{value:.2f} x {' '.join(part for part in (name, other) if part)}"
    return written(value, measure.kind)
