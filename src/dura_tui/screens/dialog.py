"""What dialogs share: a box over the view, which may want more to be read, and knows the command that does the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Mount
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button

from dura.records import Snapshot, Want
from dura_tui.messages import CopyAsked
from dura_tui.orders import Order

if TYPE_CHECKING:
    from dura_tui.app import DuraApp

Result = TypeVar("Result")


class Dialog(ModalScreen[Result]):
    """A box over the view. It may ask for more to be read while it is open, and sees every snapshot."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "cancel", show=False),
        Binding("ctrl+o", "copy_command", "copy the command", show=False),
    ]

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

    @property
    def alone(self) -> bool:
        """Whether what it wants replaces what the view below wants, so that the view must not show it."""
        return False

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Take a snapshot that answers `wants`."""

    def orders(self, most: int | None = None) -> Sequence[Order]:  # noqa: ARG002
        """What would be done if it were confirmed now, the first `most`; nothing while something is missing."""
        return ()

    @property
    def count(self) -> int:
        """How many orders there would be."""
        return 1

    def command(self) -> str | None:
        """The `dura` commands that do the same, a line each."""
        orders = self.orders()
        return cast("DuraApp", self.app).operator.command(orders) if orders else None

    def action_copy_command(self) -> None:
        """Copy the commands."""
        if text := self.command():
            self.app.post_message(CopyAsked(text, "the command"))

    def _on_mount(self, event: Mount) -> None:
        super()._on_mount(event)
        self.post_message(self.WantChanged())

    def action_leave(self) -> None:
        """Close without doing anything."""
        self.dismiss(None)

    @on(Button.Pressed, "#no")
    def _pressed_no(self) -> None:
        self.action_leave()
