"""Leases: who holds what, for how much longer, and what happens at zero. Soonest expiry first."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from dura.records import Lease, Want
from dura_tui import format as fmt
from dura_tui.orders import Target
from dura_tui.screens.view import ListView, lease_target
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

_ROWS: Final = 500


class LeasesView(ListView[Lease]):
    """The running runs."""

    ABOUT: ClassVar[tuple[str, ...]] = (
        "Running runs, the lease that runs out first on top. RECL counts leases of this attempt that ran out before.",
        "AT ZERO is what the next claim makes of the run: pending again, or failed as a poison run.",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with an empty table."""
        table = LiveTable[Lease](
            (
                Column("EXPIRES IN", 11),
                Column("TASK"),
                Column("ID", 8, at=100),
                Column("QUEUE", 14, at=120),
                Column("HELD FOR", 8, at=110, right=True),
                Column("ATT", 5, right=True),
                Column("RECL", 4, at=60, right=True),
                Column("WORKER", 17, at=78),
                Column("AT ZERO", 12, at=50),
            ),
            empty="No leases: no worker holds a run.",
        )
        super().__init__(table, id=id)

    def want(self) -> Want:
        """Leases, and workers to tell which of them are gone."""
        return Want(leases=_ROWS, workers=True)

    def draw(self, now: datetime) -> None:
        """Draw the countdowns."""
        if self.snapshot is None:
            return
        gone = {worker.worker_id for worker in self.snapshot.workers if worker.presence == "gone"}
        rows = [
            Row(lease.run_id, _cells(lease, now, lease.worker_id in gone), lease)
            for lease in self.snapshot.leases
        ]
        self.table.show_rows(rows, now)

    def target(self) -> Target | None:
        """The run under the cursor."""
        lease = self.table.record
        return lease_target(lease) if lease else None

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
