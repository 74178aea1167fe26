"""The arguments of `dura-tui`: what there is, and what excludes what. Nothing here loads Textual."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from dura.command_line import Parser, advised, without_value
from dura.durations import parse_duration
from dura_tui import config
from dura_tui.alerts import Alert, parse_alert
from dura_tui.format import printable

WRONG: Final = 2
"""The exit code of wrong arguments and settings."""


def make_parser() -> argparse.ArgumentParser:
    """What reads them: it ends the process, with code 2 and two lines, where they are wrong."""
    parser = _Parser(
        prog="dura-tui",
        description="Watch a dura store in the terminal, and act on it.",
        epilog="Press ? in the monitor for its keys.",
    )
    parser.add_argument("path", nargs="?", help="the store file")
    parser.add_argument("--read-only", action="store_true", help="refuse every action")
    parser.add_argument("--reveal", action="store_true", help="show also what may be secret")
    parser.add_argument(
        "--refresh",
        type=_seconds,
        metavar="SECONDS",
        help=f"seconds between two looks at the file (default {config.DEFAULT_REFRESH:g})",
    )
    parser.add_argument(
        "--slow",
        action="store_true",
        help=f"for bad lines: a tick of {config.SLOW_REFRESH:g} s, no mouse, no animation",
    )
    parser.add_argument("--view", metavar="NAME", help="the view to begin with, for example failures")
    parser.add_argument(
        "--filter",
        metavar="LINE",
        help="its filter, for example 'name:import_* age>5m'; of the tasks without --view",
    )
    parser.add_argument(
        "--sort", metavar="COLUMN", help="the column to sort it by; --sort=-COLUMN for the other way round"
    )
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    parser.add_argument("--theme", choices=config.THEMES, help="the colours to begin with")
    parser.add_argument(
        "--alert",
        type=_alert,
        action="append",
        default=[],
        metavar="LIMIT",
        help="show and ring when 'oldest-due>5m', 'failures-per-minute>3' or 'wal-size>64MB'; repeatable",
    )
    parser.add_argument("--config", metavar="FILE", help=f"settings (default {config.default_path()})")
    parser.add_argument("--print-config", action="store_true", help="print the default settings and exit")
    parser.add_argument(
        "--once",
        action="store_true",
        help="print one look as tables and exit; what happens anyway without a terminal",
    )
    parser.add_argument("--json", action="store_true", help="print one look as JSON and exit")
    parser.add_argument(
        "--watch",
        metavar="TASK",
        help="follow one task, named by a part of its id, until it ends; the exit code is its outcome",
    )
    parser.add_argument(
        "--timeout",
        type=_duration,
        metavar="DURATION",
        help="with --watch: how long at most, for example 10m",
    )
    parser.add_argument(
        "--demo", action="store_true", help="watch a live store made for the purpose, removed at the end"
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    return parser


class _Parser(Parser):
    """Arguments, and what they exclude."""

    _words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in two lines, without what a terminal would obey, and end."""
        said = printable(advised(message, self._words))
        self.exit(WRONG, f"dura-tui: {said}\n          `dura-tui --help` shows what it takes\n")

    def parse_args(self, args: Sequence[str] | None = None, namespace: None = None) -> argparse.Namespace:  # type: ignore[override]
        words = sys.argv[1:] if args is None else list(args)
        self._words = words
        if (word := without_value(words)) is not None:
            self.error(f"{word!r} gives no value")
        options = super().parse_args(words, namespace)
        if options.demo and options.path is not None:
            self.error("--demo makes its own file: leave out the path")
        if options.watch is not None and (options.demo or options.once or options.json):
            self.error("--watch follows one task of one store: leave out --demo, --once and --json")
        if options.watch is not None and (options.view or options.filter or options.sort):
            self.error("--watch follows one task: leave out --view, --filter and --sort")
        if options.timeout is not None and options.watch is None:
            self.error("--timeout is for --watch")
        if not (options.demo or options.print_config or options.version) and options.path is None:
            self.error(
                f"which store? Give the path of its file{', or --demo' if options.watch is None else ''}"
            )
        return options


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not config.LEAST_REFRESH <= seconds <= config.MOST_REFRESH:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of seconds from {config.LEAST_REFRESH:g} to {config.MOST_REFRESH:g}"
        )
    return seconds


def _duration(text: str) -> float:
    try:
        return parse_duration(text, bare_seconds=True)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _alert(text: str) -> Alert:
    try:
        return parse_alert(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
