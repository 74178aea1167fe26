"""Edit a key of the memory: its value in full, checked as JSON while it is typed, compared when it is set."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Button, Static, TextArea

from dura.records import Snapshot, StateRow, Want
from dura_tui import format as fmt
from dura_tui.orders import Target, order_for
from dura_tui.payload import parse_payload
from dura_tui.screens.confirm import Buttons, OrderDialog, Question
from dura_tui.widgets.cells import Cell, cell, to_text
from dura_tui.widgets.editor import JsonEditor, laid_out

_MOST_CHARACTERS: Final = 200_000
"""Longer values are no matter for a terminal."""

_SHOWN: Final = 300


class EditDialog(OrderDialog):
    """Returns the order to set the key, once it was confirmed."""

    HEADING: ClassVar[str] = "Edit a value"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "ask", show=False)]

    def __init__(self, target: Target) -> None:
        """Read the value in full."""
        super().__init__()
        self._target = target
        self._row: StateRow | None = None
        """What is being edited, as it was read."""
        self._read = False
        self._present: StateRow | None = None
        self._now: datetime | None = None
        self._editor = JsonEditor(id="value")
        self._said, self._error = Static(id="said"), Static(id="error")
        self._buttons = Buttons("Set …", "tab moves · ^s goes on · esc leaves")

    def body(self) -> ComposeResult:
        """The key, what is known about it, the editor."""
        yield Static(to_text(cell(self._target.title, "bold")), classes="fact")
        yield self._said
        yield self._editor
        yield self._error
        yield self._buttons

    def on_mount(self) -> None:
        """Nothing can be typed before there is something to edit."""
        self._editor.read_only = True
        self._editor.focus(scroll_visible=False)
        self._redraw()

    def wants(self, want: Want) -> Want:
        """The value, and whether it stays what it was."""
        return replace(want, entry=(self._target.namespace or "", self._target.key or ""))

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Take the value once; later ones tell whether somebody else wrote it."""
        self._now, self._present = now, snapshot.entry
        if not self._read:
            self._read = True
            if self._present is not None and len(self._present.value) <= _MOST_CHARACTERS:
                self._row = self._present
                self._editor.read_only = False
                self._editor.put(laid_out(self._present.value))
        self._redraw()

    # --- what is known -----------------------------------------------------------------------------------------------

    def _value(self) -> tuple[Any, str]:
        try:
            if not self._editor.text.strip():
                return None, "a value is missing; null is one"
            return parse_payload(self._editor.text), ""
        except ValueError as error:
            return None, fmt.printable(str(error))

    def _said_line(self) -> Cell:
        if not self._read:
            return cell("Reading it …", "bright_black")
        if self._row is None and self._present is not None:
            large = fmt.size(len(self._present.value.encode(errors="replace")))
            return cell(
                f"{large} are too much to edit here: use `dura set-state … --value-file FILE`.", "yellow"
            )
        if self._present is None:
            return cell("! The key is there no more: setting it will be refused.", "bold yellow")
        if self._row is not None and self._present.updated_at != self._row.updated_at:
            what = fmt.json_line(self._present.value, 60)
            return cell(
                f"! Written again meanwhile, it is {what}: setting it will be refused.", "bold yellow"
            )
        return cell(
            f"Written {fmt.ago(self._present.updated_at, self._now)} ago. Its value, as JSON:"
            if self._now
            else ""
        )

    def _redraw(self) -> None:
        _, error = self._value() if self._row is not None else (None, "")
        self._said.update(to_text(self._said_line()))
        self._error.update(to_text(cell(error and f"✗ {error}", "red")))
        self._error.display = bool(error)
        self._buttons.yes.disabled = self._row is None or bool(error)

    @on(TextArea.Changed)
    def _edited(self) -> None:
        self._redraw()

    # --- the operator ------------------------------------------------------------------------------------------------

    def action_ask(self) -> None:
        """Ask for the confirmation."""
        self._ask()

    @on(Button.Pressed, "#yes")
    def _ask(self) -> None:
        value, error = self._value()
        if self._row is None or error:
            return
        target = replace(self._target, written_at=self._row.updated_at)
        lines: list[Cell] = [
            cell(target.title, "bold"),
            (("was ", "bright_black"), (fmt.json_line(self._row.value, _SHOWN), "")),
            (("now ", "bright_black"), (fmt.json_line(self._editor.text, _SHOWN), "yellow")),
        ]
        order = order_for("set", target, value=value)
        self.confirm(Question("Set this value?", "Set", lines), order)
