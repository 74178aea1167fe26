"""Workers: who holds leases or settled something in the last hour, how fast, and what each holds since when."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from rich.text import Text

from dura.records import Lease, Snapshot, Want, WorkerRow
from dura_tui import format as fmt
from dura_tui.orders import Target
from dura_tui.screens.filtered import FilteredView, since
from dura_tui.screens.view import lease_target
from dura_tui.widgets import cells
from dura_tui.widgets.cells import EMPTY, Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row

Held = WorkerRow | Lease


class WorkersView(FilteredView[Held]):
    """Workers, each with the runs that it holds below it."""

    KIND: ClassVar[str] = "workers"
    ORDER: ClassVar[str] = "those that are gone and hold something first"

    ABOUT: ClassVar[tuple[str, ...]] = (
        "Workers that hold leases or settled something within the last hour, each with what it holds: those first that",
        "are gone and still hold something. Gone means: the id names this machine and its process is not there any more.",
        "Of other machines and of ids of another form nothing is known. What a gone worker holds is taken back when",
        "the lease runs out (EXPIRES); nothing need be done.    enter  the run's task",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with an empty table."""
        table = LiveTable[Held](
            (
                Column("WORKER / WHAT IT HOLDS", sort="worker", by=lambda row: row.worker_id),
                Column("PRESENCE", 9, sort="presence", by=lambda row: row.presence),
                Column("HOLDS", 5, at=46, right=True, sort="holds", by=lambda row: row.leases, down=True),
                Column("EXPIRES", 11, at=60),
                Column(
                    "PER MIN", 7, at=54, right=True, sort="rate", by=lambda row: row.per_minute, down=True
                ),
                Column("DONE/H", 6, at=90, right=True, sort="done", by=lambda row: row.completed, down=True),
                Column(
                    "FAILED/H", 8, at=100, right=True, sort="failed", by=lambda row: row.failed, down=True
                ),
                Column("SINCE", 7, right=True, sort="seen", by=lambda row: since(row.last_seen)),
            ),
            empty="No worker holds a lease or settled a run in the last hour.",
        )
        super().__init__(table, id=id)

    def want(self) -> Want:
        """The workers."""
        return Want(workers=True)

    def draw(self, now: datetime) -> None:
        """Draw workers and countdowns."""
        if self.snapshot is None:
            return
        workers = sorted(self.snapshot.workers, key=lambda worker: (not _missed(worker), worker.worker_id))
        part = (self.text or "").lower()
        workers = self.in_order([worker for worker in workers if part in worker.worker_id.lower()])
        rows: list[Row[Held]] = []
        for worker in workers:
            rows.append(Row(f"worker\0{worker.worker_id}", _worker_cells(worker, now), worker))
            rows += [Row(f"run\0{lease.run_id}", _lease_cells(lease, now), lease) for lease in worker.holding]
            if worker.leases > len(worker.holding):
                more = f"  … and {fmt.number(worker.leases - len(worker.holding))} more"
                rows.append(
                    Row(f"more\0{worker.worker_id}", (cell(more, "bright_black"), *[EMPTY] * 7), worker)
                )
        self.table.show_rows(rows, now)
        caption = _caption(self.snapshot, workers)
        self.append_finding(caption, len(workers))
        self.caption.put(caption)

    def target(self) -> Target | None:
        """The run under the cursor."""
        held = self.table.record
        return lease_target(held) if isinstance(held, Lease) else None

    def task_id(self) -> str | None:
        """The task of the run under the cursor, or of the worker's first one."""
        held = self.table.record
        if isinstance(held, WorkerRow):
            return held.holding[0].task_id if held.holding else None
        return held.task_id if held else None

    @property
    def opens(self) -> bool:
        """Whether there is a task to go to: a worker may hold nothing."""
        return self.task_id() is not None

    def describe(self) -> str:
        """Full ids."""
        held = self.table.record
        if isinstance(held, Lease):
            return fmt.printable(f"task {held.task_id}  run {held.run_id}")
        if held is None:
            return ""
        gone = "  its process is gone" if held.presence == "gone" else ""
        return fmt.printable(f"worker {held.worker_id}{gone}")


def _missed(worker: WorkerRow) -> bool:
    return worker.presence == "gone" and worker.leases > 0


def _caption(snapshot: Snapshot, workers: list[WorkerRow]) -> Text:
    by = {presence: sum(worker.presence == presence for worker in workers) for presence in cells.PRESENCE}
    text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
    text.append(fmt.plural(len(workers), "worker"), "bold")
    for presence, count in by.items():
        if count:
            text.append(f"   {count} {presence}", cells.PRESENCE[presence][1])
    rate = sum(worker.per_minute for worker in workers)
    text.append(f"   {fmt.plural(sum(worker.leases for worker in workers), 'lease')}", "blue")
    text.append(f"   {fmt.rate(rate)} a minute", "bright_black")
    if any(worker.sampled for worker in snapshot.workers):
        text.append("   the newest settled runs only", "yellow")
    return text


def _worker_cells(worker: WorkerRow, now: datetime) -> tuple[Cell, ...]:
    about = "≥" if worker.sampled else ""
    return (
        cell(fmt.printable(worker.worker_id), "bold"),
        cells.presence(worker.presence),
        cell(str(worker.leases), "blue" if worker.leases else "bright_black"),
        EMPTY,
        cell(fmt.rate(worker.per_minute), "" if worker.per_minute else "bright_black"),
        cell(f"{about}{fmt.compact(worker.completed)}", "green" if worker.completed else "bright_black"),
        cell(f"{about}{fmt.compact(worker.failed)}", "red" if worker.failed else "bright_black"),
        cell(fmt.ago(worker.last_seen, now), "bright_black"),
    )


def _lease_cells(lease: Lease, now: datetime) -> tuple[Cell, ...]:
    return (
        (
            ("  ● ", "blue"),
            (fmt.printable(lease.name), ""),
            (f" {fmt.short_id(lease.task_id)}", "bright_black"),
        ),
        EMPTY,
        EMPTY,
        cells.lease_countdown(lease.expires_at, now),
        EMPTY,
        EMPTY,
        EMPTY,
        cell(fmt.ago(lease.started_at, now)),
    )
