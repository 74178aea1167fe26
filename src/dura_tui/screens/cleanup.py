"""Clean up: for how long ended tasks are kept, what would go, counted first, and are you sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Final, cast

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Button, Input, Static

from dura.durations import parse_duration
from dura.records import Removable, Snapshot, Want
from dura_tui import format as fmt
from dura_tui.bulk import BulkOrder
from dura_tui.orders import Order, order_for
from dura_tui.screens.confirm import Buttons, CommandLine, reason_entry
from dura_tui.screens.dialog import Dialog
from dura_tui.screens.many import NUMBER_KEYS, not_theirs, number_in
from dura_tui.widgets.cells import Cell, cell, to_text
from dura_tui.widgets.entry import Entry

if TYPE_CHECKING:
    from dura_tui.app import DuraApp

_DEFAULT: Final = "30d"


class CleanupDialog(Dialog[BulkOrder]):
    """Returns the order to clean up, once the number of tasks that would go was typed."""

    HEADING: ClassVar[str] = "Clean up"
    AUTO_FOCUS: ClassVar[str | None] = ""

    def __init__(self) -> None:
        """Begin with the default retention."""
        super().__init__()
        self._before: datetime | None = None
        """What ended before this moment goes: what is counted is what is removed."""
        self._told: Removable | None = None
        self._wrong = ""
        self._refused = ""
        """The number that was entered and is not that of the tasks."""
        self._age = Entry(_DEFAULT, id="age", compact=True)
        self._said = Static(id="removable")
        self._count = Entry(
            placeholder="the number of tasks that go", id="count", compact=True, select_on_focus=False
        )
        self._reason = reason_entry()
        self._command = CommandLine(classes="command")
        self._buttons = Buttons("Clean up", NUMBER_KEYS)

    def body(self) -> ComposeResult:
        """For how long, what would go, its number, a reason."""
        yield Static("Remove tasks that ended longer ago than", classes="label")
        yield self._age
        yield self._said
        yield self._count
        yield self._reason
        yield self._command
        yield self._buttons

    def on_mount(self) -> None:
        """Back is what a stray Enter presses."""
        self._buttons.no.focus(scroll_visible=False)
        self._set_age()

    def wants(self, want: Want) -> Want:
        """What would go."""
        return replace(want, removable=self._before)

    def show(self, snapshot: Snapshot, now: datetime) -> None:  # noqa: ARG002
        """Say what would go."""
        if snapshot.removable is not None and snapshot.removable.before == self._before:
            self._told = snapshot.removable
            self._redraw()

    def orders(self, most: int | None = None) -> Sequence[Order]:  # noqa: ARG002
        """The cleanup up to the moment that was counted."""
        if self._before is None:
            return ()
        reason = self._reason.value.strip() or None
        return (order_for("cleanup", None, before=self._before, reason=reason),)

    # --- drawing -----------------------------------------------------------------------------------------------------

    @on(Input.Changed, "#age")
    def _set_age(self) -> None:
        before, self._wrong = None, ""
        try:
            age = timedelta(seconds=parse_duration(self._age.value.strip(), bare_seconds=False))
            before = cast("DuraApp", self.app).now() - age
        except (ValueError, OverflowError) as error:
            self._wrong = fmt.printable(str(error))
        self._before, self._told = before, None
        self._redraw()
        self.post_message(Dialog.WantChanged())

    @on(Input.Changed, "#count")
    @on(Input.Changed, "#reason")
    def _redraw(self) -> None:
        typed = number_in(self._count.value)
        if typed != self._refused:
            self._refused = ""
        self._said.update(Text("\n").join(to_text(line) for line in self._said_lines()))
        told = self._told
        self._buttons.yes.disabled = (
            told is None or not (told.tasks or told.events) or typed != str(told.tasks)
        )
        self._command.show_orders(self)

    def _said_lines(self) -> list[Cell]:
        told = self._told
        if self._before is None:
            return [cell(f"✗ {self._wrong}", "red")]
        if told is None:
            return [cell("Counting what would go …", "bright_black")]
        if not (told.tasks or told.events):
            return [cell(f"Nothing to remove: nothing ended before {told.before:%Y-%m-%d %H:%M:%S} UTC.", "")]
        more = " or more" if told.capped else ""
        number = fmt.number(told.tasks)
        return [
            (
                (f"{fmt.plural(told.tasks, 'task')}{more}", "bold yellow"),
                (f" that ended before {told.before:%Y-%m-%d %H:%M:%S} UTC would go:", ""),
            ),
            cell(
                f"{fmt.number(told.completed)} completed, {fmt.number(told.failed)} failed, "
                f"{fmt.number(told.cancelled)} cancelled; and {fmt.plural(told.events, 'event')} that nobody needs",
                "red" if told.failed else "",
            ),
            cell(f"State is never touched. It cannot be undone. Type {number} to remove them.", ""),
            *([not_theirs(self._refused, told.tasks)] if self._refused else []),
        ]

    # --- the operator ------------------------------------------------------------------------------------------------

    def on_key(self, event: Key) -> None:
        """Digits go to the number, wherever the focus is but in a line."""
        if event.character and event.character.isdigit() and not isinstance(self.focused, Input):
            event.stop()
            self._count.focus()
            self._count.insert_text_at_cursor(event.character)

    @on(Input.Submitted)
    def _entered(self) -> None:
        typed, told = number_in(self._count.value), self._told
        if told is not None and (told.tasks or told.events) and typed not in ("", str(told.tasks)):
            self._refused = typed
            self._redraw()
            self._count.focus()
        else:
            (self._buttons.no if self._buttons.yes.disabled else self._buttons.yes).focus()

    @on(Button.Pressed, "#yes")
    def _done(self) -> None:
        if self._told is not None and not self._buttons.yes.disabled:
            self.dismiss(BulkOrder("cleanup", tuple(self.orders()), self._told.tasks))
