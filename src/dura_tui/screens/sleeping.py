"""Sleeping: why each parked run sleeps, what it waits for, and when that ends. Soonest due first."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from dura.records import Sleeper, Want
from dura_tui import format as fmt
from dura_tui.orders import Target
from dura_tui.screens.view import ListView, sleeper_target
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

_ROWS: Final = 500


class SleepingView(ListView[Sleeper]):
    """The sleeping runs."""

    ABOUT: ClassVar[tuple[str, ...]] = (
        "Sleeping runs, the one due first on top. A delay, a backoff or a deferral can be cut short (w); a wait ends",
        "with its event (e) or its deadline; a sleep ends by itself.",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with an empty table."""
        table = LiveTable[Sleeper](
            (
                Column("DUE IN", 12),
                Column("CAUSE", 10),
                Column("TASK", at=50),
                Column("ID", 8, at=100),
                Column("QUEUE", 14, at=120),
                Column("ATT", 3, at=64, right=True),
                Column("WAITS FOR", share=2),
            ),
            empty="Nothing sleeps: no delay, backoff, wait or sleep is pending.",
        )
        super().__init__(table, id=id)

    def want(self) -> Want:
        """Sleepers."""
        return Want(sleepers=_ROWS)

    def draw(self, now: datetime) -> None:
        """Draw the countdowns."""
        if self.snapshot is None:
            return
        rows = [Row(sleeper.run_id, _cells(sleeper, now), sleeper) for sleeper in self.snapshot.sleepers]
        self.table.show_rows(rows, now)

    def target(self) -> Target | None:
        """The run under the cursor."""
        sleeper = self.table.record
        return sleeper_target(sleeper) if sleeper else None

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
