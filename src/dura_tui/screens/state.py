"""State: the key-value memory by namespace, each value in full."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import DataTable

from dura.records import NamespaceRow, StateRow, Want
from dura_tui import format as fmt
from dura_tui.screens.view import Hint, View
from dura_tui.widgets.cells import cell
from dura_tui.widgets.live_table import Column, LiveTable, Row
from dura_tui.widgets.text_view import TextView, json_view

_OWN: Final = "dura."
"""Namespaces of the engine itself; they come last."""
_AUDIT: Final = "dura.audit"
_AUDIT_ROWS: Final = 500


class StateView(View):
    """Namespaces on the left, the keys of the one under the cursor beside them, the value on a wide screen."""

    ABOUT: ClassVar[tuple[str, ...]] = (
        "The key-value memory. Namespaces that begin with dura. are the engine's own and come last.",
        "enter  from a namespace to its keys, from a key to its value",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with the first namespace."""
        super().__init__(id=id)
        self._namespace: str | None = None
        self.namespaces = LiveTable[NamespaceRow](
            (Column("NAMESPACE"), Column("KEYS", 5, right=True)),
            empty="Nothing remembered.",
            id="state-namespaces",
        )
        self.keys = LiveTable[StateRow](
            (
                Column("KEY", 18),
                Column("VALUE"),
                Column("SIZE", 7, at=50, right=True),
                Column("AGE", 7, at=40, right=True),
            ),
            empty="No keys.",
            id="state-keys",
        )
        self._value = TextView(id="preview")

    def compose(self) -> ComposeResult:
        """Two tables and the value."""
        with Horizontal():
            yield self.namespaces
            yield self.keys
            yield self._value

    def want(self) -> Want:
        """Namespaces, and the keys of the chosen one."""
        if self._namespace == _AUDIT:
            return Want(namespaces=True, audit=_AUDIT_ROWS)
        return Want(namespaces=True, namespace=self._namespace)

    def enter(self) -> None:
        """The keys go to the namespaces."""
        self.namespaces.focus()

    def draw(self, now: datetime) -> None:
        """Draw both tables; choose the first namespace if none is chosen."""
        if self.snapshot is None:
            return
        namespaces = sorted(
            self.snapshot.namespaces, key=lambda row: (row.namespace.startswith(_OWN), row.namespace)
        )
        self.namespaces.show_rows([_namespace_row(row) for row in namespaces], now)
        if self._namespace is None and namespaces:
            self._choose(namespaces[0].namespace)
        entries = self.snapshot.audit if self._namespace == _AUDIT else self.snapshot.state
        rows = [_key_row(row, now) for row in entries if row.namespace == self._namespace]
        self.keys.show_rows(rows, now)
        self._preview()

    def _choose(self, namespace: str) -> None:
        if namespace != self._namespace:
            self._namespace = namespace
            self.keys.reset()
            self.post_message(View.WantChanged())

    def _preview(self) -> None:
        row = self.keys.record
        self._value.show_lines(json_view(row.value) if row else [])

    def hints(self) -> list[Hint]:
        """Moving between the two tables, and the value."""
        if self.namespaces.has_focus:
            return [("enter", "keys", "screen.open")]
        return [("enter", "value", "screen.open"), ("tab", "namespaces", "screen.focus_next")]

    def describe(self) -> str:
        """The key under the cursor in full."""
        row = self.keys.record
        if self.namespaces.has_focus or row is None:
            chosen = self.namespaces.record
            more = " or more" if chosen and chosen.capped else ""
            return (
                fmt.printable(f"{chosen.namespace}: {fmt.plural(chosen.keys, 'key')}{more}") if chosen else ""
            )
        return fmt.printable(f"{row.namespace} / {row.key}  {row.updated_at:%Y-%m-%d %H:%M:%S} UTC")

    def open(self) -> None:
        """From a namespace to its keys, from a key to its value."""
        if self.namespaces.has_focus:
            self.keys.focus()
            return
        row = self.keys.record
        if row is not None:
            title = fmt.printable(f"{row.namespace} / {row.key}")
            self.post_message(View.ReadValue(title, json_view(row.value), row.value))

    def back(self) -> bool:
        """From the keys to the namespaces; whether that was possible."""
        if self.namespaces.has_focus:
            return False
        self.namespaces.focus()
        return True

    @on(DataTable.RowSelected)
    def _open_row(self, event: DataTable.RowSelected) -> None:
        event.stop()
        self.open()

    @on(DataTable.RowHighlighted, "#state-namespaces")
    def _namespace_changed(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        if chosen := self.namespaces.record:
            self._choose(chosen.namespace)
        self.post_message(View.CursorMoved())

    @on(DataTable.RowHighlighted, "#state-keys")
    def _key_changed(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self._preview()
        self.post_message(View.CursorMoved())


def _namespace_row(row: NamespaceRow) -> Row[NamespaceRow]:
    own = row.namespace.startswith(_OWN)
    keys = f"{fmt.compact(row.keys)}{'+' if row.capped else ''}"
    return Row(
        row.namespace, (cell(fmt.printable(row.namespace), "bright_black" if own else ""), cell(keys)), row
    )


def _key_row(row: StateRow, now: datetime) -> Row[StateRow]:
    return Row(
        row.key,
        (
            cell(fmt.printable(row.key), "bold"),
            cell(fmt.audit(row.value) if row.namespace == _AUDIT else fmt.json_line(row.value)),
            cell(fmt.stored_size(row.value), "bright_black"),
            cell(fmt.ago(row.updated_at, now), "bright_black"),
        ),
        row,
    )
