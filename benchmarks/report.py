"""The results as Markdown: what was asked of dura, every measurement, the systems, and the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.judging import verdicts
from benchmarks.measures import Measure, written
from benchmarks.results import Results
from benchmarks.rows import ROWS, Row
from benchmarks.systems import ALL, BARE, OURS, UPGRADED, System

_MARKS: Final = {"goal": "goal", "floor": "floor", "below": "**below**", "not measured": "-"}


def report(results: Results) -> str:
    """The whole of it."""
    parts = [
        "### Targets",
        _table(("what", "reached", "floor", "goal", "verdict"), list(_targets(results)), "lrrrl"),
        "### Measurements",
        "Medians over the rounds, with the middle half of them. *Ratio* is dura's median to this one's (for durations "
        "and sizes, less than 1 is better for dura). *Limit* is the share of the bare loop's single-row commits a "
        "second, in the same rounds. *In force* is `synchronous` and `journal_mode`, read back from the connections "
        "that did the work.",
        _table(
            ("what", "system", "median", "middle half", "ratio", "limit", "in force"),
            list(_measurements(results)),
            "llrrrrl",
        ),
        "### Systems",
        _table(
            ("system", "comes with", "Python", "SQLite", "what it promises"), list(_systems(results)), "lllll"
        ),
        "### Machine",
        _table(("fact", "value"), list(_machine(results)), "ll"),
    ]
    return "\n\n".join(parts) + "\n"


def _targets(results: Results) -> Iterator[Sequence[str]]:
    for row in ROWS:
        for verdict in verdicts(results, row):
            yield verdict.title, verdict.reached, verdict.floor, verdict.goal, _MARKS[verdict.state]


def _measurements(results: Results) -> Iterator[Sequence[str]]:
    for row in ROWS:
        for measure in row.measures:
            title = ", ".join(part for part in (row.title, measure.title) if part)
            for system in row.systems:
                line = _line(results, row, measure, system)
                if line is not None:
                    yield title, *line
                    title = ""


def _line(results: Results, row: Row, measure: Measure, system: System) -> Sequence[str] | None:
    """One system's cells; None if it was not asked."""
    if system is BARE:
        if measure is not row.measures[0]:
            return None
        measure = Measure("rate", "", "rate", more_is_better=True)
    found = results.spread(row.id, system.id, measure.key)
    name = f"**{system.title}**" if system is OURS else system.title
    if found is None:
        note = results.note(row.id, system.id)
        return None if note is None or measure is not row.measures[0] else (name, "-", "", "", "", note)
    half = (
        f"{written(found.low, measure.kind)} to {written(found.high, measure.kind)}"
        if found.count > 1
        else ""
    )
    return (
        f"{name}, commits/s" if system is BARE else name,
        written(found.median, measure.kind),
        half,
        _ratio(results, row, measure, system, found.median),
        _limit(results, row, measure, found.median) if system is not BARE else "",
        _in_force(results, row, system),
    )


def _ratio(results: Results, row: Row, measure: Measure, system: System, value: float) -> str:
    ours = results.median(row.id, OURS.id, measure.key)
    if system in (OURS, BARE, UPGRADED) or not ours or not value:
        return ""
    return f"{ours / value:.2f}"


def _limit(results: Results, row: Row, measure: Measure, value: float) -> str:
    limit = results.median(row.id, BARE.id, "rate")
    return f"{value / limit:.0%}" if limit and measure.kind == "rate" else ""


def _in_force(results: Results, row: Row, system: System) -> str:
    told = results.durability(row.id, system.id)
    level = told.split(",")[0]
    return told if level == row.synchronous else f"**{told}**"


def _systems(results: Results) -> Iterator[Sequence[str]]:
    for system in ALL:
        versions = results.versions(system.id)
        if versions is not None:
            level = "" if system is BARE else system.level
            yield system.title, level, versions[0], versions[1], system.promise
        elif (note := _first_note(results, system)) is not None:
            yield system.title, system.level, "-", "-", note


def _first_note(results: Results, system: System) -> str | None:
    notes = (results.note(row.id, system.id) for row in ROWS)
    return next((note for note in notes if note is not None), None)


def _machine(results: Results) -> Iterator[Sequence[str]]:
    yield "measured", f"{results.started}, scale {results.scale}"
    yield from results.machine.items()
    yield "load before and after", " and ".join(results.load)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """A Markdown table whose columns line up in a terminal too."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(header))]

    def drawn(line: Sequence[str]) -> str:
        cells = (
            text.rjust(width) if side == "r" else text.ljust(width)
            for text, width, side in zip(line, widths, align, strict=True)
        )
        return f"| {' | '.join(cells)} |"

    rule = (
        "-" * (width - 1) + ":" if side == "r" else "-" * width
        for width, side in zip(widths, align, strict=True)
    )
    return "\n".join([drawn(lines[0]), f"| {' | '.join(rule)} |", *(drawn(line) for line in lines[1:])])
