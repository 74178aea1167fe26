"""Sleeping: why each parked run sleeps, what it waits for, and when that ends. Soonest due first."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from dura.records import Sleeper, Want
from dura_tui import format as fmt
from dura_tui.orders import Selection, Target
from dura_tui.screens.filtered import FilteredView
from dura_tui.screens.marked import listed
from dura_tui.screens.view import sleeper_target
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

_ROWS: Final = 500


class SleepingView(FilteredView[Sleeper]):
    """The sleeping runs."""

    KIND: ClassVar[str] = "sleeping"
    ORDER: ClassVar[str] = "those that are due soonest"
    CAP: ClassVar[int | None] = _ROWS
    PART: ClassVar[str] = "sleepers"

    ABOUT: ClassVar[tuple[str, ...]] = (
        "Sleeping runs, the one due first on top. A delay, a backoff or a deferral can be cut short ({wake}); a wait ends",
        "with its event ({emit-event}) or its deadline; a sleep ends by itself.",
    )
    NOUN: ClassVar[str] = "run"
    ACTS: ClassVar[tuple[str, ...]] = ("wake", "emit", "cancel")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with an empty table."""
        table = LiveTable[Sleeper](
            (
                Column("DUE IN", 12, sort="due", by=lambda row: row.due_at),
                Column("CAUSE", 10, sort="cause", by=lambda row: row.cause),
                Column("TASK", at=50, sort="name", by=lambda row: row.name),
                Column("ID", 8, at=100, sort="id", by=lambda row: row.task_id),
                Column("QUEUE", 14, at=120, sort="queue", by=lambda row: row.queue),
                Column("ATT", 3, at=64, right=True, sort="attempts", by=lambda row: row.attempt, down=True),
                Column("WAITS FOR", share=2, sort="event", by=lambda row: row.event_name or row.step_name),
            ),
            empty="Nothing sleeps: no delay, backoff, wait or sleep is pending.",
        )
        super().__init__(table, id=id)

    def want(self) -> Want:
        """Sleepers."""
        return Want(sleepers=_ROWS, where=self.where)

    def draw(self, now: datetime) -> None:
        """Draw the countdowns."""
        if self.snapshot is None:
            return
        sleepers = self.in_order(self.snapshot.sleepers)
        self.table.show_rows([Row(row.run_id, _cells(row, now), row) for row in sleepers], now)
        self.draw_caption(len(sleepers))

    def target_of(self, record: Sleeper) -> Target:
        """The run."""
        return sleeper_target(record)

    def matching(self) -> Selection:
        """All sleeping runs that match."""
        return listed(self.all_of("sleeping runs"), "run", "sleepers", sleeper_target)

    def describe(self) -> str:
        """Full id, and the due time itself."""
        sleeper = self.table.record
        if sleeper is None:
            return ""
        due = f"  due {sleeper.due_at:%Y-%m-%d %H:%M:%S} UTC" if sleeper.due_at else "  no deadline"
        return self.capped("sleeping") + fmt.printable(f"task {sleeper.task_id}{due}")

    def task_id(self) -> str | None:
        """The task under the cursor."""
        sleeper = self.table.record
        return sleeper.task_id if sleeper else None


def _cells(sleeper: Sleeper, now: datetime) -> tuple[Cell, ...]:
    return (
        cells.due_countdown(sleeper.due_at, now),
        cells.cause(sleeper.cause),
        cell(fmt.printable(sleeper.name)),
        cell(fmt.short_id(sleeper.task_id), "bright_black"),
        cell(fmt.printable(sleeper.queue)),
        cell(str(sleeper.attempt)),
        cells.waits_for(sleeper),
    )
