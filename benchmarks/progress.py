"""How far a run has come, on stderr: one line that is rewritten on a terminal, one line a row elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, Self

_WIDTH: Final = 28
_SOON: Final = 3.0
"""Seconds before which nothing can be said of the rest."""


class Progress:
    """A bar over cells, each as long as it is expected to take.

    Args:
        expected: The seconds that all cells together should take. Only their proportions matter: how much slower or
            faster the machine is shows as it goes.
    """

    def __init__(self, expected: float) -> None:
        self._expected = expected
        self._done = 0.0
        self._began = time.monotonic()
        self._live = sys.stderr.isatty()
        self._row = self._title = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def begin(self, row: str, system: str) -> None:
        """Say what is being run now."""
        self._title = f"{row} · {system}"
        if self._live:
            self._draw(self._title)
        elif row != self._row:
            print(f"{self._share():4.0%}  {self._left()}  {row}", file=sys.stderr, flush=True)
        self._row = row

    def built(self, tasks: int, of: int) -> None:
        """Say how far the store is that the cell needs."""
        if self._live:
            self._draw(f"{self._title}: store {tasks / of:.0%} of {of:,} tasks")

    def end(self, expected: float, trouble: str | None) -> None:
        """Say that it is done, how many seconds it should have taken, and what went wrong with it."""
        self._done += expected
        if trouble is not None:
            start = "\r\x1b[K" if self._live else ""
            print(f"{start}  {trouble}", file=sys.stderr, flush=True)

    def _draw(self, text: str) -> None:
        filled = int(_WIDTH * self._share())
        bar = "█" * filled + "░" * (_WIDTH - filled)
        print(f"\r\x1b[K{bar}  {self._left()}  {text}", end="", file=sys.stderr, flush=True)

    def _share(self) -> float:
        return self._done / self._expected if self._expected else 1.0

    def _left(self) -> str:
        took = time.monotonic() - self._began
        if took < _SOON or not self._done:
            seconds = self._expected
        else:
            seconds = took / self._done * (self._expected - self._done)
        return f"{int(seconds // 60)}:{int(seconds % 60):02} left"
