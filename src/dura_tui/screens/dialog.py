"""What dialogs share, and the one that asks before something dangerous, with Cancel focused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Mount
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from dura.records import Snapshot, Want
from dura_tui.orders import Order
from dura_tui.widgets.cells import Cell, to_text
from dura_tui.widgets.entry import Entry

Result = TypeVar("Result")


class Dialog(ModalScreen[Result]):
    """A box over the view. It may ask for more to be read while it is open, and sees every snapshot."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "cancel", show=False)]

    HEADING: ClassVar[str] = ""
    """The words in the box's upper edge."""

    class WantChanged(Message):
        """The dialog needs something else from the store."""

    def compose(self) -> ComposeResult:
        """A titled box around `body`."""
        with Vertical(classes="box") as box:
            box.border_title = self.box_title()
            yield from self.body()

    def box_title(self) -> Text:
        """What stands there; the heading by default."""
        return Text(self.HEADING)

    def body(self) -> ComposeResult:
        """What is in the box."""
        yield from ()

    def wants(self, want: Want) -> Want:
        """What must be read while this dialog is open, beside what the view below wants."""
        return want

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Take a snapshot that answers `wants`."""

    def _on_mount(self, event: Mount) -> None:
        super()._on_mount(event)
        self.post_message(self.WantChanged())

    def action_leave(self) -> None:
        """Close without doing anything."""
        self.dismiss(None)


class Buttons(Horizontal):
    """Cancel, then what the dialog does."""

    def __init__(self, verb: str) -> None:
        """Name what the dialog does."""
        super().__init__(classes="buttons")
        self.no = Button("Cancel", id="no", compact=True)
        self.yes = Button(verb, id="yes", compact=True)

    def compose(self) -> ComposeResult:
        """Side by side."""
        yield self.no
        yield self.yes


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked before something dangerous is done."""

    title: str
    verb: str
    """The word on the button, for example `Cancel the task`."""
    lines: Sequence[Cell]
    """What will happen, to what."""


class ConfirmDialog(Dialog[Order]):
    """Asks; returns the order, with the reason that was typed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", show=False),
        Binding("n", "leave", show=False),
        Binding("left,right,h,l", "other_button", show=False),
    ]

    def __init__(self, question: Question, order: Order) -> None:
        """Ask this question about this order."""
        super().__init__()
        self.question = question
        self.order = order
        self._reason = Entry(
            placeholder="reason, kept with the audit entry (optional)", id="reason", compact=True
        )
        self._buttons = Buttons(question.verb)

    def box_title(self) -> Text:
        """The question in short."""
        return Text(self.question.title)

    def body(self) -> ComposeResult:
        """What will happen, the reason for the audit entry, and the buttons."""
        for line in self.question.lines:
            yield Static(to_text(line), classes="fact")
        yield self._reason
        yield self._buttons
        yield Static("y does it · n or esc leaves · tab moves", classes="foot")

    def on_mount(self) -> None:
        """Cancel is what a stray Enter presses."""
        self._buttons.no.focus()

    def action_other_button(self) -> None:
        """Move between the two buttons."""
        other = self._buttons.yes if self._buttons.no.has_focus else self._buttons.no
        other.focus()

    def action_yes(self) -> None:
        """Do it."""
        reason = self._reason.value.strip() or self.order.reason
        self.dismiss(replace(self.order, reason=reason))

    @on(Button.Pressed, "#yes")
    def _pressed_yes(self) -> None:
        self.action_yes()

    @on(Button.Pressed, "#no")
    def _pressed_no(self) -> None:
        self.action_leave()

    @on(Input.Submitted)
    def _reason_done(self) -> None:
        self._buttons.no.focus()
