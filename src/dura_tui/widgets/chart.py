"""Throughput as bars, as high as there is room, always with the number beside them."""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual.widget import Widget

from dura.records import Throughput
from dura_tui import format as fmt
from dura_tui.throughput import failures, fit, rate
from dura_tui.widgets.cells import bars

_LABEL: Final = " throughput  "
_NUMBERS_WIDTH: Final = 26
_LEAST_BARS: Final = 8


class Chart(Widget):
    """Settled tasks over the last hour."""

    DEFAULT_CSS = "Chart { height: 1; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Make an empty chart."""
        super().__init__(id=id)
        self._throughput: Throughput | None = None

    def put(self, throughput: Throughput | None) -> None:
        """Show these numbers."""
        if throughput != self._throughput:
            self._throughput = throughput
            self.refresh()

    def render(self) -> Text:
        """Draw label, bars and numbers."""
        text = Text(no_wrap=True, overflow="crop", end="")
        text.append(_LABEL, "bright_black")
        if self._throughput is None:
            return text
        width, height = self.size
        room = width - len(_LABEL) - _NUMBERS_WIDTH
        lines = bars(fit(self._throughput.completed, room), height) if room >= _LEAST_BARS else [""] * height
        text.append(("\n" + " " * len(_LABEL)).join(lines), "green")
        failed, span = failures(self._throughput)
        text.append("  " if lines[-1] else "")
        text.append(rate(self._throughput), "bold")
        text.append("  ")
        text.append(f"{fmt.compact(failed)} failed", "red" if failed else "bright_black")
        text.append(f" in {span}", "bright_black")
        return text
