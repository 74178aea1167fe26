"""Tasks: the list with its filter, order and pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text

from dura.records import Condition, Snapshot, TaskPage, TaskQuery, TaskRow, Want
from dura.states import TERMINAL, State
from dura_tui import format as fmt
from dura_tui.filter import TASK_ORDERS, total
from dura_tui.orders import Selection, Target
from dura_tui.screens.filtered import FilteredView
from dura_tui.screens.marked import all_tasks
from dura_tui.screens.view import Hint, task_target
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

PAGE: Final = 200


class TasksView(FilteredView[TaskRow]):
    """All tasks, a page at a time."""

    KIND: ClassVar[str] = "tasks"
    ORDER: ClassVar[str] = "newest first"
    PART: ClassVar[str] = "tasks"
    CUT: ClassVar[str] = "search stopped early: n looks on"
    NOUN: ClassVar[str] = "task"
    ACTS: ClassVar[tuple[str, ...]] = ("requeue", "cancel", "wake", "extend")
    ABOUT: ClassVar[tuple[str, ...]] = (
        "All tasks, a page at a time. NEXT is when a task moves by itself, or how long ago it ended.",
        "A search that takes too long stops and says so; the next page goes on from there.",
        "Sorted by NEXT, only what runs or sleeps is listed, unless the filter names a state.",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with the newest tasks."""
        table = LiveTable[TaskRow](
            (
                Column("STATE", 11, sort="state"),
                Column("TASK", sort="name"),
                Column("ID", 8, at=96, sort="id"),
                Column("QUEUE", 14, at=130, sort="queue"),
                Column("PRI", 4, at=130, right=True, sort="priority", down=True),
                Column("ATT", 5, at=50, right=True, sort="attempts", down=True),
                Column("PROGRESS", 12, at=78, sort="progress", down=True),
                Column("NEXT", 13, at=70, sort="due"),
                Column("AGE", 7, at=60, right=True, sort="age"),
                Column("LATEST FAILURE", at=150, share=2, sort="error"),
            ),
            empty="No task matches.",
        )
        super().__init__(table, id=id)
        self.query_now = TaskQuery(limit=PAGE)
        self._before: list[tuple[str | None, int]] = []
        """The pages before this one: where each began, and how many rows it had."""

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
        self.caption.put(self._caption_text(self.snapshot, page))

    def _caption_text(self, snapshot: Snapshot, page: TaskPage) -> Text:
        text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
        first = sum(rows for _, rows in self._before) + 1
        shown = len(page.tasks)
        in_all = self._total(snapshot)
        span = f"{fmt.number(first)} to {fmt.number(first + shown - 1)}" if shown else "none"
        if not shown and in_all == 0:
            span = "no task"
        elif in_all is not None:
            approximately = "" if snapshot.counts_exact else "at least "
            span += f" of {approximately}{fmt.number(in_all)}"
        elif page.next_page:
            span += " and more"
        text.append(span, "bold")
        self.append_finding(text, shown)
        if not self.sort_now:
            text.append(f"   {self.ORDER}", "bright_black")
        if page.sorted_of is not None:
            which = "next due" if self.query_now.sort.endswith("due") else "newest"
            text.append(f" of the {which} {fmt.number(page.sorted_of)}", "yellow")
        return text

    @property
    def cut(self) -> bool:
        """Whether the search ran out of its time; a list that is only not sorted as a whole says that itself."""
        page = self.snapshot.tasks if self.snapshot else None
        return super().cut and page is not None and page.sorted_of is None

    def _total(self, snapshot: Snapshot) -> int | None:
        """How many tasks there are in the list, from the counts of the same look; None if only a search could tell."""
        conditions = self.where
        if self.query_now.sort.endswith("due") and not any(found.field == "state" for found in conditions):
            conditions = (*conditions, Condition(field="state", values=(State.RUNNING, State.SLEEPING)))
        return total(snapshot.counts, conditions)

    # --- the operator ------------------------------------------------------------------------------------------------

    def target_of(self, record: TaskRow) -> Target:
        """The task."""
        return task_target(record)

    def matching(self) -> Selection:
        """All tasks that match, on all pages."""
        return all_tasks(self.query_now, self.all_of("tasks"))

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
        """Filter, order and pages."""
        hints = super().hints()
        if self.snapshot and self.snapshot.tasks and self.snapshot.tasks.next_page:
            hints.append(("n", "next page", "screen.page(1)"))
        if self._before:
            hints.append(("b", "page back", "screen.page(-1)"))
        return hints

    def list_tasks(self, query: TaskQuery) -> None:
        """Show what a query asks for, from its first page, in the present order."""
        if query.conditions != self.where:
            self.where = query.conditions
            self.ask()

    def ask(self) -> None:
        """The list is another one from here on: begin with its first page."""
        self._show(
            TaskQuery(where=self.where, sort=TASK_ORDERS.get(self.sort_now, self.sort_now), limit=PAGE)
        )
        self._before = []

    def order_changed(self) -> None:
        """The store sorts: another page is read."""
        self.ask()

    def _show(self, query: TaskQuery) -> None:
        with self.table.marks.kept(query.where == self.query_now.where):
            self.query_now = query
            super().ask()

    def turn_page(self, step: int) -> None:
        """The next page, or the one before."""
        page = self.snapshot.tasks if self.snapshot else None
        if step > 0 and page is not None and page.next_page and page.query == self.query_now:
            self._before.append((self.query_now.after, len(page.tasks)))
            self._show(replace(self.query_now, after=page.next_page))
        elif step < 0 and self._before:
            after, _ = self._before.pop()
            self._show(replace(self.query_now, after=after))


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
        # Once it has run out there is no room for the word, and `overdue 4s` is what matters.
        late = task.due_at is not None and task.due_at <= now
        return (("" if late else "lease ", "bright_black"), *cells.lease_countdown(task.due_at, now))
    if task.state == State.SLEEPING:
        glyph = cells.CAUSE_GLYPHS.get(task.sleep_cause or "", "◐")
        return ((f"{glyph} ", "magenta"), *cells.due_countdown(task.due_at, now))
    if task.state in TERMINAL:
        return cell(f"{fmt.ago(task.ended_at, now)} ago" if task.ended_at else fmt.NOTHING, "bright_black")
    return cell("a worker", "bright_black")
