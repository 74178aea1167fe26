"""The line in which a filter is typed, hidden until it is asked for."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from dura_tui.widgets.entry import Entry


class FilterLine(Entry):
    """An input that Escape leaves; Enter submits it as any input."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "leave the filter")]

    class Left(Message):
        """The filter is to stay as it was."""

    def on_mount(self) -> None:
        """Wait to be asked for; what is in force is then edited, not typed over."""
        self.select_on_focus = False
        self.display = False

    def edit(self, text: str) -> None:
        """Show the line with the filter that is in force."""
        self.value = text
        self.display = True
        self.cursor_position = len(text)
        self.focus()

    def action_leave(self) -> None:
        """Hide, and say so."""
        self.display = False
        self.post_message(self.Left())
