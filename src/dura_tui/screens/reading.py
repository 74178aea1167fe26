"""Dialogs that are only read: a value, an error, the help."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from dura.redaction import MARK
from dura_tui import format as fmt
from dura_tui.keys import DEFAULT_KEYMAP, FIXED, Keymap, grouped
from dura_tui.messages import CopyAsked
from dura_tui.screens.dialog import Dialog
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.filter_line import FilterLine
from dura_tui.widgets.text_view import TextView


class ReadingDialog(Dialog[None]):
    """Lines in a box nearly as large as the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,enter,backspace", "leave", show=False),
        Binding("y", "copy", show=False),
        Binding("slash", "search", show=False),
        Binding("n", "found(1)", show=False),
        Binding("N", "found(-1)", show=False),
    ]

    def __init__(self, title: str, lines: list[Cell], source: str = "") -> None:
        """Show these lines; `source` is what `y` copies."""
        super().__init__()
        self._title = title
        self._lines = lines
        self._source = source
        self._view = TextView()
        self._line = FilterLine(placeholder="any part of the text", id="search")
        self._foot = Static(classes="foot")
        self._part = ""

    def box_title(self) -> Text:
        """What is being read."""
        return Text(self._title)

    def body(self) -> ComposeResult:
        """The lines, and how to leave."""
        yield self._view
        yield self._line
        yield self._foot

    def on_mount(self) -> None:
        """Fill in."""
        self._view.show_lines(self._lines)
        self._view.focus()
        self._say()

    def _say(self) -> None:
        at, count = self._view.place
        if self._part:
            found = f"line {at} of {count} with" if count else "nothing has"
            then = "n N moves" if count else "/ searches again"
            text = f"{found} {fmt.clip(fmt.printable(self._part), 30)} · {then} · esc closes"
        else:
            text = f"esc closes · j k ^d ^u scroll · / search{' · y copies it' if self._source else ''}"
            if MARK in self._source:
                text += f"\n{MARK} stands for what may be secret; start with --reveal to see it"
        self._foot.update(Text(text))

    def action_search(self) -> None:
        """Type what to look for."""
        self._line.edit(self._part)

    def action_found(self, step: int) -> None:
        """Go to the next line with a match, or the one before."""
        self._view.next_found(step)
        self._say()

    @on(Input.Submitted)
    def _search(self, event: Input.Submitted) -> None:
        event.stop()
        self._part = event.value
        self._line.action_leave()
        self._view.search(self._part)
        self._say()

    @on(FilterLine.Left)
    def _leave_search(self) -> None:
        self._view.focus()

    def action_copy(self) -> None:
        """Copy what is stored."""
        if self._source:
            self.app.post_message(CopyAsked(self._source, self._title))


def help_lines(view: str, about: tuple[str, ...], keymap: Keymap = DEFAULT_KEYMAP) -> list[Cell]:
    """What a view shows, then all keys by group, and what the glyphs mean.

    Args:
        view: The view's name.
        about: What there is to say of it; `{filter}` stands for the key of that name.
        keymap: The keys as they are now.
    """
    lines: list[Cell] = [
        cell(f"{view.capitalize()}", "bold cyan"),
        *(cell(f"  {line.format_map(keymap.by_name())}") for line in about),
        cell(""),
    ]
    for group, keys in grouped():
        lines += [cell(group, "bold cyan"), *(_key(keymap.shown(key), keymap.help(key)) for key in keys)]
        if group == "Moving":
            lines += [_key(shown, help_text) for shown, help_text in FIXED]
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
        cell(
            f"What may be secret is shown as {MARK}; started with --reveal the monitor shows it.",
            "bright_black",
        ),
        cell("Times are UTC.", "bright_black"),
    ]
    return lines


def _key(shown: str, help_text: str) -> Cell:
    return ((f"  {shown.ljust(11)} ", "bold"), (help_text, ""))
