"""How far a run has come, on stderr: one line that is rewritten on a terminal, one line a row elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, Self

_WIDTH: Final = 28


class Progress:
    """A bar over so many cells."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._began = time.monotonic()
        self._live = sys.stderr.isatty()
        self._row = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def begin(self, row: str, system: str) -> None:
        """Say what is being run now."""
        if self._live:
            filled = _WIDTH * self._done // self._total
            bar = "█" * filled + "░" * (_WIDTH - filled)
            line = f"{bar} {self._done}/{self._total}  {self._left()}  {row} · {system}"
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        elif row != self._row:
            self._row = row
            print(f"{self._done}/{self._total}  {self._left()}  {row}", file=sys.stderr, flush=True)

    def end(self, trouble: str | None) -> None:
        """Say that it is done, and what went wrong with it."""
        self._done += 1
        if trouble is not None:
            start = "\r\x1b[K" if self._live else ""
            print(f"{start}  {trouble}", file=sys.stderr, flush=True)

    def _left(self) -> str:
        if self._done < 3:
            return "-:-- left"
        seconds = (time.monotonic() - self._began) / self._done * (self._total - self._done)
        return f"{int(seconds // 60)}:{int(seconds % 60):02} left"
