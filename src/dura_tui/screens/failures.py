"""Failures: what fails alike, how often lately, what it said last; a whole group can be requeued."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult

from dura.records import FailureGroup, FailureGroups, FailureKey, Snapshot, Want
from dura.states import State
from dura_tui import format as fmt
from dura_tui.orders import Selection, Target
from dura_tui.screens.view import Hint, ListView, View
from dura_tui.widgets import cells
from dura_tui.widgets.bars import Line
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

_BY: Final = ("error", "step")
_TITLE_CELLS: Final = 50


class FailuresView(ListView[FailureGroup]):
    """The latest failed attempts in groups."""

    ABOUT: ClassVar[tuple[str, ...]] = (
        "The latest failed attempts (at most 2,000), grouped by the type of their error or by the step they failed in.",
        "FAILED counts tasks that are failed now, ATTEMPTS all attempts, those that were tried again too. The bars are",
        "attempts: the last hour in 12 times five minutes, the last day in 24 hours, the present at the right.",
        "t  groups by error or by step    enter  the task that failed last    R  requeues the group's failed tasks",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with the types of errors."""
        table = LiveTable[FailureGroup](
            (
                Column("FAILED", 6, right=True),
                Column("ATTEMPTS", 8, at=66, right=True),
                Column("GROUP"),
                Column("LAST HOUR", 12, at=50),
                Column("LAST DAY", 24, at=120),
                Column("LATEST", 7, at=40, right=True),
                Column("TASKS", at=150),
                Column("SAID LAST", at=100, share=2),
            ),
            empty="No attempt has failed.",
        )
        super().__init__(table, id=id)
        self._caption = Line(id="caption")
        self.by = _BY[0]
        """How failures are grouped: `error` or `step`."""

    def compose(self) -> ComposeResult:
        """What is counted, and the groups."""
        yield self._caption
        yield self.table

    def want(self) -> Want:
        """The groups."""
        return Want(failure_groups=self.by)

    def draw(self, now: datetime) -> None:
        """Draw the groups."""
        found = self.snapshot.failure_groups if self.snapshot else None
        if self.snapshot is None or found is None or found.by != self.by:
            return
        self.table.show_rows([Row(group.key, _cells(group, now), group) for group in found.groups], now)
        self._caption.put(_caption(self.snapshot, found, now))

    # --- the operator ------------------------------------------------------------------------------------------------

    def toggle(self) -> None:
        """Group the other way."""
        self.by = _BY[1 - _BY.index(self.by)]
        self.table.reset()
        self.post_message(View.WantChanged())

    def target(self) -> Target | None:
        """The failed tasks of the group; nothing if all of them were tried again."""
        group = self.table.record
        return Target(many=selection(group)) if group and group.tasks else None

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


def selection(group: FailureGroup) -> Selection:
    """The failed tasks of a group, as many to act on."""
    key = FailureKey(by=group.by, key=group.key)
    how = "with" if group.by == "error" else "in"

    def finds(snapshot: Snapshot) -> tuple[tuple[Target, ...], bool] | None:
        found = snapshot.failed_tasks
        if found is None or found.key != key:
            return None
        targets = tuple(
            Target(task_id=task.task_id, run_id=task.run_id, name=task.name, state=State.FAILED)
            for task in found.tasks
        )
        return targets, found.capped

    return Selection(
        title=f"failed {how} {fmt.clip_middle(fmt.printable(group.key), _TITLE_CELLS)}",
        state=State.FAILED,
        reads=lambda want: replace(want, failed_tasks=key),
        finds=finds,
    )


def _caption(snapshot: Snapshot, found: FailureGroups, now: datetime) -> Text:
    text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
    text.append(fmt.plural(snapshot.totals().get(State.FAILED, 0), "failed task"), "bold")
    text.append(f"   by {found.by}", "cyan")
    text.append(f"   the latest {fmt.plural(found.attempts, 'failed attempt')}", "bright_black")
    if found.attempts and found.reaches_to:
        text.append(f", back to {fmt.ago(found.reaches_to, now)} ago", "bright_black")
    if found.capped:
        text.append("   there are more", "yellow")
    return text


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
