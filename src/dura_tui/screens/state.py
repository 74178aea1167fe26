"""State: the key-value memory, namespaces as a tree, each value in full, what changes marked."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import DataTable, Input

from dura.filters import parse, texts, to_line
from dura.records import Condition, StateRow, Want
from dura_tui import format as fmt
from dura_tui.branches import Branch, branches
from dura_tui.changes import Change, Watched
from dura_tui.completion import complete
from dura_tui.filter import FILTERED
from dura_tui.guards import RESERVED
from dura_tui.orders import Selection, Target
from dura_tui.screens.marked import listed
from dura_tui.screens.view import Hint, View
from dura_tui.widgets.cells import cell
from dura_tui.widgets.filter_line import FilterBox, FilterLine
from dura_tui.widgets.live_table import Column, LiveTable, Row
from dura_tui.widgets.text_view import TextView, json_view

_AUDIT: Final = "dura.audit"
_AUDIT_ROWS: Final = 500
_MOST_KEYS: Final = 1_000
"""Keys that are deleted at once: each is read with its value."""

_BEFORE_CELLS: Final = 60


class StateView(View):
    """Namespaces on the left, the keys of the one under the cursor beside them, the value on a wide screen."""

    ABOUT: ClassVar[tuple[str, ...]] = (
        "The key-value memory. Namespaces that begin with dura. are the engine's own and come last.",
        "enter  from a namespace to its keys, from a key to its value; folds a branch of namespaces, and unfolds it",
        "{filter}  shows the keys with a part of a name; in dura.audit it does nothing: the view Audit is for that",
        "Δ marks a value that has changed within the last 30 seconds while it was shown; the status line says what it was.",
    )
    NOUN: ClassVar[str] = "key"
    ACTS: ClassVar[tuple[str, ...]] = ("delete",)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with the first namespace."""
        super().__init__(id=id)
        self._namespace: str | None = None
        self._folded: set[str] = set()
        self._watched = Watched()
        self._drawn_at: datetime | None = None
        self._part: str | None = None
        self._box = FilterBox(
            lambda line, cursor: complete(line, cursor, (), {}), placeholder=FILTERED["state"].placeholder
        )
        self.namespaces = LiveTable[Branch](
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
        """Two tables and the value, and the filter line."""
        with Horizontal():
            yield self.namespaces
            yield self.keys
            yield self._value
        yield self._box

    def want(self) -> Want:
        """Namespaces, and the keys of the chosen one."""
        if self._namespace == _AUDIT:
            return Want(namespaces=True, audit=_AUDIT_ROWS)
        return Want(namespaces=True, namespace=self._namespace, state_like=self._part)

    def enter(self) -> None:
        """The keys go to the namespaces."""
        self.namespaces.focus()

    def draw(self, now: datetime) -> None:
        """Draw both tables; choose the first namespace if none is chosen."""
        if self.snapshot is None:
            return
        self._drawn_at = now
        tree = branches(self.snapshot.namespaces, self._folded)
        self.namespaces.show_rows([_branch_row(branch) for branch in tree], now)
        first = next((branch.path for branch in tree if branch.row), None)
        if self._namespace is None and first is not None:
            self._choose(first)
        entries = self.snapshot.audit if self._namespace == _AUDIT else self.snapshot.state
        shown = [row for row in entries if row.namespace == self._namespace]
        if shown or self.snapshot.namespaces:
            self._watched.look(shown, now)
        self.keys.show_rows([_key_row(row, self._watched.change(row, now), now) for row in shown], now)
        self._preview()

    def _choose(self, namespace: str) -> None:
        if namespace != self._namespace:
            self._namespace = namespace
            self.keys.reset()
            self.post_message(View.WantChanged())

    def _preview(self) -> None:
        row = self.keys.record
        self._value.show_lines(json_view(row.value) if row else [])

    def target(self) -> Target | None:
        """The key under the cursor, once its table has the focus; before that, the namespace."""
        row = self.keys.record
        if not self.keys.has_focus:
            return Target(namespace=self._namespace) if row is not None else None
        return key_target(row) if row is not None else None

    def marking(self) -> LiveTable[StateRow] | None:
        """The keys, while their table has the focus, unless they are the engine's own."""
        own = self._namespace is not None and self._namespace.startswith(RESERVED)
        return self.keys if self.keys.has_focus and not own else None

    def target_of(self, record: StateRow) -> Target:
        """The key."""
        return key_target(record)

    def matching(self) -> Selection | None:
        """All keys of the namespace that match."""
        with_part = f" with {self._part!r}" if self._part else ""
        title = fmt.printable(f"all keys of {self._namespace}{with_part}")
        return listed(title, "key", "state", key_target, most=_MOST_KEYS) if self._namespace else None

    def hints(self) -> list[Hint]:
        """Moving between the two tables, and the value."""
        if self.namespaces.has_focus:
            branch = self.namespaces.record
            if branch is not None and branch.row is None:
                return [("enter", "unfold" if branch.folded else "fold", "screen.open")]
            return [("enter", "keys", "screen.open"), ("/", "filter", "screen.filter")]
        return [
            ("enter", "value", "screen.open"),
            ("tab", "namespaces", "screen.focus_next"),
            ("/", "filter", "screen.filter"),
        ]

    def describe(self) -> str:
        """The filter, and the key under the cursor in full."""
        part = fmt.printable(f"keys with {self._part!r}   ") if self._part else ""
        return part + self._under_cursor()

    def _under_cursor(self) -> str:
        row = self.keys.record
        if self.namespaces.has_focus or row is None:
            chosen = self.namespaces.record
            more = " or more" if chosen and chosen.capped else ""
            return fmt.printable(f"{chosen.path}: {fmt.plural(chosen.keys, 'key')}{more}") if chosen else ""
        change = self._watched.change(row, self._drawn_at) if self._drawn_at else None
        if change is not None:
            before = fmt.clip(fmt.json_line(change.before), _BEFORE_CELLS)
            return fmt.printable(f"{row.key}  Δ was ") + before
        return fmt.printable(f"{row.namespace} / {row.key}  {row.updated_at:%Y-%m-%d %H:%M:%S} UTC")

    def open(self) -> None:
        """From a namespace to its keys, from a key to its value."""
        if self.namespaces.has_focus:
            branch = self.namespaces.record
            if branch is not None and branch.row is None:
                self._folded ^= {branch.path}
                self.draw_again()
            else:
                self.keys.focus()
            return
        row = self.keys.record
        if row is not None:
            title = fmt.printable(f"{row.namespace} / {row.key}")
            self.post_message(View.ReadValue(title, json_view(row.value), row.value))

    @property
    def filter_now(self) -> str:
        """The part of a key that is looked for, as a line."""
        return to_line([Condition(field="text", values=(self._part,))], ()) if self._part else ""

    def set_filter(self, line: str) -> None:
        """Show keys with a part of a name.

        Raises:
            InvalidFilter: The line cannot be read.
        """
        part = next(iter(texts(parse(line, ()))), None)
        if part != self._part:
            self._part = part
            self.snapshot = None
            self.keys.empty = "No key has that in its name." if part else "No keys."
            self.keys.reset()
            self.post_message(View.WantChanged())

    def edit_filter(self) -> bool:
        """Open the filter line."""
        self._box.edit(self.filter_now)
        return True

    @on(FilterLine.Left)
    def _leave_filter(self) -> None:
        (self.keys if self._part else self.namespaces).focus()
        self.draw_again()

    @on(Input.Submitted)
    def _apply_filter(self, event: Input.Submitted) -> None:
        event.stop()
        self._box.submit(event.value, self.set_filter)

    def back(self) -> bool:
        """Out of the filter, from the keys to the namespaces; whether that was possible."""
        if self._part:
            self.set_filter("")
            return True
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
        chosen = self.namespaces.record
        if chosen is not None and chosen.row is not None:
            self._choose(chosen.path)
        self.post_message(View.CursorMoved())

    @on(DataTable.RowHighlighted, "#state-keys")
    def _key_changed(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self._preview()
        self.post_message(View.CursorMoved())


def key_target(row: StateRow) -> Target:
    """The target that a key of the memory is."""
    return Target(
        namespace=row.namespace, key=row.key, written_at=row.updated_at, value=fmt.json_line(row.value)
    )


def _branch_row(branch: Branch) -> Row[Branch]:
    sign = "" if branch.row else "▸ " if branch.folded else "▾ "
    style = "bright_black" if branch.own else "" if branch.row else "cyan"
    keys = f"{fmt.compact(branch.keys)}{'+' if branch.capped else ''}"
    label = "  " * branch.depth + sign + fmt.printable(branch.label)
    return Row(
        f"{'namespace' if branch.row else 'branch'}\0{branch.path}",
        (cell(label, style), cell(keys, "" if branch.row else "bright_black")),
        branch,
    )


def _key_row(row: StateRow, change: Change | None, now: datetime) -> Row[StateRow]:
    value = fmt.audit(row.value) if row.namespace == _AUDIT else fmt.json_line(row.value)
    return Row(
        row.key,
        (
            cell(fmt.printable(row.key), "bold"),
            (("Δ ", "bold yellow"), (value, "yellow")) if change else cell(value),
            cell(fmt.stored_size(row.value), "bright_black"),
            cell(fmt.ago(row.updated_at, now), "bright_black"),
        ),
        row,
    )
