"""Extend a claim: how many seconds more. It harms nobody, so it asks no further question."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.widgets import Button, Input, Static

from dura_tui import format as fmt
from dura_tui.orders import DEFAULT_EXTENSION_SECS, Order, Target, order_for
from dura_tui.screens.dialog import Buttons, Dialog
from dura_tui.widgets.cells import cell, to_text
from dura_tui.widgets.entry import Entry

_MOST_SECS = 7 * 24 * 3600


class ExtendDialog(Dialog[Order]):
    """Returns the order to extend."""

    HEADING: ClassVar[str] = "Extend the claim"

    def __init__(self, target: Target) -> None:
        """Keep what was seen."""
        super().__init__()
        self._target = target
        self._line = Entry(str(DEFAULT_EXTENSION_SECS), id="seconds", compact=True)
        self._error = Static()
        self._buttons = Buttons("Extend")

    def body(self) -> ComposeResult:
        """One input."""
        yield Static(to_text(cell(self._target.title, "bold")))
        yield Static("Seconds more", classes="label")
        yield self._line
        yield self._error
        yield self._buttons

    def on_mount(self) -> None:
        """Enter takes the default."""
        self._line.focus()

    def _seconds(self) -> float | None:
        try:
            seconds = float(self._line.value)
        except ValueError:
            return None
        return seconds if 0 < seconds <= _MOST_SECS else None

    @on(Input.Changed)
    def _typed(self) -> None:
        wrong = self._seconds() is None
        text = f"✗ a number of seconds above 0, at most {fmt.number(_MOST_SECS)} (a week)" if wrong else ""
        self._error.update(to_text(cell(text, "red")))
        self._buttons.yes.disabled = wrong

    @on(Input.Submitted)
    @on(Button.Pressed, "#yes")
    def _extend(self) -> None:
        seconds = self._seconds()
        if seconds is not None:
            self.dismiss(order_for("extend", self._target, more_secs=seconds))

    @on(Button.Pressed, "#no")
    def _pressed_no(self) -> None:
        self.action_leave()
