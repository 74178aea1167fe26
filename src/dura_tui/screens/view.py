"""What every view is: it says what it wants read, shows a snapshot, redraws as time passes, and names its target."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import DataTable

from dura.records import Lease, Sleeper, Snapshot, TaskQuery, TaskRow, Want
from dura_tui.orders import Selection, Target
from dura_tui.widgets.cells import Cell
from dura_tui.widgets.live_table import Column, LiveTable

Record = TypeVar("Record")

Hint = tuple[str, str, str]
"""A key, its label, and the screen action that a click on it runs."""


class View(Vertical):
    """One of the numbered views, or the task detail."""

    ABOUT: ClassVar[tuple[str, ...]] = ()
    """What the view shows and what its keys do there, a line each, for its help page."""

    NOUN: ClassVar[str] = "row"
    """What a row is, for those who mark several."""

    ACTS: ClassVar[tuple[str, ...]] = ()
    """The actions that the key line offers here, whatever is under the cursor, and for what is marked."""

    class WantChanged(Message):
        """The view needs something else from the store."""

    class OpenTask(Message):
        """The operator wants to see a task."""

        def __init__(self, task_id: str) -> None:
            super().__init__()
            self.task_id = task_id

    class ListTasks(Message):
        """The operator wants to see the tasks behind a line."""

        def __init__(self, query: TaskQuery) -> None:
            super().__init__()
            self.query = query

    class ReadValue(Message):
        """The operator wants to read a value, an error or a traceback in full."""

        def __init__(self, title: str, lines: list[Cell], source: str) -> None:
            super().__init__()
            self.title = title
            self.lines = lines
            self.source = source
            """The text as stored, for copying."""

    class CursorMoved(Message):
        """Another row is under the cursor, so other keys apply."""

    class Redraw(Message):
        """The view has something else to show, without anything read."""

    sort_now: str = ""
    """The name of the column that the list is sorted by, with a `-` where it is turned round; empty for its own order."""

    snapshot: Snapshot | None = None
    """What the view shows."""

    @property
    def about(self) -> tuple[str, ...]:
        """What its help page begins with."""
        return self.ABOUT

    def want(self) -> Want:
        """What a snapshot must hold for this view."""
        return Want()

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Take a snapshot that answers `want`, and draw it."""
        self.snapshot = snapshot
        self.draw(now)

    def draw(self, now: datetime) -> None:
        """Draw the snapshot as of `now`; called again every second."""

    def draw_again(self) -> None:
        """Ask for `draw` with the present time."""
        self.post_message(View.Redraw())

    def target(self) -> Target | None:
        """What an action would act on."""
        return None

    def marking(self) -> LiveTable[Any] | None:
        """The table whose rows can be marked now; None where nothing could be done to several."""
        return None

    def target_of(self, record: Any) -> Target | None:  # noqa: ARG002
        """What an action would act on, of a row that shows this."""
        return None

    def matching(self) -> Selection | None:
        """All that matches the filter, shown or not; None where an action cannot be about that."""
        return None

    def describe(self) -> str:
        """What is under the cursor, with its full ids, for the status line; printable."""
        return ""

    def hints(self) -> list[Hint]:
        """The view's own keys that apply now."""
        return []

    def enter(self) -> None:
        """The view has become visible: put the focus where the keys should go."""

    def open(self) -> None:
        """Open what is under the cursor."""

    def back(self) -> bool:
        """Undo one step inside the view: a filter, a way into it; whether there was one."""
        return False

    def edit_filter(self) -> bool:
        """Open the view's filter; whether it has one."""
        return False

    @property
    def filter_now(self) -> str:
        """The filter in force as a line; empty for none."""
        return ""

    @property
    def sorts(self) -> dict[str, Column]:
        """The columns that the list can be sorted by, by name."""
        return {}

    def set_filter(self, line: str) -> None:
        """Show what matches, in a view that is filtered.

        Raises:
            InvalidFilter: The line means nothing here.
        """

    def set_sort(self, sort: str) -> None:
        """Sort by a column, in a view that is sorted.

        Args:
            sort: Its name, with a `-` before it for the other way round; empty for the list's own order.

        Raises:
            ValueError: There is no such column.
        """

    @property
    def completing(self) -> bool:
        """Whether a filter is being typed, for which known words are read."""
        return False

    def turn_page(self, step: int) -> None:
        """The next page of the list, or the one before, where it has pages."""

    def copied(self) -> str | None:
        """What `y` copies: by default the task's id, or the event's name."""
        target = self.target()
        return (target.task_id or target.event_name) if target else None

    def toggle(self) -> bool:
        """Show the same another way; whether there is one."""
        return False


class ListView(View, Generic[Record]):
    """A view that is one table of runs; Enter opens the task under the cursor."""

    def __init__(self, table: LiveTable[Record], *, id: str | None = None) -> None:  # noqa: A002
        """Begin with an empty table."""
        super().__init__(id=id)
        self.table = table

    def compose(self) -> ComposeResult:
        """The table."""
        yield self.table

    def enter(self) -> None:
        """The keys go to the table."""
        self.table.focus()

    def hints(self) -> list[Hint]:
        """Enter, when there is something to open."""
        return [("enter", "open", "screen.open")] if self.opens else []

    @property
    def opens(self) -> bool:
        """Whether Enter opens something."""
        return self.table.key is not None

    def target(self) -> Target | None:
        """What the row under the cursor is."""
        record = self.table.record
        return None if record is None else self.target_of(record)

    def marking(self) -> LiveTable[Record] | None:
        """The table, where several of its rows can be acted upon."""
        return self.table if self.ACTS else None

    def task_id(self) -> str | None:
        """The task under the cursor."""
        return None

    def capped(self, state: str) -> str:
        """How many of the tasks in a state are listed, when that is not all; for the status line."""
        total = self.snapshot.totals().get(state, 0) if self.snapshot else 0
        return f"first {self.table.row_count} of {total:,}   " if total > self.table.row_count else ""

    def open(self) -> None:
        """Show the task under the cursor."""
        if task_id := self.task_id():
            self.post_message(View.OpenTask(task_id))

    @on(DataTable.RowSelected)
    def _open_row(self, event: DataTable.RowSelected) -> None:
        event.stop()
        self.open()

    @on(DataTable.RowHighlighted)
    def _row_changed(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self.post_message(View.CursorMoved())


def task_target(row: TaskRow) -> Target:
    """The target that a line of a task list is."""
    return Target(
        task_id=row.task_id,
        run_id=row.run_id,
        claim_token=row.claim_token,
        name=row.name,
        state=row.state,
        sleep_cause=row.sleep_cause,
        event_name=row.wake_event if row.sleep_cause != "sleep" else None,
        waiting_run_id=row.run_id if row.wake_event else None,
        expires_at=row.due_at if row.state == "running" else None,
    )


def lease_target(row: Lease) -> Target:
    """The target that a lease is."""
    return Target(
        task_id=row.task_id,
        run_id=row.run_id,
        claim_token=row.claim_token,
        name=row.name,
        state="running",
        expires_at=row.expires_at,
    )


def sleeper_target(row: Sleeper) -> Target:
    """The target that a sleeper is."""
    event = row.event_name if row.cause == "event" else None
    return Target(
        task_id=row.task_id,
        run_id=row.run_id,
        name=row.name,
        state="sleeping",
        sleep_cause=row.cause,
        event_name=event,
        waiting_run_id=row.run_id if event else None,
    )
