"""One task in full: what it is doing, its steps in order, its attempts and why they failed, its data."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import DataTable

from dura.records import TaskDetail, Want
from dura_tui import format as fmt
from dura_tui.orders import Target
from dura_tui.screens.facts import Fact, doing_line, fact_rows, since_line, what_line
from dura_tui.screens.view import Hint, View, task_target
from dura_tui.widgets.bars import Line
from dura_tui.widgets.cells import cell, to_text
from dura_tui.widgets.live_table import Column, LiveTable
from dura_tui.widgets.text_view import TextView


class DetailView(View):
    """A task; Escape leads back to where it was opened from."""

    ABOUT: ClassVar[tuple[str, ...]] = (
        "Steps in the order in which they finished, attempts with the newest first, what went in and came out.",
        "enter  reads the line under the cursor in full",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with no task."""
        super().__init__(id=id)
        self._task_id = ""
        self._last: TaskDetail | None = None
        self._summary = (Line(id="what"), Line(id="doing"), Line(id="since"))
        self.table = LiveTable[Fact](
            (
                Column("WHAT", 20),
                Column("VALUE"),
                Column("SIZE", 7, at=64, right=True),
                Column("TOOK", 7, right=True),
                Column("AT (UTC)", 11, at=54, right=True),
            ),
            empty="Nothing is known of it.",
        )
        self._reading = TextView(id="preview")

    def compose(self) -> ComposeResult:
        """A summary, the facts, and the fact under the cursor in full on a wide screen."""
        yield from self._summary
        with Horizontal():
            yield self.table
            yield self._reading

    def show_task(self, task_id: str) -> None:
        """Show another task."""
        self._task_id = task_id
        self._last = None
        self.snapshot = None
        self.table.reset()
        for line in self._summary:
            line.put(Text(""))
        self.post_message(View.WantChanged())

    def want(self) -> Want:
        """The task."""
        return Want(task_id=self._task_id)

    def enter(self) -> None:
        """The keys go to the facts."""
        self.table.focus()

    # --- drawing -----------------------------------------------------------------------------------------------------

    def draw(self, now: datetime) -> None:
        """Draw summary and facts."""
        if self.snapshot is None:
            return
        detail = self.snapshot.task
        if detail is None:
            self._draw_missing()
            return
        first, self._last = self._last is None, detail
        lines = (what_line(detail), doing_line(detail, now), since_line(detail, now))
        for line, text in zip(self._summary, lines, strict=True):
            line.put(text)
        rows = fact_rows(detail, now)
        self.table.show_rows(rows, now)
        if first:
            self.table.move_to(rows[1].key)
        self._preview()

    def _draw_missing(self) -> None:
        what, doing, since = self._summary
        what.put(to_text(cell(f" ✗ task {fmt.printable(self._task_id)} is not in the store", "bold yellow")))
        doing.put(Text(" It was removed by cleanup, or this is another file."))
        since.put(Text(" What was seen last is shown below." if self._last else ""))

    def _preview(self) -> None:
        fact = self.table.record
        self._reading.show_lines(fact.lines() if fact else [])

    # --- the operator ------------------------------------------------------------------------------------------------

    def target(self) -> Target | None:
        """The task."""
        return task_target(self._last.task) if self._last else None

    def hints(self) -> list[Hint]:
        """Back, and reading."""
        fact = self.table.record
        read = [("enter", "read", "screen.open")] if fact and fact.title else []
        return [("esc", "back", "screen.back"), *read]

    def describe(self) -> str:
        """Full ids."""
        if self._last is None:
            return ""
        return fmt.printable(f"task {self._last.task.task_id}  run {self._last.task.run_id}")

    def open(self) -> None:
        """Read the fact under the cursor in full."""
        fact = self.table.record
        if fact and fact.title:
            self.post_message(View.ReadValue(fact.title, fact.lines(), fact.source))

    @on(DataTable.RowSelected)
    def _open_row(self, event: DataTable.RowSelected) -> None:
        event.stop()
        self.open()

    @on(DataTable.RowHighlighted)
    def _row_changed(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self._preview()
        self.post_message(View.CursorMoved())
