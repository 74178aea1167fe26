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
from dura_tui import timeline
from dura_tui.orders import Target
from dura_tui.screens.facts import Fact, doing_line, fact_rows, since_line, what_line
from dura_tui.screens.view import Hint, View, task_target
from dura_tui.widgets.bars import Line
from dura_tui.widgets.cells import EMPTY, cell, to_text
from dura_tui.widgets.live_table import Column, LiveTable, Row
from dura_tui.widgets.text_view import TextView


class DetailView(View):
    """A task; Escape leads back to where it was opened from."""

    ABOUT: ClassVar[tuple[str, ...]] = (
        "Steps in the order in which they finished, attempts with the newest first, what went in and came out.",
        "enter  reads the line under the cursor in full",
        "{other-way}  draws the task to scale, then its latest attempt alone, then shows the facts again; a tall screen has both.",
        "A step lasts from the finish of the one before, or its run's start, to its own: a wait that has ended, too.",
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
        self.times = LiveTable[Fact](
            (Column("", 22), Column("TIMELINE"), Column("TOOK / LEFT", 11, at=46, right=True)),
            empty="Nothing is known of it.",
            id="times",
        )
        self._latest = False
        """Whether the timeline is of the latest attempt alone."""
        self._reading = TextView(id="preview")

    def compose(self) -> ComposeResult:
        """A summary, the facts or the timeline, both on a tall screen, and a fact in full on a wide one."""
        yield from self._summary
        with Horizontal(id="facts"):
            yield self.table
            yield self._reading
        yield self.times

    def show_task(self, task_id: str) -> None:
        """Show another task."""
        self._task_id = task_id
        self._last = None
        self.snapshot = None
        self.table.reset()
        self.times.reset()
        for line in self._summary:
            line.put(Text(""))
        self.post_message(View.WantChanged())

    def want(self) -> Want:
        """The task."""
        return Want(task_id=self._task_id)

    def enter(self) -> None:
        """The keys go to the facts, or to the timeline that stands in their place."""
        (self.times if self.has_class("-times") else self.table).focus()

    def toggle(self) -> bool:
        """The facts, the timeline, the timeline of the latest attempt."""
        if not self.has_class("-times"):
            self.add_class("-times")
        elif not self._latest:
            self._latest = True
        else:
            self._latest = False
            self.remove_class("-times")
        self.enter()
        self.draw_again()
        return True

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
        self.times.show_rows(self._time_rows(detail, {row.key: row.record for row in rows}, now), now)
        self._preview()

    def _time_rows(self, detail: TaskDetail, facts: dict[str, Fact], now: datetime) -> list[Row[Fact]]:
        width = self.times.width_of(1)
        of = timeline.scale(detail, now, latest=self._latest)
        what = "latest attempt" if self._latest else "whole task"
        rows = [Row("axis", (cell(what, "bold cyan"), timeline.axis(of, width), EMPTY), Fact())]
        rows += [
            Row(
                track.key,
                (track.label, timeline.draw(track, of, width), track.note),
                facts.get(track.key, Fact()),
            )
            for track in timeline.tracks(detail, now)
        ]
        return [*rows, Row("legend", (EMPTY, timeline.LEGEND, EMPTY), Fact())]

    def _draw_missing(self) -> None:
        what, doing, since = self._summary
        what.put(to_text(cell(f" ✗ task {fmt.printable(self._task_id)} is not in the store", "bold yellow")))
        doing.put(Text(" It was removed by cleanup, or this is another file."))
        since.put(Text(" What was seen last is shown below." if self._last else ""))

    @property
    def _fact(self) -> Fact | None:
        """What is under the cursor, in whichever table has it."""
        return (self.times if self.times.has_focus else self.table).record

    def _preview(self) -> None:
        fact = self._fact
        self._reading.show_lines(fact.lines() if fact else [])

    # --- the operator ------------------------------------------------------------------------------------------------

    def target(self) -> Target | None:
        """The task."""
        return task_target(self._last.task) if self._last else None

    def hints(self) -> list[Hint]:
        """Back, and reading."""
        fact = self._fact
        read = [("enter", "read", "screen.open")] if fact and fact.title else []
        following = (
            "timeline" if not self.has_class("-times") else "facts" if self._latest else "latest attempt"
        )
        return [("esc", "back", "screen.back"), *read, ("t", following, "screen.other_way")]

    def describe(self) -> str:
        """Full ids."""
        if self._last is None:
            return ""
        return fmt.printable(f"task {self._last.task.task_id}  run {self._last.task.run_id}")

    def open(self) -> None:
        """Read the fact under the cursor in full."""
        fact = self._fact
        if fact and fact.title:
            self.post_message(View.ReadValue(fact.title, fact.lines(), fact.source))

    @on(LiveTable.Fitted)
    def _fitted(self) -> None:
        # The timeline is as wide as its column, which has no width before the first layout.
        self.draw_again()

    @on(DataTable.RowSelected)
    def _open_row(self, event: DataTable.RowSelected) -> None:
        event.stop()
        self.open()

    @on(DataTable.RowHighlighted)
    def _row_changed(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self._preview()
        self.post_message(View.CursorMoved())
