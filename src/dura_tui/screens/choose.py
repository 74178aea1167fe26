"""All views in a list, for whoever does not know their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from dura_tui.key_names import displayed
from dura_tui.keys import VIEW_KEYS
from dura_tui.screens.dialog import Dialog
from dura_tui.widgets.bars import Tab

_WITH_HELP = 78
"""From which width of the terminal on there is room for what each view is about."""


class ViewDialog(Dialog[str]):
    """Returns the name of the view that was chosen, by its key or with Enter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "step(1)", show=False, id="down"),
        Binding("k", "step(-1)", show=False, id="up"),
    ]

    HEADING: ClassVar[str] = "Views"

    def __init__(self, tabs: Sequence[Tab], shown: str) -> None:
        """Offer these; the one that is shown is highlighted."""
        super().__init__()
        self._tabs = tabs
        self._shown = shown
        self._list = OptionList(id="views", compact=True, markup=False)

    def body(self) -> ComposeResult:
        """The list."""
        yield self._list
        yield Static("a view's key or enter goes there · esc leaves", classes="foot")

    def on_mount(self) -> None:
        """Fill in."""
        for tab, view in zip(self._tabs, VIEW_KEYS, strict=True):
            text = Text(no_wrap=True, overflow="ellipsis")
            text.append(f"{tab.key}  ", "bold blue")
            text.append(tab.label.ljust(10), "bold")
            text.append(tab.count.rjust(5) + "  ", "bright_black")
            if self.app.size.width >= _WITH_HELP:
                text.append(view.help, "bright_black")
            self._list.add_option(Option(text, id=tab.name))
        self._list.highlighted = next(
            (place for place, tab in enumerate(self._tabs) if tab.name == self._shown), 0
        )
        self._list.focus()

    def action_step(self, by: int) -> None:
        """Down the list, or up."""
        self._list.action_cursor_down() if by > 0 else self._list.action_cursor_up()

    def on_key(self, event: Key) -> None:
        """A view's own key chooses it here too."""
        for tab in self._tabs:
            if tab.key in (event.character, displayed(event.key)):
                event.stop()
                self.dismiss(tab.name)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id)
