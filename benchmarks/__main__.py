"""The command: `python -m benchmarks` runs the table, prints it as Markdown, and keeps it as JSON."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

from benchmarks import machine
from benchmarks.environments import Environments, cache_folder
from benchmarks.progress import Progress
from benchmarks.publishing import publish
from benchmarks.report import report
from benchmarks.results import Results, load_results
from benchmarks.row import SCALES
from benchmarks.rows import ROWS
from benchmarks.running import Runner, Turn, heats, turns
from benchmarks.systems import ALL


def main(arguments: list[str] | None = None) -> int:
    """Run what the arguments ask for."""
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(f"{row.id:16} {row.title}" for row in ROWS))
        return 0
    if options.prepare:
        return _prepare(options)
    results = load_results(options.read) if options.read else _measure(options)
    print(report(results))
    if options.publish:
        for path in publish(results):
            print(f"wrote {path}", file=sys.stderr)
    failed = [cell for cell in results.cells if cell.failed]
    return 1 if failed else 0


def _measure(options: argparse.Namespace) -> Results:
    """Measure row by row. What is measured is kept after each row, so that a long run can be ended, and gone on with."""
    results = Results({})
    if options.into is not None and options.into.exists():
        results = load_results(options.into)
    path = options.into or options.cache / "results" / f"{results.file_name()}.json"
    order = _order(options)
    if options.missing:
        there = {(cell.row, cell.scale) for cell in results.cells}
        order = [turn for turn in order if (turn.row.id, options.scale) not in there]
    with Progress(sum(turn.expected(options.scale) for turn in order)) as progress:
        runner = _runner(options, progress)
        results.machine = machine.facts(runner.folder)
        results.load[:] = results.load[:1] or [machine.load()]
        groups = [
            heats(list(turns), options.scale) for _, turns in itertools.groupby(order, lambda turn: turn.row)
        ]
        for groups_of_row, following in itertools.zip_longest(groups, groups[1:]):
            row = groups_of_row[0][0].row
            results.replace(row.id, [cell for heat in groups_of_row for cell in runner.run(heat)])
            results.load[1:] = [machine.load()]
            results.save(path)
            if not options.keep_stores and (not following or row.stores != following[0][0].row.stores):
                runner.prepared.drop_large()
    print(f"kept in {path}", file=sys.stderr)
    _tell_size(runner)
    return results


def _prepare(options: argparse.Namespace) -> int:
    """Make the stores, and keep them."""
    order = [turn for turn in _order(options) if turn.round == 0]
    with Progress(sum(turn.expected(options.scale) for turn in order)) as progress:
        runner = _runner(options, progress)
        cells = [cell for heat in heats(order, options.scale) for cell in runner.run(heat, prepare=True)]
    _tell_size(runner)
    return 1 if any(cell.failed for cell in cells) else 0


def _order(options: argparse.Namespace) -> list[Turn]:
    rows = tuple(row for row in ROWS if not options.rows or row.id in options.rows)
    systems = frozenset(options.systems or [system.id for system in ALL])
    return turns(rows, systems, options.scale, options.rounds)


def _runner(options: argparse.Namespace, progress: Progress) -> Runner:
    cache: Path = options.cache
    runner = Runner(cache, Environments(cache, options.python), options.scale, progress)
    if machine.in_memory(runner.folder):
        print(
            f"{runner.folder} is in memory: commits cost nothing there, so these numbers say little",
            file=sys.stderr,
        )
    return runner


def _tell_size(runner: Runner) -> None:
    size = runner.prepared.size()
    print(
        f"{size / 1e6:,.0f} MB of prepared stores are kept in {runner.prepared.folder}; removing them is safe",
        file=sys.stderr,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--scale", choices=SCALES, default="full", help="how large and how long (default: full)"
    )
    parser.add_argument(
        "--rows", nargs="+", metavar="ROW", choices=[row.id for row in ROWS], help="only these rows"
    )
    parser.add_argument(
        "--systems",
        nargs="+",
        metavar="SYSTEM",
        choices=[system.id for system in ALL],
        help="only these systems",
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each cell is run")
    parser.add_argument(
        "--python", metavar="PATH", help="the interpreter for all systems (default: a Python 3.13)"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=cache_folder(),
        metavar="DIR",
        help="environments, stores and results, on a real disk (default: $DURA_BENCH_CACHE or the user's cache)",
    )
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FILE",
        help="keep the results here, in the place of what it has of the same rows (default: a new file)",
    )
    parser.add_argument(
        "--missing", action="store_true", help="only rows that the results do not have at this scale yet"
    )
    parser.add_argument(
        "--prepare", action="store_true", help="measure nothing: make the stores, and keep them"
    )
    parser.add_argument(
        "--keep-stores", action="store_true", help="keep large stores too, gigabytes, for the next run"
    )
    parser.add_argument("--read", type=Path, metavar="FILE", help="measure nothing: report kept results")
    parser.add_argument("--publish", action="store_true", help="write docs/benchmarks.md and its pictures")
    parser.add_argument("--list", action="store_true", help="list the rows")
    return parser


if __name__ == "__main__":
    sys.exit(main())
