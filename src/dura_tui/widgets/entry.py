"""A line to type in that shows nothing a terminal could obey.

Names from the store stand in it to be edited, and a paste can bring anything. Textual draws a line's text as it is, so an
escape sequence in an event's name would reach the terminal. What is kept and handed on is the text itself.
"""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from rich.text import Text
from textual.events import Paste
from textual.widgets import Input

from dura_tui import format as fmt

_STAND_IN: Final = "\N{REPLACEMENT CHARACTER}"


class Entry(Input):
    """An input; each character that must not reach a terminal is drawn as one stand-in, so that places agree."""

    @property
    def _value(self) -> Text:
        return Text(_shown(self.value), no_wrap=True, overflow="ignore", end="")

    def _position_to_cell(self, position: int) -> int:
        return cell_len(_shown(self.value[:position]))

    def _on_paste(self, event: Paste) -> None:
        """Take all of what is pasted: its lines become one, where Textual would keep the first alone."""
        event.prevent_default()
        event.stop()
        text = " ".join(line.strip() for line in event.text.splitlines()).strip()
        if text:
            self.replace(text, *self.selection)


def _shown(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if fmt.printable(character) == character else _STAND_IN for character in text)
