"""Failures: what fails alike, how often lately, what it said last; a whole group can be requeued."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text

from dura.filters import to_line
from dura.records import Condition, FailureGroup, FailureGroups, FailureKey, Snapshot, Want
from dura.states import State
from dura_tui import format as fmt
from dura_tui.filter import FILTERED
from dura_tui.orders import Found, Selection, Target
from dura_tui.screens.filtered import FilteredView, since
from dura_tui.screens.marked import together
from dura_tui.screens.view import Hint, View
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

_BY: Final = ("error", "step")
_TITLE_CELLS: Final = 50


class FailuresView(FilteredView[FailureGroup]):
    """The latest failed attempts in groups."""

    KIND: ClassVar[str] = "failures"
    ORDER: ClassVar[str] = "those with the most failed tasks first"
    PART: ClassVar[str] = "failure_groups"

    ABOUT: ClassVar[tuple[str, ...]] = (
        "The latest failed attempts (at most 2,000), grouped by the type of their error or by the step they failed in.",
        "FAILED counts tasks that are failed now, ATTEMPTS all attempts, those that were tried again too. The bars are",
        "attempts: the last hour in 12 times five minutes, the last day in 24 hours, the present at the right.",
        "{other-way}  groups by error or by step    enter  the task that failed last    {requeue}  requeues the group's failed tasks",
    )
    NOUN: ClassVar[str] = "group"
    ACTS: ClassVar[tuple[str, ...]] = ("requeue",)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with the types of errors."""
        table = LiveTable[FailureGroup](
            (
                Column("FAILED", 6, right=True, sort="failed", by=lambda row: row.tasks, down=True),
                Column(
                    "ATTEMPTS", 8, at=66, right=True, sort="attempts", by=lambda row: row.attempts, down=True
                ),
                Column("GROUP", sort="group", by=lambda row: row.key),
                Column("LAST HOUR", 12, at=50),
                Column("LAST DAY", 24, at=120),
                Column("LATEST", 7, at=40, right=True, sort="age", by=lambda row: since(row.latest_at)),
                Column("TASKS", at=150, sort="name", by=lambda row: row.names),
                Column("SAID LAST", at=100, share=2, sort="error", by=lambda row: row.latest_error),
            ),
            empty="No attempt has failed.",
        )
        super().__init__(table, id=id)
        self.by = _BY[0]
        """How failures are grouped: `error` or `step`."""

    def want(self) -> Want:
        """The groups."""
        return Want(failure_groups=self.by, where=self.where)

    def draw(self, now: datetime) -> None:
        """Draw the groups."""
        found = self.snapshot.failure_groups if self.snapshot else None
        if self.snapshot is None or found is None or found.by != self.by:
            return
        groups = self.in_order(found.groups)
        self.table.show_rows([Row(group.key, _cells(group, now), group) for group in groups], now)
        self.caption.put(self._caption_text(self.snapshot, found, now))

    def _caption_text(self, snapshot: Snapshot, found: FailureGroups, now: datetime) -> Text:
        text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
        matching = sum(group.tasks for group in found.groups)
        failed = matching if self.where else snapshot.totals().get(State.FAILED, 0)
        text.append(fmt.plural(failed, "failed task"), "bold")
        self.append_finding(text, len(found.groups))
        text.append(f"   by {found.by}", "cyan")
        text.append(f"   the latest {fmt.plural(found.attempts, 'failed attempt')}", "bright_black")
        if found.attempts and found.reaches_to:
            text.append(f", back to {fmt.ago(found.reaches_to, now)} ago", "bright_black")
        if found.capped:
            text.append("   there are more", "yellow")
        return text

    # --- the operator ------------------------------------------------------------------------------------------------

    def toggle(self) -> bool:
        """Group the other way."""
        self.by = _BY[1 - _BY.index(self.by)]
        self.table.reset()
        self.post_message(View.WantChanged())
        return True

    def target_of(self, record: FailureGroup) -> Target | None:
        """The failed tasks of the group; nothing if all of them were tried again."""
        return Target(many=selection(record, self.where)) if record.tasks else None

    def matching(self) -> Selection | None:
        """The failed tasks of all groups."""
        groups = [selection(group, self.where) for group in self.table.records.values() if group.tasks]
        return together(self.all_of("failed tasks"), "task", groups) if groups else None

    def task_id(self) -> str | None:
        """The task of the group that failed last."""
        group = self.table.record
        return group.latest_task_id if group else None

    def describe(self) -> str:
        """The latest message in full."""
        group = self.table.record
        return fmt.printable(f"{', '.join(group.names)}: {group.latest_error}") if group else ""

    def hints(self) -> list[Hint]:
        """The latest task, and the other way to group."""
        other = _BY[1 - _BY.index(self.by)]
        return [*super().hints(), ("t", f"by {other}", "screen.other_way")]


def selection(group: FailureGroup, where: tuple[Condition, ...] = ()) -> Selection:
    """The failed tasks of a group that a filter lets through, as many to act on."""
    key = FailureKey(by=group.by, key=group.key, where=where)
    how = "with" if group.by == "error" else "in"
    title = f"failed {how} {fmt.clip_middle(fmt.printable(group.key), _TITLE_CELLS)}"
    if where:
        line = to_line(where, FILTERED["failures"].fields)
        title += f" that match {fmt.clip_middle(fmt.printable(line), _TITLE_CELLS)}"

    def finds(snapshot: Snapshot, _: str | None) -> Found | None:
        found = snapshot.failed_tasks
        if found is None or found.key != key:
            return None
        targets = tuple(
            Target(task_id=task.task_id, run_id=task.run_id, name=task.name, state=State.FAILED)
            for task in found.tasks
        )
        return Found(targets, capped=found.capped)

    return Selection(
        title=title,
        noun="task",
        reads=lambda want, _: replace(want, failed_tasks=key),
        finds=finds,
        state=State.FAILED,
    )


def _cells(group: FailureGroup, now: datetime) -> tuple[Cell, ...]:
    return (
        cell(fmt.compact(group.tasks), "bold red" if group.tasks else "bright_black"),
        cell(fmt.compact(group.attempts)),
        cell(fmt.printable(group.key), "bold"),
        cell(cells.bars(group.hour, 1)[0], "red"),
        cell(cells.bars(group.day, 1)[0], "red"),
        cell(fmt.ago(group.latest_at, now), "bright_black"),
        cell(fmt.printable(", ".join(group.names)), "bright_black"),
        cell(fmt.printable(group.latest_error)),
    )
