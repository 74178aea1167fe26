"""Tasks: the list with its filter, sort and pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from dura.records import Snapshot, TaskPage, TaskQuery, TaskRow, Want
from dura.states import TERMINAL, State
from dura_tui import filter as task_filter
from dura_tui import format as fmt
from dura_tui.orders import Target
from dura_tui.screens.view import Hint, ListView, View, task_target
from dura_tui.widgets import cells
from dura_tui.widgets.bars import Line
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.filter_line import FilterLine
from dura_tui.widgets.live_table import Column, LiveTable, Row

PAGE: Final = 200


class TasksView(ListView[TaskRow]):
    """All tasks, a page at a time."""

    ABOUT: ClassVar[tuple[str, ...]] = (
        "All tasks, a page at a time. NEXT is when a task moves by itself, or how long ago it ended.",
        "/  state:failed name:import_* queue:mail, and any other words: a part of an id, key or parameter",
        "s  sorts: newest, oldest, due, priority, attempts, name    n b  turn the page",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with the newest tasks."""
        table = LiveTable[TaskRow](
            (
                Column("STATE", 11),
                Column("TASK"),
                Column("ID", 8, at=96),
                Column("QUEUE", 14, at=130),
                Column("PRI", 4, at=130, right=True),
                Column("ATT", 5, at=50, right=True),
                Column("PROGRESS", 12, at=78),
                Column("NEXT", 13, at=70),
                Column("AGE", 7, at=60, right=True),
                Column("LATEST FAILURE", at=150, share=2),
            ),
            empty="No task matches.",
        )
        super().__init__(table, id=id)
        self._caption = Line(id="caption")
        self._filter = FilterLine(
            placeholder="state:failed name:import_* queue:mail, or part of an id, key or parameter"
        )
        self.query_now = TaskQuery(limit=PAGE)
        self._before: list[str | None] = []
        self._error = ""

    def compose(self) -> ComposeResult:
        """The table, its caption and the filter line."""
        yield self._caption
        yield self.table
        yield self._filter

    def want(self) -> Want:
        """The page."""
        return Want(tasks=self.query_now)

    # --- drawing -----------------------------------------------------------------------------------------------------

    def draw(self, now: datetime) -> None:
        """Draw the page."""
        page = self.snapshot.tasks if self.snapshot else None
        if self.snapshot is None or page is None or page.query != self.query_now:
            return
        self.table.show_rows([Row(task.task_id, _cells(task, now), task) for task in page.tasks], now)
        self._caption.put(self._caption_text(self.snapshot, page))

    def _caption_text(self, snapshot: Snapshot, page: TaskPage) -> Text:
        text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
        if self._error:
            text.append(f"✗ {self._error}", "red")
            return text
        first = len(self._before) * PAGE + 1
        shown = len(page.tasks)
        total = total_of(snapshot, self.query_now)
        span = f"{fmt.number(first)} to {fmt.number(first + shown - 1)}" if shown else "none"
        if total is not None:
            approximately = "" if snapshot.counts_exact else "at least "
            span += f" of {approximately}{fmt.number(total)}"
        elif page.next_page:
            span += " and more"
        text.append(span, "bold")
        line = task_filter.to_line(self.query_now)
        text.append("   filter ", "bright_black")
        text.append(fmt.printable(line) if line else "none", "cyan" if line else "")
        text.append("   sort ", "bright_black")
        text.append(self.query_now.sort)
        if page.truncated:
            text.append("   search stopped early: narrow the filter", "yellow")
        return text

    # --- the operator ------------------------------------------------------------------------------------------------

    def target(self) -> Target | None:
        """The task under the cursor."""
        task = self.table.record
        return task_target(task) if task else None

    def task_id(self) -> str | None:
        """The task under the cursor."""
        task = self.table.record
        return task.task_id if task else None

    def describe(self) -> str:
        """Full id, key, and the latest failure."""
        task = self.table.record
        if task is None:
            return ""
        key = f"  key {task.idempotency_key}" if task.idempotency_key else ""
        error = f"  {task.error}" if task.error else ""
        return fmt.printable(f"task {task.task_id}{key}{error}")

    def hints(self) -> list[Hint]:
        """Filter, sort and pages."""
        hints = [*super().hints(), ("/", "filter", "screen.filter"), ("s", "sort", "screen.sort")]
        if self.snapshot and self.snapshot.tasks and self.snapshot.tasks.next_page:
            hints.append(("n", "next page", "screen.page(1)"))
        if self._before:
            hints.append(("b", "page back", "screen.page(-1)"))
        return hints

    def list_tasks(self, query: TaskQuery) -> None:
        """Show another list, from its first page."""
        if query == self.query_now:
            return
        self.query_now = replace(query, limit=PAGE)
        if query.after is None:
            self._before = []
        self._error = ""
        self.table.reset()
        self.post_message(View.WantChanged())

    def sort(self) -> None:
        """The next sort order."""
        place = task_filter.SORTS.index(self.query_now.sort)
        following = task_filter.SORTS[(place + 1) % len(task_filter.SORTS)]
        self.list_tasks(replace(self.query_now, sort=following, after=None))

    def turn_page(self, step: int) -> None:
        """The next page, or the one before."""
        page = self.snapshot.tasks if self.snapshot else None
        if step > 0 and page is not None and page.next_page and page.query == self.query_now:
            self._before.append(self.query_now.after)
            self.list_tasks(replace(self.query_now, after=page.next_page))
        elif step < 0 and self._before:
            after = self._before.pop()
            self.list_tasks(replace(self.query_now, after=after))

    def edit_filter(self) -> bool:
        """Open the filter line."""
        self._filter.edit(task_filter.to_line(self.query_now))
        return True

    @on(FilterLine.Left)
    def _leave_filter(self) -> None:
        self._error = ""
        self.table.focus()
        self.draw_again()

    def back(self) -> bool:
        """Show all tasks again; whether there was a filter."""
        if task_filter.to_line(self.query_now) == "":
            return False
        self.list_tasks(TaskQuery(sort=self.query_now.sort))
        return True

    @on(Input.Submitted)
    def _apply(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            query = task_filter.parse(event.value, self.query_now)
        except ValueError as error:
            self._error = fmt.printable(str(error))
            self.draw_again()
            return
        self._filter.action_leave()
        self.list_tasks(query)


def total_of(snapshot: Snapshot, query: TaskQuery) -> int | None:
    """How many tasks a query has in all, from the snapshot's counts; None if only a search could tell."""
    if query.text or (query.name and "*" in query.name):
        return None
    return sum(
        row.count
        for row in snapshot.counts
        if query.state in (None, row.state)
        and query.name in (None, row.name)
        and query.queue in (None, row.queue)
    )


def _cells(task: TaskRow, now: datetime) -> tuple[Cell, ...]:
    return (
        cells.state(task.state),
        cell(fmt.printable(task.name)),
        cell(fmt.short_id(task.task_id), "bright_black"),
        cell(fmt.printable(task.queue)),
        cell(str(task.priority), "" if task.priority else "bright_black"),
        cells.attempts(task.attempts, task.max_attempts),
        cells.progress(task),
        next_cell(task, now),
        cell(fmt.ago(task.enqueued_at, now)),
        cell(fmt.printable(task.error or ""), "red" if task.state == State.FAILED else "bright_black"),
    )


def next_cell(task: TaskRow, now: datetime) -> Cell:
    """When the task moves next by itself, or when it ended."""
    if task.state == State.RUNNING:
        return (("lease ", "bright_black"), *cells.lease_countdown(task.due_at, now))
    if task.state == State.SLEEPING:
        glyph = cells.CAUSE_GLYPHS.get(task.sleep_cause or "", "◐")
        return ((f"{glyph} ", "magenta"), *cells.due_countdown(task.due_at, now))
    if task.state in TERMINAL:
        return cell(f"{fmt.ago(task.ended_at, now)} ago" if task.ended_at else fmt.NOTHING, "bright_black")
    return cell("a worker", "bright_black")
