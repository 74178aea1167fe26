"""The command `dura-tui`: which of its forms runs: the monitor, one look, one task, or the demo.

Exit codes: 0 for a good end, 1 for a file that cannot be read or output that cannot be written, 2 for wrong arguments or
settings, 129 for a terminal that hung up, 130 for an interrupt before there was anything to show. What `--watch` adds is
in `watch`.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import TextIOWrapper
from typing import Final, TextIO

from dura.errors import InvalidFilter, InvalidValue, StoreError
from dura.filters import marked
from dura.monitor import Monitor
from dura.records import Want
from dura.redaction import MARK, Redaction
from dura_tui import config
from dura_tui.arguments import WRONG, make_parser
from dura_tui.first import OVERVIEW, FirstLook
from dura_tui.format import printable
from dura_tui.start import Start, WrongStart, begin_with

_INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: The command's arguments; those of the process by default.

    Returns:
        The exit code.
    """
    if sys.stdout is None:
        print("dura-tui: standard output is closed: there is nowhere to print to", file=sys.stderr)
        return 1
    try:
        options = make_parser().parse_args(arguments)
        if options.version:
            return _print_version()
        if options.print_config:
            return _print_config()
        options.redaction = None if options.reveal else Redaction.from_environment()
        printed = options.once or options.json or not (_is_terminal(sys.stdout) and _is_terminal(sys.stdin))
        if options.watch is not None:
            return _watch(options)
        if not printed:
            options.start = begin_with(options.view, options.filter, options.sort)
        if options.demo:
            return _demo(options, printed=printed)
        if printed:
            return _once(options)
        return _monitor(options.path, options)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except config.WrongSettings as error:
        for line in str(error).splitlines():
            print(f"dura-tui: {printable(line)}", file=sys.stderr)
        print("dura-tui: nothing was started; --config /dev/null does without settings", file=sys.stderr)
        return WRONG
    except WrongStart as error:
        print("dura-tui: " + "\n".join(map(printable, str(error).split("\n"))), file=sys.stderr)
        return WRONG
    except InvalidValue as error:
        print(f"dura-tui: {printable(str(error))}", file=sys.stderr)
        return WRONG
    except StoreError as error:
        print(f"dura-tui: {printable(str(error))}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has left. Nothing more can be said to them, not even by the interpreter's last flush.
        _drop_output()
        return 1
    except OSError as error:
        _drop_output()
        print(f"dura-tui: {printable(str(error))}: nothing more was written", file=sys.stderr)
        return 1


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a person is there; a stream that was closed before we began is None."""
    return stream is not None and stream.isatty()


def _settings(options: argparse.Namespace) -> config.Settings:
    """The settings of the file, and what the command line says over them.

    Raises:
        WrongSettings: The file cannot be used.
    """
    settings = config.load(options.config)
    slow = settings.slow or options.slow
    return replace(
        settings,
        slow=slow,
        mouse=settings.mouse and not (options.no_mouse or slow),
        refresh=options.refresh or settings.refresh,
        theme=options.theme or settings.theme,
        alerts=(*settings.alerts, *options.alert),
    )


def _print_version() -> int:
    # It takes longer to find than all else that the start needs of the standard library.
    from importlib.metadata import version

    print(f"dura-tui {version('dura')}", flush=True)
    return 0


def _print_config() -> int:
    from dura_tui.config_text import default_text

    print(default_text(), end="", flush=True)
    return 0


def _once(options: argparse.Namespace) -> int:
    from rich.console import Console

    from dura_tui import once

    if isinstance(sys.stdout, TextIOWrapper):
        # What the terminal's or the locale's encoding lacks is written as an escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    view, want = options.view or ("tasks" if options.filter or options.sort else None), once.WANT
    if view is not None:
        try:
            want = once.want_for(view, options.filter or "", options.sort or "")
        except InvalidFilter as error:
            raise WrongStart(marked(options.filter, error)) from error
    with Monitor(options.path, redaction=options.redaction) as monitor:
        snapshot = monitor.snapshot(want)
    if options.json:
        print(once.as_json(snapshot))
    else:
        width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else once.PIPE_WIDTH
        once.print_tables(snapshot, Console(highlight=False, markup=False, width=width), view)
    sys.stdout.flush()
    if snapshot.hidden:
        print(f"dura-tui: {MARK} stands for what may be secret; --reveal shows it", file=sys.stderr)
    return 0


def _watch(options: argparse.Namespace) -> int:
    from rich.console import Console

    from dura_tui import watch

    console = Console(highlight=False, markup=False)
    with Monitor(options.path, redaction=options.redaction) as monitor:
        try:
            task_id = watch.find(monitor, options.watch)
        except watch.NotOne as error:
            print(f"dura-tui: {error}", file=sys.stderr)
            return WRONG if error.several else watch.NOT_FOUND
        refresh = options.refresh or (config.SLOW_REFRESH if options.slow else config.DEFAULT_REFRESH)
        return watch.watch(monitor, task_id, console, refresh=refresh, timeout=options.timeout)


def _demo(options: argparse.Namespace, *, printed: bool) -> int:
    from dura_tui.demo import DemoStore

    print("Making the demo store …", file=sys.stderr)
    # Whoever ends us while it is being made wants no folder left behind either.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with DemoStore() as demo:
        options.path = demo.path
        code = _once(options) if printed else _monitor(demo.path, options, last_act=demo.close)
    print(f"The demo store was {options.path}; it has been removed.", file=sys.stderr)
    return code


def _monitor(path: str, options: argparse.Namespace, last_act: Callable[[], None] = lambda: None) -> int:
    if not _is_terminal(sys.stderr):
        # Textual draws there; the operator would sit before an empty screen whose keys act.
        print("dura-tui: the monitor draws on standard error: start it without redirecting that")
        return 2
    settings = _settings(options)
    # A third of the start would go by with looking for garbage among what has just been made; the app goes on with it.
    gc.disable()
    first = FirstLook.at(
        path, OVERVIEW if options.start == Start() else Want(waiting=True), options.redaction
    )
    from dura_tui.app import DuraApp
    from dura_tui.terminal import HangUp

    app = DuraApp(
        path,
        read_only=options.read_only,
        demo=options.demo,
        settings=settings,
        start=options.start,
        redaction=options.redaction,
        first=first,
    )

    def hung_up() -> None:
        app.stop_feed()
        last_act()

    terminal = HangUp(sys.stdin.fileno(), hung_up)
    terminal.watch()
    # A terminal left in raw mode is what an operator would get if SIGTERM just ended the process.
    signal.signal(signal.SIGTERM, lambda *_: app.end())
    app.run(mouse=settings.mouse)
    terminal.stop()
    return app.return_code or 0
