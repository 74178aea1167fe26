"""Dialogs that are only read: a value, an error, the help."""

from __future__ import annotations

from itertools import groupby
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from dura_tui.keys import KEYS, MOVING
from dura_tui.messages import CopyAsked
from dura_tui.screens.dialog import Dialog
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.text_view import TextView


class ReadingDialog(Dialog[None]):
    """Lines in a box nearly as large as the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,enter,backspace", "leave", show=False),
        Binding("y", "copy", show=False),
    ]

    def __init__(self, title: str, lines: list[Cell], source: str = "") -> None:
        """Show these lines; `source` is what `y` copies."""
        super().__init__()
        self._title = title
        self._lines = lines
        self._source = source

    def box_title(self) -> Text:
        """What is being read."""
        return Text(self._title)

    def body(self) -> ComposeResult:
        """The lines, and how to leave."""
        yield TextView()
        copy = " · y copies it" if self._source else ""
        yield Static(f"esc closes · j k ^d ^u scroll{copy}", classes="foot")

    def on_mount(self) -> None:
        """Fill in."""
        view = self.query_one(TextView)
        view.show_lines(self._lines)
        view.focus()

    def action_copy(self) -> None:
        """Copy what is stored."""
        if self._source:
            self.app.post_message(CopyAsked(self._source, self._title))


def help_lines(view: str, about: tuple[str, ...]) -> list[Cell]:
    """What a view shows, then all keys by group, and what the glyphs mean.

    Args:
        view: The view's name.
        about: What there is to say of it.
    """
    lines: list[Cell] = [
        cell(f"{view.capitalize()}", "bold cyan"),
        *(cell(f"  {line}") for line in about),
        cell(""),
    ]
    for group, keys in groupby(sorted(KEYS, key=lambda key: _GROUPS.index(key.group)), lambda key: key.group):
        lines += [cell(group, "bold cyan"), *(_key(key.shown, key.help) for key in keys)]
        if group == "Moving":
            lines += [_key(shown, help_text) for shown, help_text in MOVING]
        lines.append(cell(""))
    lines.append(cell("Signs", "bold cyan"))
    signs = [(glyph, cells.STYLES[name], str(name)) for name, glyph in cells.GLYPHS.items()]
    signs += [(glyph, "magenta", f"sleeps: {name}") for name, glyph in cells.CAUSE_GLYPHS.items()]
    lines += [(("  ", ""), (glyph, style), (f"  {word}", "")) for glyph, style, word in signs]
    lines += [
        cell(""),
        cell(
            "A struck-out row has just left the list; it stays a few seconds so that no key", "bright_black"
        ),
        cell(
            "meets its neighbour. Every action is compared with the store before it is done.", "bright_black"
        ),
        cell("Times are UTC.", "bright_black"),
    ]
    return lines


_GROUPS = ("Views", "Actions", "Lists", "Moving", "Screen")


def _key(shown: str, help_text: str) -> Cell:
    return ((f"  {shown.ljust(11)} ", "bold"), (help_text, ""))
