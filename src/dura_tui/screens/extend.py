"""Extend a lease: how many seconds more. It harms nobody, so it asks no further question."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual import on
from textual.app import ComposeResult
from textual.widgets import Button, Input, Static

from dura_tui import format as fmt
from dura_tui.orders import Order, Target, order_for
from dura_tui.screens.confirm import Buttons, CommandLine, reason_entry
from dura_tui.screens.dialog import Dialog
from dura_tui.widgets.cells import cell, to_text
from dura_tui.widgets.entry import Entry

if TYPE_CHECKING:
    from dura_tui.app import DuraApp

DEFAULT_SECS: Final = 120
"""How much longer an extended lease lasts."""

_MOST_SECS: Final = 7 * 24 * 3600

WRONG: Final = f"✗ a number of seconds above 0, at most {fmt.number(_MOST_SECS)} (a week)"


def seconds_in(text: str) -> float | None:
    """The number of seconds that was typed; None if it is none, or no sensible one."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 < seconds <= _MOST_SECS else None


def extended(target: Target, seconds: float, now: datetime) -> datetime:
    """When a lease then expires: an operator who sees 90 s left and adds 60 means 150."""
    return max(target.expires_at or now, now) + timedelta(seconds=seconds)


class ExtendDialog(Dialog[Order]):
    """Returns the order to extend."""

    HEADING: ClassVar[str] = "Extend the lease"
    AUTO_FOCUS: ClassVar[str | None] = ""

    def __init__(self, target: Target) -> None:
        """Keep what was seen."""
        super().__init__()
        self._target = target
        self._line = Entry(str(DEFAULT_SECS), id="seconds", compact=True)
        self._error = Static()
        self._reason = reason_entry()
        self._command = CommandLine(classes="command")
        self._buttons = Buttons("Extend")

    def body(self) -> ComposeResult:
        """One input."""
        yield Static(to_text(cell(self._target.title, "bold")))
        yield Static("Seconds more", classes="label")
        yield self._line
        yield self._error
        yield self._reason
        yield self._command
        yield self._buttons

    def on_mount(self) -> None:
        """Enter takes the default."""
        self._line.focus(scroll_visible=False)
        self._redraw()

    def orders(self, most: int | None = None) -> Sequence[Order]:  # noqa: ARG002
        """The extension, to the moment that the seconds come to now."""
        seconds = seconds_in(self._line.value)
        if seconds is None:
            return ()
        until = extended(self._target, seconds, cast("DuraApp", self.app).now())
        return (order_for("extend", self._target, until=until, reason=self._reason.value.strip() or None),)

    @on(Input.Changed)
    def _redraw(self) -> None:
        wrong = seconds_in(self._line.value) is None
        self._error.update(to_text(cell(WRONG if wrong else "", "red")))
        self._error.display = wrong
        self._buttons.yes.disabled = wrong
        self._command.show_orders(self)

    @on(Input.Submitted)
    @on(Button.Pressed, "#yes")
    def _extend(self) -> None:
        for order in self.orders():
            self.dismiss(order)
