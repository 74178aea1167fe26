"""The command: `python -m benchmarks` runs the table, prints it as Markdown, and keeps it as JSON."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import machine
from benchmarks.environments import Environments, cache_folder
from benchmarks.progress import Progress
from benchmarks.publishing import publish
from benchmarks.report import report
from benchmarks.results import Results, load_results
from benchmarks.rows import ROWS, SCALES
from benchmarks.running import Runner, turns
from benchmarks.systems import ALL


def main(arguments: list[str] | None = None) -> int:
    """Run what the arguments ask for."""
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(f"{row.id:16} {row.title}" for row in ROWS))
        return 0
    results = load_results(options.read) if options.read else _measure(options)
    print(report(results))
    if options.publish:
        for path in publish(results):
            print(f"wrote {path}", file=sys.stderr)
    failed = [cell for cell in results.cells if cell.failed]
    return 1 if failed else 0


def _measure(options: argparse.Namespace) -> Results:
    cache: Path = options.cache
    runner = Runner(cache, Environments(cache, options.python), options.scale)
    if machine.in_memory(runner.folder):
        print(
            f"{runner.folder} is in memory: commits cost nothing there, so these numbers say little",
            file=sys.stderr,
        )
    rows = tuple(row for row in ROWS if not options.rows or row.id in options.rows)
    systems = frozenset(options.systems or [system.id for system in ALL])
    order = turns(rows, systems, options.scale, options.rounds)
    results = Results(options.scale, machine.facts(runner.folder), load=[machine.load()])
    with Progress(len(order)) as progress:
        for turn in order:
            progress.begin(turn.row.title, turn.system.title)
            cell = runner.run(turn)
            results.cells.append(cell)
            progress.end(f"{turn.row.id}, {turn.system.title}: {cell.failed}" if cell.failed else None)
    results.load.append(machine.load())
    path = options.json or cache / "results" / f"{results.started.replace(' ', '-').replace(':', '')}.json"
    results.save(path)
    print(f"kept in {path}", file=sys.stderr)
    return results


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
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep the results")
    parser.add_argument("--read", type=Path, metavar="FILE", help="measure nothing: report kept results")
    parser.add_argument("--publish", action="store_true", help="write docs/benchmarks.md and its pictures")
    parser.add_argument("--list", action="store_true", help="list the rows")
    return parser


if __name__ == "__main__":
    sys.exit(main())
