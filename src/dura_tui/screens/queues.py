"""Queues: how deep each is, since when its oldest run waits, what comes and goes, and when it will be empty."""

from __future__ import annotations

from datetime import datetime
from math import inf
from operator import attrgetter
from typing import ClassVar, Final

from dura.records import QueueRow, TaskQuery, Want
from dura_tui import format as fmt
from dura_tui.screens.filtered import FilteredView, since
from dura_tui.screens.view import View
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

_LATE_SECONDS: Final = 60
_VERY_LATE_SECONDS: Final = 300


class QueuesView(FilteredView[QueueRow]):
    """All queues that hold tasks."""

    KIND: ClassVar[str] = "queues"
    ORDER: ClassVar[str] = "those with the most ready runs first"

    ABOUT: ClassVar[tuple[str, ...]] = (
        "READY is what could be claimed now, OLDEST since when the first of it could have been. IN counts tasks spawned,",
        "OUT tasks that ended, a minute, over the last five or as far as the newest 2,000 reach.",
        "DRAINS IN is READY at the present pace; grows means that more comes than goes.",
        "enter  the queue's tasks",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with an empty table."""
        table = LiveTable[QueueRow](
            (
                Column("QUEUE", sort="queue", by=lambda row: row.queue),
                Column("READY", 6, right=True, sort="ready", by=lambda row: row.ready, down=True),
                Column(
                    "OLDEST",
                    7,
                    at=40,
                    right=True,
                    sort="oldest",
                    by=lambda row: since(row.oldest_due),
                    down=True,
                ),
                Column(
                    "IN/MIN", 7, at=60, right=True, sort="in", by=lambda row: row.in_per_minute, down=True
                ),
                Column(
                    "OUT/MIN", 7, at=60, right=True, sort="out", by=lambda row: row.out_per_minute, down=True
                ),
                Column("DRAINS IN", 9, right=True, sort="drains", by=_drains, down=True),
                *(
                    Column(
                        cells.GLYPHS[state] + (f" {state}" if wide else ""),
                        width,
                        at=at,
                        right=True,
                        sort=state,
                        by=attrgetter(state),
                        down=True,
                    )
                    for state, width, at, wide in _STATES
                ),
            ),
            empty="No tasks yet.",
        )
        super().__init__(table, id=id)

    def want(self) -> Want:
        """The queues."""
        return Want(queues=True)

    def draw(self, now: datetime) -> None:
        """Draw the queues, the one with the most ready runs first."""
        if self.snapshot is None:
            return
        queues = sorted(self.snapshot.queues, key=lambda row: (-_magnitude(row.ready), row.queue))
        part = (self.text or "").lower()
        queues = self.in_order([row for row in queues if part in row.queue.lower()])
        self.table.show_rows([Row(row.queue, _cells(row, now), row) for row in queues], now)
        self.draw_caption(len(queues))

    def describe(self) -> str:
        """The queue in words."""
        row = self.table.record
        if row is None:
            return ""
        live = row.pending + row.running + row.sleeping
        ended = row.completed + row.failed + row.cancelled
        return fmt.printable(
            f"queue {row.queue}: {live:,} live, {ended:,} ended, {row.failed:,} of them failed"
        )

    def open(self) -> None:
        """Show its tasks."""
        row = self.table.record
        if row is not None:
            self.post_message(View.ListTasks(TaskQuery(queue=row.queue)))


_STATES: Final = (
    ("running", 6, 72, False),
    ("sleeping", 6, 72, False),
    ("failed", 6, 80, False),
    ("pending", 9, 120, True),
    ("completed", 11, 120, True),
    ("cancelled", 11, 140, True),
)
"""State, width, from which width of the table on, and whether its word is shown."""


def _drains(row: QueueRow) -> float:
    return inf if row.drain_seconds is None else row.drain_seconds


def _magnitude(count: int) -> int:
    """How many digits a count has: queues change places when this does, not with every task."""
    return len(str(count)) if count else 0


def _cells(row: QueueRow, now: datetime) -> tuple[Cell, ...]:
    counts = [(state, getattr(row, state)) for state, *_ in _STATES]
    return (
        cell(fmt.printable(row.queue), "bold"),
        cell(fmt.compact(row.ready), "yellow" if row.ready else "bright_black"),
        _oldest(row, now),
        cell(fmt.rate(row.in_per_minute), "" if row.in_per_minute else "bright_black"),
        cell(fmt.rate(row.out_per_minute), "" if row.out_per_minute else "bright_black"),
        cells.drains_in(row),
        *(
            cell(fmt.compact(count), cells.STYLES[state] if count else "bright_black")
            for state, count in counts
        ),
    )


def _oldest(row: QueueRow, now: datetime) -> Cell:
    if row.oldest_due is None:
        return cell(fmt.NOTHING, "bright_black")
    late = (now - row.oldest_due).total_seconds()
    style = "bold red" if late >= _VERY_LATE_SECONDS else "bold yellow" if late >= _LATE_SECONDS else ""
    return cell(fmt.ago(row.oldest_due, now), style)
