"""The results as Markdown: what was asked of dura, every measurement, the systems, and the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.judging import verdicts
from benchmarks.measures import Kind, Measure, written
from benchmarks.results import Results, Spread
from benchmarks.row import Row
from benchmarks.rows import ROWS
from benchmarks.systems import ALL, BARE, OURS, UPGRADED, System

_MARKS: Final = {"goal": "goal", "floor": "floor", "below": "**below**", "not measured": "-"}


def report(results: Results) -> str:
    """The whole of it."""
    parts = [
        "### Targets",
        "What dura reaches, as the median over the rounds with the middle half of them; a ratio is formed in each round "
        "anew.",
        table(
            ("what", "reached", "middle half", "floor", "goal", "verdict"), list(_targets(results)), "lrrrrl"
        ),
        "### Measurements",
        "Medians over the rounds, with the middle half of them. *Ratio* is dura to this one, round by round (for durations "
        "and sizes, less than 1 is better for dura). *Limit* is the share of the bare loop's single-row commits a "
        "second, in the same rounds. *In force* is `synchronous` and `journal_mode`, read back from the connections "
        "that did the work; a level other than the row's is bold.",
        table(
            ("what", "system", "median", "middle half", "ratio", "middle half", "limit", "in force"),
            list(_measurements(results)),
            "llrrrrrl",
        ),
        "### Systems",
        table(
            ("system", "comes with", "Python", "SQLite", "what it promises"), list(_systems(results)), "lllll"
        ),
        "### Machine",
        table(("fact", "value"), list(machine_table(results)), "ll"),
    ]
    return "\n\n".join(parts) + "\n"


def _targets(results: Results) -> Iterator[Sequence[str]]:
    for row in ROWS:
        for verdict in verdicts(results, row):
            mark = _MARKS[verdict.state]
            yield verdict.title, verdict.reached, verdict.half, verdict.floor, verdict.goal, mark


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
        return None if note is None or measure is not row.measures[0] else (name, "-", "", "", "", "", note)
    limit = results.against(row.id, (system.id, measure.key), (BARE.id, "rate"))
    return (
        f"{name}, commits/s" if system is BARE else name,
        written(found.median, measure.kind),
        half(found, measure.kind),
        *_ratio(results, row, measure, system),
        f"{limit.median:.0%}" if limit is not None and system is not BARE and measure.kind == "rate" else "",
        _in_force(results, row, system),
    )


def half(found: Spread, kind: Kind) -> str:
    """The middle half of what was measured; nothing if it was measured once."""
    return f"{written(found.low, kind)} to {written(found.high, kind)}" if found.count > 1 else ""


def _ratio(results: Results, row: Row, measure: Measure, system: System) -> tuple[str, str]:
    if system in (OURS, BARE, UPGRADED):
        return "", ""
    found = results.against(row.id, (OURS.id, measure.key), (system.id, measure.key))
    return ("", "") if found is None else (written(found.median, "ratio"), half(found, "ratio"))


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


def machine_table(results: Results) -> Iterator[Sequence[str]]:
    """What must be known of the machine, and of the run."""
    scales = results.scales()
    written_scales = "; ".join(
        f"scale {scale}" + (f": {', '.join(rows)}" if len(scales) > 1 else "")
        for scale, rows in scales.items()
    )
    yield "measured", f"{results.started}, {written_scales}"
    yield from results.machine.items()
    yield "load before and after", " and ".join(results.load)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
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
