"""Leases: who holds what, for how much longer, and what happens at zero. Soonest expiry first."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from dura.records import Lease, Want
from dura.states import State
from dura_tui import format as fmt
from dura_tui.orders import Selection, Target
from dura_tui.screens.filtered import FilteredView, since
from dura_tui.screens.marked import listed
from dura_tui.screens.view import lease_target
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

_ROWS: Final = 500


class LeasesView(FilteredView[Lease]):
    """The running runs."""

    KIND: ClassVar[str] = "leases"
    ORDER: ClassVar[str] = "those that run out soonest"
    CAP: ClassVar[int | None] = _ROWS
    PART: ClassVar[str] = "leases"

    ABOUT: ClassVar[tuple[str, ...]] = (
        "Running runs, the lease that runs out first on top. RECL counts leases of this attempt that ran out before.",
        "AT ZERO is what the next claim makes of the run: pending again, or failed as a poison run.",
    )
    NOUN: ClassVar[str] = "run"
    ACTS: ClassVar[tuple[str, ...]] = ("extend", "cancel")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with an empty table."""
        table = LiveTable[Lease](
            (
                Column("EXPIRES IN", 11, sort="due", by=lambda row: row.expires_at),
                Column("TASK", sort="name", by=lambda row: row.name),
                Column("ID", 8, at=100, sort="id", by=lambda row: row.task_id),
                Column("QUEUE", 14, at=120, sort="queue", by=lambda row: row.queue),
                Column(
                    "HELD FOR",
                    8,
                    at=110,
                    right=True,
                    sort="held",
                    by=lambda row: since(row.started_at),
                    down=True,
                ),
                Column("ATT", 5, right=True, sort="attempts", by=lambda row: row.attempt, down=True),
                Column("RECL", 4, at=60, right=True, sort="reclaims", by=lambda row: row.reclaims, down=True),
                Column("WORKER", 17, at=78, sort="worker", by=lambda row: row.worker_id),
                Column("AT ZERO", 12, at=50),
            ),
            empty="No leases: no worker holds a run.",
        )
        super().__init__(table, id=id)

    def want(self) -> Want:
        """Leases, and workers to tell which of them are gone."""
        return Want(leases=_ROWS, where=self.where, workers=True)

    def draw(self, now: datetime) -> None:
        """Draw the countdowns."""
        if self.snapshot is None:
            return
        gone = {worker.worker_id for worker in self.snapshot.workers if worker.presence == "gone"}
        rows = [
            Row(lease.run_id, _cells(lease, now, lease.worker_id in gone), lease)
            for lease in self.in_order(self.snapshot.leases)
        ]
        self.table.show_rows(rows, now)
        self.draw_caption(len(rows))

    def target_of(self, record: Lease) -> Target:
        """The run."""
        return lease_target(record)

    def matching(self) -> Selection:
        """All running runs that match."""
        return listed(self.all_of("running runs"), "run", "leases", lease_target, state=State.RUNNING)

    def describe(self) -> str:
        """Full ids and the owner."""
        lease = self.table.record
        return (
            self.capped("running") + fmt.printable(f"task {lease.task_id}  worker {lease.worker_id}")
            if lease
            else ""
        )

    def task_id(self) -> str | None:
        """The task under the cursor."""
        lease = self.table.record
        return lease.task_id if lease else None


def _cells(lease: Lease, now: datetime, gone: bool) -> tuple[Cell, ...]:
    return (
        cells.lease_countdown(lease.expires_at, now),
        cell(fmt.printable(lease.name)),
        cell(fmt.short_id(lease.task_id), "bright_black"),
        cell(fmt.printable(lease.queue)),
        cell(fmt.ago(lease.started_at, now)),
        cells.attempts(lease.attempt, lease.max_attempts),
        cell(
            fmt.of_limit(lease.reclaims, lease.max_reclaims), "yellow" if lease.reclaims else "bright_black"
        ),
        _worker(lease.worker_id, gone),
        _at_zero(lease, now),
    )


def _worker(worker_id: str, gone: bool) -> Cell:
    name = fmt.printable(worker_id)
    if gone:
        return (("✗ gone ", "bold red"), (fmt.clip_middle(name, 10), ""))
    return cell(fmt.clip_middle(name, 17))


def _at_zero(lease: Lease, now: datetime) -> Cell:
    if lease.expires_at is not None and lease.expires_at <= now:
        return cell("✗ next claim" if lease.fails_at_expiry else "○ next claim", "bold red")
    return cell("✗ fails", "red") if lease.fails_at_expiry else cell("○ pending", "bright_black")
