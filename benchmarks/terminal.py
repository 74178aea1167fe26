"""The monitor on a real pseudo-terminal: `python -m benchmarks.terminal` measures what it writes, shows and keeps.

It measures the monitor of the environment that it runs in, and prints a table as Markdown. The store has a million tasks
unless told otherwise, and is built anew each time, in a folder that is removed at the end.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks import bulk_rows, machine
from benchmarks.environments import ROOT
from benchmarks.far_end import FarEnd
from benchmarks.publishing import TERMINAL, put
from dura import DurableEngine

Line = tuple[str, str, str]
"""What was measured, the outcome, and what it should be."""

_SIZES: Final = ((80, 24), (200, 50))
_ROWS_A_SECOND: Final = 200
_SETTLING: Final = 3.0
_STARTS: Final = 9
_LETTERS: Final = "qzjxkwvy"
_KEYS: Final = 48
_READY: Final = "● live".encode()
"""What the title says once the store has been read."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print the table."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dura-bench-", dir=options.folder) as folder:
        path = str(Path(folder) / "store.db")
        _say(f"building a store of {options.tasks:,} tasks ...")
        _build(path, options.tasks)
        lines = [
            *_bytes(path, options.seconds),
            *_first_screen(path),
            *_echo(path),
            *_memory(path, options.ticks, Path(folder) / "memory"),
        ]
        facts = ", ".join(machine.facts(Path(folder)).values())
    table = [
        "| | Measured | Should be |",
        "| --- | --- | --- |",
        *(f"| {' | '.join(line)} |" for line in lines),
    ]
    text = f"{options.tasks:,} tasks; {facts}; load {machine.load()}\n\n" + "\n".join(table) + "\n"
    print(text)
    if options.publish:
        _say(f"wrote {put(TERMINAL, text)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.terminal", description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000_000, help="in the store (default 1,000,000)")
    parser.add_argument("--seconds", type=float, default=20.0, help="that bytes are counted (default 20)")
    parser.add_argument("--ticks", type=int, default=3_600, help="seconds of simulated time (default 3,600)")
    parser.add_argument("--publish", action="store_true", help="write the table into docs/benchmarks.md too")
    parser.add_argument("--folder", help="where the store is built; the system's temporary one by default")
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _near_end(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "benchmarks.near_end", *map(str, arguments)]


def _build(path: str, tasks: int) -> None:
    DurableEngine(path).close()
    tenth = tasks // 10
    bulk_rows.add(path, {"pending": 3 * tenth, "sleeping": 2 * tenth, "running": 100, "completed": 5 * tenth})


@contextmanager
def _beside(name: str, *arguments: object) -> Iterator[None]:
    """Another program at work on the store."""
    process = subprocess.Popen(
        _near_end(name, *arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"{name} did not begin")
        yield
    finally:
        process.kill()
        process.communicate()


def _bytes(path: str, seconds: float) -> Iterator[Line]:
    with _beside("change", path, _ROWS_A_SECOND):
        for view, key in (("tasks", "4"), ("overview", "1")):
            for size in _SIZES:
                rates: dict[str, float] = {}
                for how in ("everything", "regions", "differences"):
                    _say(f"counting bytes: {view} at {size[0]}x{size[1]}, {how} ...")
                    with FarEnd(_near_end("monitor", path, how), size) as terminal:
                        terminal.until(_READY)
                        terminal.press(key)
                        terminal.read_for(_SETTLING)
                        rates[how] = terminal.read_for(seconds) / seconds
                share = rates["differences"] / rates["everything"]
                yield (
                    f"bytes a second, {view} at {size[0]}x{size[1]}, {_ROWS_A_SECOND} rows changing a second",
                    f"{rates['differences']:,.0f} ({share:.1%} of everything, {rates['everything']:,.0f}; "
                    f"Textual's regions: {rates['regions']:,.0f})",
                    "a tenth at most",
                )
    _say("counting bytes: nothing changes ...")
    with FarEnd(_near_end("monitor", path, "differences"), _SIZES[0]) as terminal:
        terminal.until(_READY)
        terminal.read_for(2 * _SETTLING)
        idle = terminal.read_for(seconds) / seconds
        yield "bytes a second, nothing changes", f"{idle:,.0f}", "the clock alone"


def _first_screen(path: str) -> Iterator[Line]:
    _say("starting ...")
    programs = {
        "bare": (_near_end("bare"), b"Overview"),
        "monitor": ([sys.executable, "-m", "dura_tui", path], _READY),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    # The first of each only warms up: what was never run is compiled, and what was not read for long is not in memory.
    for start in range(_STARTS + 1):
        for name, (command, words) in programs.items():
            with FarEnd(command, _SIZES[0]) as terminal:
                took = terminal.until(words) - terminal.began
                if start:
                    times[name].append((took, terminal.processor_seconds()))
    # What else the machine does makes a start slower, never quicker.
    (bare, bare_worked), (monitor, worked) = (map(min, zip(*times[name], strict=True)) for name in programs)
    yield (
        f"first screen, with what the store holds; the quickest of {_STARTS}",
        f"{monitor:.2f} s, {monitor - bare:.2f} s more than a bare Textual app ({bare:.2f} s); "
        f"of processor time {worked:.2f} s, {worked - bare_worked:.2f} s more",
        "0.3 s more at most",
    )


def _echo(path: str) -> Iterator[Line]:
    _say("typing while workers saturate the file ...")
    with _beside("saturate", path), FarEnd(_near_end("monitor", path, "differences"), _SIZES[0]) as terminal:
        terminal.until(_READY)
        terminal.press("4/")
        terminal.read_for(_SETTLING)
        waits: list[float] = []
        for number in range(_KEYS):
            letter = _LETTERS[number % len(_LETTERS)]
            began = time.perf_counter()
            terminal.press(letter)
            waits.append(terminal.until(letter.encode()) - began)
            terminal.read_for(0.1)
    waits.sort()
    yield (
        "key to echo while workers saturate the file",
        f"{statistics.median(waits) * 1000:.0f} ms, nineteen in twenty {waits[int(_KEYS * 0.95)] * 1000:.0f} ms",
        "under 50 ms",
    )


def _memory(path: str, ticks: int, log: Path) -> Iterator[Line]:
    _say(f"passing {ticks:,} seconds of simulated time ...")
    with FarEnd(_near_end("ticks", path, ticks, log), _SIZES[1]) as terminal:
        terminal.read_to_end(max(0.5 * ticks, 60.0))
    noted = [int(line) / 1e6 for line in log.read_text().split()]
    quarter = len(noted) // 4
    yield (
        f"memory over {ticks:,} simulated seconds, all views in turn",
        f"{noted[quarter]:.0f} MB after a quarter, {noted[-1]:.0f} MB at the end",
        "flat",
    )


if __name__ == "__main__":
    sys.exit(main())
