"""The columns that a list can be sorted by, to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from dura_tui.screens.dialog import Dialog
from dura_tui.widgets.live_table import Column

_OWN: Final = "own"


class SortDialog(Dialog[str]):
    """Returns the order that was chosen; the column in force is turned round by choosing it again."""

    HEADING: ClassVar[str] = "Sort by"

    def __init__(self, sorts: Mapping[str, Column], own: str, now: str) -> None:
        """Offer the columns.

        Args:
            sorts: The columns by name.
            own: The list's own order, in words.
            now: The order in force.
        """
        super().__init__()
        self._sorts = sorts
        self._own = own
        self._now = now
        self._list = OptionList(id="sorts", compact=True, markup=False)

    def body(self) -> ComposeResult:
        """The list."""
        yield self._list
        yield Static("a number or enter sorts · the same again turns it round · esc leaves", classes="foot")

    def on_mount(self) -> None:
        """Fill in."""
        self._add("0", f"its own order: {self._own}", "" if self._now else "●", _OWN)
        for number, (name, column) in enumerate(self._sorts.items(), 1):
            back = self._now == f"-{name}"
            sign = ("▾" if column.down != back else "▴") if self._now.removeprefix("-") == name else ""
            self._add(
                str(number) if number < 10 else " ", f"{name.ljust(10)}{column.label.lower()}", sign, name
            )
        names = ["", *self._sorts]
        self._list.highlighted = names.index(self._now.removeprefix("-"))
        self._list.focus()

    def _add(self, key: str, label: str, sign: str, identifier: str) -> None:
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(f"{key}  ", "bold blue")
        text.append(sign.ljust(2), "cyan")
        text.append(label, "bold" if sign else "")
        self._list.add_option(Option(text, id=identifier))

    def on_key(self, event: Key) -> None:
        """A number chooses its column."""
        if event.character is not None and event.character.isascii() and event.character.isdigit():
            names = [_OWN, *self._sorts]
            place = int(event.character)
            if place < len(names):
                event.stop()
                self._choose(names[place])

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._choose(event.option_id or _OWN)

    def _choose(self, name: str) -> None:
        if name == _OWN:
            self.dismiss("")
        else:
            self.dismiss(f"-{name}" if self._now == name else name)
