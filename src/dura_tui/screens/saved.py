"""Saved filters: choose one, delete one, keep the present one under a name."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from dura_tui import format as fmt
from dura_tui import saved
from dura_tui.saved import LONGEST_NAME, SavedFilter, SavedFiltersLost
from dura_tui.screens.dialog import Dialog
from dura_tui.start import Start
from dura_tui.widgets.entry import Entry


class SavedDialog(Dialog[SavedFilter]):
    """Returns the filter that was chosen."""

    HEADING: ClassVar[str] = "Saved filters"

    def __init__(self, path: Path, present: Start | None) -> None:
        """Offer what is kept.

        Args:
            path: The file in which they are.
            present: What could be kept; None where the view in front has neither filter nor order.
        """
        super().__init__()
        self._path = path
        self._present = present
        self._kept: tuple[SavedFilter, ...] = ()
        self._asked = ""
        self._list = OptionList(id="saved", compact=True, markup=False)
        self._said = Static(id="said")
        self._entry = Entry(placeholder="a name for it", id="name", compact=True, max_length=LONGEST_NAME)
        self._foot = Static(classes="foot")

    def body(self) -> ComposeResult:
        """The filters, and the line in which a name is typed."""
        yield self._list
        yield self._said
        yield self._entry
        yield self._foot

    def on_mount(self) -> None:
        """Fill in."""
        self._fill()

    def _fill(self, marked: int = 0) -> None:
        damaged = ""
        try:
            self._kept = saved.load(self._path)
        except SavedFiltersLost as error:
            self._kept, damaged = (), str(error)
        self._list.clear_options()
        self._list.add_options([Option(_line(kept), id=str(place)) for place, kept in enumerate(self._kept)])
        self._list.display = bool(self._kept)
        self._entry.display = self._present is not None and not damaged
        if damaged:
            self._say(damaged, "red")
        elif self._present is not None:
            self._say(f"keep the present one: {_words(self._present)}")
        elif not self._kept:
            self._say("none yet: filter or sort a list, then come here to keep that")
        else:
            self._say("")
        self._foot.update(self._keys())
        if self._kept:
            self._list.highlighted = min(marked, len(self._kept) - 1)
            self._list.focus()
        elif self._entry.display:
            self._entry.focus()

    def _keys(self) -> str:
        keys = ["enter shows it · d deletes it"] * bool(self._kept)
        keys += ["tab to the name, enter keeps it"] * bool(self._entry.display)
        return " · ".join([*keys, "esc leaves"])

    def _say(self, text: str, style: str = "") -> None:
        self._said.update(Text(fmt.printable(text), style))
        self._said.display = bool(text)

    def on_key(self, event: Key) -> None:
        """`d`, and `d` again, deletes the marked filter."""
        place = self._list.highlighted
        if event.character != "d" or not self._list.has_focus or place is None:
            self._asked = "" if self._list.has_focus else self._asked
            return
        event.stop()
        name = self._kept[place].name
        if self._asked != name:
            self._asked = name
            self._say(f"d again deletes {name!r}", "yellow")
            return
        self._asked = ""
        try:
            saved.forget(self._path, name)
        except SavedFiltersLost as error:
            self._say(str(error), "red")
            return
        self._fill(place)

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        event.stop()
        name = " ".join(event.value.split())
        if not name or self._present is None:
            return
        if self._asked != name and any(kept.name == name for kept in self._kept):
            self._asked = name
            self._say(f"there is one of this name: enter again replaces {name!r}", "yellow")
            return
        self._asked = ""
        present = self._present
        try:
            saved.keep(self._path, SavedFilter(name, present.view, present.filter, present.sort))
        except SavedFiltersLost as error:
            self._say(str(error), "red")
            return
        self.app.notify(f"kept: {fmt.printable(name)}", markup=False, timeout=3)
        self.dismiss(None)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._kept[int(event.option_id or 0)])


def _words(start: Start) -> str:
    sort = f"sort {start.sort}" if start.sort else ""
    return " ".join(part for part in (f"{start.view}:", start.filter, sort) if part)


def _line(kept: SavedFilter) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(fmt.printable(kept.name), "bold")
    text.append(f"  {fmt.printable(_words(kept.start))}", "bright_black")
    return text
