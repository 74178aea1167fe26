"""A sign of life on standard error while something long runs, only where a person sees it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from dura.cli.output import is_terminal, show_progress
from dura.durations import duration

_PATIENCE: Final = 0.4
"""Seconds before the first sign, so that what is quick stays silent."""

_TICK: Final = 0.25


@contextmanager
def progress(what: str, detail: Callable[[], str] | None = None) -> Iterator[None]:
    """Show what is being done, and for how long, until the block ends.

    Args:
        what: For example `checking orders.db`.
        detail: Called about four times a second, on another thread, for how far it is.
    """
    if not is_terminal(sys.stderr):
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_tell, args=(what, detail, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _tell(what: str, detail: Callable[[], str] | None, over: threading.Event) -> None:
    began = time.monotonic()
    told = False
    wait = _PATIENCE
    while not over.wait(wait):
        told, wait = True, _TICK
        far = f", {detail()}" if detail is not None else ""
        show_progress(f"{what}{far} ... {duration(float(int(time.monotonic() - began)))}")
    if told:
        show_progress("")
