"""The dialog that asks before something dangerous, with Back focused, and what others that order something share with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from dura_tui import format as fmt
from dura_tui.orders import Order
from dura_tui.screens.dialog import Dialog, Result
from dura_tui.widgets.cells import Cell, to_text
from dura_tui.widgets.entry import Entry

if TYPE_CHECKING:
    from dura_tui.app import DuraApp


class CommandLine(Static):
    """The `dura` command that does the same as a dialog; `^o` copies it."""

    def show_orders(self, dialog: Dialog[Result]) -> None:
        """Draw what the dialog would do now; of much, the first."""
        orders = dialog.orders(1)
        line = cast("DuraApp", dialog.app).operator.command(orders) if orders else None
        text = Text(overflow="fold")
        if line is not None:
            text.append("^o copies  ", "bright_black")
            text.append(fmt.printable(line), "cyan")
            if dialog.count > 1:
                text.append(f"  … and {fmt.number(dialog.count - 1)} more", "bright_black")
        self.update(text)
        self.display = line is not None


class Buttons(Vertical):
    """Back, then what the dialog does: always in sight, however low the terminal is."""

    def __init__(self, verb: str, keys: str = "tab moves · esc leaves") -> None:
        """Make them.

        Args:
            verb: What the dialog does.
            keys: The keys that apply, for the line below.
        """
        super().__init__(classes="below")
        self.no = Button("Back", id="no", compact=True)
        self.yes = Button(verb, id="yes", compact=True)
        self._foot = Static(keys, classes="foot")

    def compose(self) -> ComposeResult:
        """Side by side, and the keys."""
        with Horizontal(classes="buttons"):
            yield self.no
            yield self.yes
        yield self._foot

    def leave_only(self) -> None:
        """Offer nothing but to leave: there is nothing to be done."""
        self.yes.display = False
        self._foot.update("esc leaves")


def reason_entry() -> Entry:
    """The line for why something is done."""
    return Entry(placeholder="reason, kept with the audit entry (optional)", id="reason", compact=True)


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

    AUTO_FOCUS: ClassVar[str | None] = ""
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
        self._reason = reason_entry()
        self._buttons = Buttons(question.verb, "y does it · n or esc leaves · tab moves")
        self._command = CommandLine(classes="command")

    def box_title(self) -> Text:
        """The question in short."""
        return Text(self.question.title)

    def body(self) -> ComposeResult:
        """What will happen, the reason for the audit entry, and the buttons."""
        for line in self.question.lines:
            yield Static(to_text(line), classes="fact")
        yield self._reason
        yield self._command
        yield self._buttons

    def on_mount(self) -> None:
        """Back is what a stray Enter presses."""
        self._buttons.no.focus(scroll_visible=False)
        self._command.show_orders(self)

    def orders(self, most: int | None = None) -> Sequence[Order]:  # noqa: ARG002
        """The order, with the reason that is typed."""
        return (replace(self.order, reason=self._reason.value.strip() or self.order.reason),)

    @on(Input.Changed)
    def _typed(self) -> None:
        self._command.show_orders(self)

    def action_other_button(self) -> None:
        """Move between the two buttons."""
        other = self._buttons.yes if self._buttons.no.has_focus else self._buttons.no
        other.focus(scroll_visible=False)

    def action_yes(self) -> None:
        """Do it."""
        self.dismiss(self.orders()[0])

    @on(Button.Pressed, "#yes")
    def _pressed_yes(self) -> None:
        self.action_yes()

    @on(Input.Submitted)
    def _reason_done(self) -> None:
        self._buttons.no.focus(scroll_visible=False)


class OrderDialog(Dialog[Order]):
    """A dialog whose order is asked about before it is given."""

    def confirm(self, question: Question, order: Order) -> None:
        """Ask; if the answer is yes, this dialog closes with the order."""

        def answered(confirmed: Order | None) -> None:
            if confirmed is not None:
                self.dismiss(confirmed)

        self.app.push_screen(ConfirmDialog(question, order), answered)
