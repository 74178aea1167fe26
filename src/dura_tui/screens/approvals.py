"""Approvals: runs that wait for an event which somebody must emit, soonest timeout first; answered from here."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from dura.records import Approval, Want
from dura_tui import format as fmt
from dura_tui.orders import Selection, Target
from dura_tui.screens.filtered import FilteredView, since
from dura_tui.screens.marked import listed
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

_ROWS: Final = 500


class ApprovalsView(FilteredView[Approval]):
    """The runs that sleep on an event."""

    KIND: ClassVar[str] = "approvals"
    ORDER: ClassVar[str] = "those that time out soonest"
    CAP: ClassVar[int | None] = _ROWS
    PART: ClassVar[str] = "approvals"

    ABOUT: ClassVar[tuple[str, ...]] = (
        "Runs that sleep on an event, the soonest timeout on top. Which events people emit the store does not know:",
        "all are here; {filter} shows those with a part of a name, for example approved:",
        "enter  the task, to look at before answering    {emit-event}  answers: emits the event, with a payload to begin with",
        "The payload comes from the state namespace `templates` (key: the event's name, or its beginning up to : or /),",
        "else from the latest event of the same beginning.",
    )
    NOUN: ClassVar[str] = "run"
    ACTS: ClassVar[tuple[str, ...]] = ("emit", "cancel")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with all of them."""
        table = LiveTable[Approval](
            (
                Column("TIMEOUT IN", 12, sort="due", by=lambda row: row.timeout_at),
                Column("EVENT", sort="event", by=lambda row: row.event_name),
                Column("TASK", at=62, sort="name", by=lambda row: row.name),
                Column("ID", 8, at=100, sort="id", by=lambda row: row.task_id),
                Column("STEP", 14, at=90, sort="step", by=lambda row: row.step_name),
                Column("QUEUE", 12, at=140, sort="queue", by=lambda row: row.queue),
                Column("AGE", 7, at=76, right=True, sort="age", by=lambda row: since(row.enqueued_at)),
                Column("AT DEADLINE", 13, at=48),
                Column("PARAMS", at=150, share=2),
            ),
            empty="Nobody is waited for: no run sleeps on an event.",
        )
        super().__init__(table, id=id)

    def want(self) -> Want:
        """The runs."""
        return Want(approvals=_ROWS, events_like=self.text, where=self.terms)

    def draw(self, now: datetime) -> None:
        """Draw the countdowns."""
        if self.snapshot is None:
            return
        approvals = self.in_order(self.snapshot.approvals)
        self.table.show_rows([Row(row.run_id, _cells(row, now), row) for row in approvals], now)
        self.draw_caption(len(approvals))

    def target_of(self, record: Approval) -> Target:
        """The run and its event."""
        return approval_target(record)

    def matching(self) -> Selection:
        """All runs that sleep on an event and match."""
        return listed(self.all_of("waiting runs"), "run", "approvals", approval_target)

    def describe(self) -> str:
        """The event and the task in full, and what the deadline means."""
        row = self.table.record
        if row is None:
            return ""
        total = self.snapshot.waiting if self.snapshot else None
        few = total is not None and total > self.table.row_count and not self.where
        first = f"first {self.table.row_count} of {total:,}   " if few else ""
        return first + fmt.printable(f"event {row.event_name}  task {row.task_id}  {_ends(row)}")

    def task_id(self) -> str | None:
        """The task under the cursor."""
        row = self.table.record
        return row.task_id if row else None


def approval_target(row: Approval) -> Target:
    """The target that a run which waits for somebody is."""
    return Target(
        task_id=row.task_id,
        run_id=row.run_id,
        name=row.name,
        state="sleeping",
        sleep_cause="event",
        event_name=row.event_name,
        waiting_run_id=row.run_id,
    )


def _ends(row: Approval) -> str:
    if row.timeout_at is None:
        return "waits without a deadline"
    return (
        f"at {row.timeout_at:%Y-%m-%d %H:%M:%S} UTC the step times out and the task goes on without an answer"
    )


def _cells(row: Approval, now: datetime) -> tuple[Cell, ...]:
    return (
        _left(row.timeout_at, now),
        cell(fmt.printable(row.event_name), "cyan"),
        cell(fmt.printable(row.name)),
        cell(fmt.short_id(row.task_id), "bright_black"),
        cell(fmt.printable(row.step_name)),
        cell(fmt.printable(row.queue)),
        cell(fmt.ago(row.enqueued_at, now), "bright_black"),
        _at_deadline(row.timeout_at, now),
        cell(fmt.json_line(row.params), "bright_black"),
    )


def _left(timeout_at: datetime | None, now: datetime) -> Cell:
    """How long there is to answer: calm, then yellow under five minutes, red under one."""
    if timeout_at is None:
        return cell("no deadline", "bright_black")
    left = (timeout_at - now).total_seconds()
    style = "bold red" if left <= 60 else "bold yellow" if left <= 300 else ""
    return cell(fmt.countdown(timeout_at, now), style)


def _at_deadline(timeout_at: datetime | None, now: datetime) -> Cell:
    if timeout_at is None:
        return cell("waits on", "bright_black")
    return cell("◷ times out") if timeout_at > now else cell("✗ too late", "bold red")
