"""What each piece of the engine gives: `python -m benchmarks.ablation` measures dura with and without each, in turn.

Each mechanism has its own rounds, in which dura as it comes and dura without it follow each other, so that what else the
machine does hits both. What is told is the ratio of the two, formed in each round anew.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks import machine
from benchmarks.environments import Environments, cache_folder
from benchmarks.measures import written
from benchmarks.mechanisms import MECHANISMS, Mechanism
from benchmarks.progress import Progress
from benchmarks.publishing import ABLATION, put
from benchmarks.report import half, machine_table, table
from benchmarks.results import Results, load_results
from benchmarks.row import Row
from benchmarks.rows import ROWS
from benchmarks.running import Runner, heats, turns
from benchmarks.systems import OURS, System

_ROUNDS: Final = 7
_SCALES: Final = ("tiny", "quick", "full")

_ROWS: Final = {row.id: row for row in ROWS}


def main(arguments: list[str] | None = None) -> int:
    """Measure what the arguments ask for and print the table."""
    options = _parser().parse_args(arguments)
    results = load_results(options.read) if options.read else _measure(options)
    print(text := _report(results))
    if options.publish:
        print(f"wrote {put(ABLATION, text)}", file=sys.stderr)
    return 1 if any(cell.failed for cell in results.cells) else 0


def _measure(options: argparse.Namespace) -> Results:
    pairs = [
        _pair(mechanism, _ROWS[row])
        for mechanism in MECHANISMS
        if not options.without or mechanism.id in options.without
        for row in mechanism.rows
        if not options.rows or row in options.rows
    ]
    systems = frozenset(system.id for pair in pairs for system in pair.systems)
    order = {pair.id: turns((pair,), systems, options.scale, options.rounds) for pair in pairs}
    results = Results({})
    if options.into is not None and options.into.exists():
        results = load_results(options.into)
    path = options.into or options.cache / "results" / f"ablation-{results.file_name()}.json"
    with Progress(
        sum(turn.expected(options.scale) for turns in order.values() for turn in turns)
    ) as progress:
        runner = Runner(options.cache, Environments(options.cache, options.python), options.scale, progress)
        results.machine = machine.facts(runner.folder)
        results.load[:] = results.load[:1] or [machine.load()]
        for pair, turns_of_pair in order.items():
            heats_of_pair = heats(turns_of_pair, options.scale)
            results.replace(pair, [cell for heat in heats_of_pair for cell in runner.run(heat)])
            results.load[1:] = [machine.load()]
            results.save(path)
    runner.prepared.drop_large()
    print(f"kept in {path}", file=sys.stderr)
    return results


def _pair(mechanism: Mechanism, row: Row) -> Row:
    """The row with dura as it comes, and without the mechanism."""
    lesser = System(
        f"{OURS.id}-without", f"without: {mechanism.title}", OURS.adapter, OURS.pace, without=mechanism.id
    )
    return dataclasses.replace(row, id=_id(mechanism, row), systems=(OURS, lesser))


def _id(mechanism: Mechanism, row: Row) -> str:
    return f"{row.id} without {mechanism.id}"


def _report(results: Results) -> str:
    parts = [
        "With each mechanism, and without it: medians over the rounds, and their ratio (for a rate, how many times as much "
        "dura does with it; for a duration, how much of it remains), formed in each round anew, with its middle half.",
        table(
            ("mechanism", "without it", "what", "with", "without", "ratio", "middle half"),
            list(_lines(results)),
            "lllrrrr",
        ),
        table(("fact", "value"), list(machine_table(results)), "ll"),
    ]
    return "\n\n".join(parts) + "\n"


def _lines(results: Results) -> Iterator[Sequence[str]]:
    for mechanism in MECHANISMS:
        title, without = mechanism.title, mechanism.without
        for row in (_ROWS[row] for row in mechanism.rows):
            measure = row.measures[0]
            ours, lesser = (OURS.id, measure.key), (f"{OURS.id}-without", measure.key)
            ratio = results.against(_id(mechanism, row), ours, lesser)
            if ratio is not None:
                medians = [results.median(_id(mechanism, row), *one) or 0.0 for one in (ours, lesser)]
                yield (
                    title,
                    without,
                    ", ".join(part for part in (row.title, measure.title) if part),
                    *(written(median, measure.kind) for median in medians),
                    written(ratio.median, "ratio"),
                    half(ratio, "ratio"),
                )
                title = without = ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    ids = [mechanism.id for mechanism in MECHANISMS]
    parser.add_argument(
        "--without", nargs="+", metavar="MECHANISM", choices=ids, help=f"only {', '.join(ids)}"
    )
    parser.add_argument("--rows", nargs="+", metavar="ROW", choices=list(_ROWS), help="only these rows")
    parser.add_argument("--scale", choices=_SCALES, default="full", help="how long (default: full)")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, metavar="N", help="how often (default: 7)")
    parser.add_argument("--python", metavar="PATH", help="the interpreter (default: a Python 3.13)")
    parser.add_argument("--cache", type=Path, default=cache_folder(), metavar="DIR", help="as for benchmarks")
    parser.add_argument(
        "--into", type=Path, metavar="FILE", help="add the results to these, or begin the file"
    )
    parser.add_argument("--read", type=Path, metavar="FILE", help="measure nothing: report kept results")
    parser.add_argument("--publish", action="store_true", help="write them into docs/benchmarks.md")
    return parser


if __name__ == "__main__":
    sys.exit(main())
