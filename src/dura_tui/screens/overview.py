"""Overview: is work being done, is anything stuck, who does it, how large is the file."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import DataTable

from dura.records import FailureInfo, Snapshot, TaskQuery, Want, WorkerRow
from dura.states import State
from dura_tui import format as fmt
from dura_tui.first import OVERVIEW
from dura_tui.screens.view import Hint, View
from dura_tui.widgets import cells
from dura_tui.widgets.bars import Line
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.chart import Chart
from dura_tui.widgets.live_table import Column, LiveTable, Row

_LATE_SECONDS = 3.0
"""How long a lease that ran out may wait for the next claim before it is worth a word."""


@dataclass(frozen=True, slots=True)
class NameTotal:
    """The tasks of one queue and name, by state."""

    queue: str
    name: str
    by_state: dict[str, int]

    @property
    def live(self) -> int:
        """How many can still move."""
        return sum(self.by_state.get(state, 0) for state in ("pending", "running", "sleeping"))


class OverviewView(View):
    """The first thing to look at."""

    ACTS: ClassVar[tuple[str, ...]] = ("cleanup",)
    ABOUT: ClassVar[tuple[str, ...]] = (
        "Tasks by state, throughput, how much waits for a worker and since when, the file, and the tasks by queue and",
        "name. A log (wal) that grows without end means that a reader holds it.",
        "enter  a name: its tasks; a failure: its task    tab  the next table",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with empty tables."""
        super().__init__(id=id)
        self._lines = {name: Line(id=name) for name in ("totals", "words", "ready", "file")}
        self._chart = Chart()
        self.name_table = LiveTable[NameTotal](
            (
                Column("QUEUE", 10, at=56),
                Column("NAME"),
                *(
                    Column(cells.GLYPHS[state], 6, at=0 if state in _ALWAYS else 60, right=True)
                    for state in State
                ),
            ),
            empty="No tasks yet.",
            id="names",
        )
        self.worker_table = LiveTable[WorkerRow](
            (
                Column("WORKER"),
                Column("", 9),
                Column("LEASES", 6, right=True),
                Column("DONE/H", 6, at=54, right=True),
                Column("FAILED", 6, at=54, right=True),
                Column("SEEN", 7, at=46, right=True),
            ),
            empty="No worker holds a lease or settled a run in the last hour.",
            id="workers",
        )
        self.failure_table = LiveTable[FailureInfo](
            (
                Column("FAILED", 7, right=True),
                Column("TASK"),
                Column("ATT", 3, right=True),
                Column("WHY", share=2),
            ),
            empty="No attempt has failed.",
            id="failures",
        )

    def compose(self) -> ComposeResult:
        """Totals, vital signs, names, workers, and on a wide screen the latest failures."""
        yield self._lines["totals"]
        yield self._lines["words"]
        yield self._chart
        yield self._lines["ready"]
        yield self._lines["file"]
        with Horizontal(id="tables"):
            yield self.name_table
            with Vertical(id="right"):
                yield self.worker_table
                yield self.failure_table

    def want(self) -> Want:
        """Workers, throughput, failures and the lease that ends first; the counts come with every snapshot."""
        return OVERVIEW

    def enter(self) -> None:
        """The keys go to the names."""
        self.name_table.focus()

    # --- drawing -----------------------------------------------------------------------------------------------------

    def draw(self, now: datetime) -> None:
        """Draw everything."""
        snapshot = self.snapshot
        if snapshot is None or not self.size.width:
            return  # The first layout draws it: there is no width to draw to before.
        totals, words = _totals(snapshot, self.size.width)
        self._lines["totals"].put(totals)
        self._lines["words"].put(words)
        self._chart.put(snapshot.throughput)
        self._lines["ready"].put(_ready(snapshot, now))
        self._lines["file"].put(_file(snapshot))
        self.name_table.show_rows([_name_row(total) for total in by_name(snapshot)], now)
        self.worker_table.show_rows([_worker_row(worker, now) for worker in snapshot.workers], now)
        self.failure_table.show_rows([_failure_row(failure, now) for failure in snapshot.failures], now)

    def on_resize(self) -> None:
        """Draw the totals to the new width."""
        self.draw_again()

    # --- the operator ------------------------------------------------------------------------------------------------

    def hints(self) -> list[Hint]:
        """What Enter does, and moving between the tables."""
        if self.worker_table.has_focus:
            return [("tab", "next table", "screen.focus_next")]
        return [("enter", "open", "screen.open"), ("tab", "next table", "screen.focus_next")]

    def describe(self) -> str:
        """The line under the cursor in full."""
        if self.worker_table.has_focus:
            return (
                fmt.printable(f"worker {self.worker_table.record.worker_id}")
                if self.worker_table.record
                else ""
            )
        if self.failure_table.has_focus:
            failure = self.failure_table.record
            return fmt.printable(f"task {failure.task_id}  {_why(failure)}") if failure else ""
        total = self.name_table.record
        if total is None:
            return ""
        ended = sum(total.by_state.values()) - total.live
        return fmt.printable(f"queue {total.queue}  {total.name}: {total.live:,} live, {ended:,} ended")

    def open(self) -> None:
        """From a name to its tasks, from a failure to its task."""
        if self.failure_table.has_focus and self.failure_table.record:
            self.post_message(View.OpenTask(self.failure_table.record.task_id))
        elif self.name_table.has_focus and self.name_table.record:
            total = self.name_table.record
            self.post_message(View.ListTasks(TaskQuery(queue=total.queue, name=total.name)))

    @on(DataTable.RowSelected)
    def _open_row(self, event: DataTable.RowSelected) -> None:
        event.stop()
        self.open()

    @on(DataTable.RowHighlighted)
    def _row_changed(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self.post_message(View.CursorMoved())


_ALWAYS = (State.PENDING, State.RUNNING, State.SLEEPING, State.FAILED)


def by_name(snapshot: Snapshot) -> list[NameTotal]:
    """The counts by queue and name: those with the most live tasks first, then those with the most failed ones."""
    groups: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for row in snapshot.counts:
        if row.count:
            groups[row.queue, row.name][row.state] = row.count
    totals = [NameTotal(queue, name, by_state) for (queue, name), by_state in groups.items()]
    return sorted(
        totals, key=lambda total: (-total.live, -total.by_state.get("failed", 0), total.queue, total.name)
    )


def _totals(snapshot: Snapshot, width: int) -> tuple[Text, Text]:
    """The tasks by state: a line of numbers over a line of glyphs and words."""
    totals, words = Text(no_wrap=True, end=""), Text(no_wrap=True, end="")
    room = max(min(width, 96) // len(State), 6)
    counts = snapshot.totals()
    for state in State:
        count = counts.get(state, 0)
        value = fmt.number(count) if len(fmt.number(count)) < room - 1 else fmt.compact(count)
        if not snapshot.counts_exact:
            value = f"≥{value}"
        style = cells.STYLES[state] if count else "bright_black"
        totals.append(value.rjust(room - 1) + " ", f"bold {style}" if count else style)
        word = f"{cells.GLYPHS[state]} {state}"
        words.append(word[: room - 1].rjust(room - 1) + " ", style)
    return totals, words


def _ready(snapshot: Snapshot, now: datetime) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis", end="")
    text.append(" ready       ", "bright_black")
    waited = (now - snapshot.oldest_due).total_seconds() if snapshot.ready and snapshot.oldest_due else 0.0
    text.append_text(_ready_runs(snapshot, waited))
    run_out = snapshot.leases[0].expires_at if snapshot.leases else None
    late = (now - run_out).total_seconds() if run_out else 0.0
    if late >= _LATE_SECONDS:
        # Such a run counts as running: with no worker left to claim, nothing else here would say that it stands still.
        text.append(f"  a lease ran out {fmt.ago(run_out, now)} ago", "bold yellow")
    elif waited >= 60 and not any(worker.presence == "alive" for worker in snapshot.workers):
        text.append("  no live worker known", "yellow")
    return text


def _ready_runs(snapshot: Snapshot, waited: float) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis", end="")
    if not snapshot.ready:
        text.append("nothing waits for a worker")
        return text
    text.append(fmt.plural(snapshot.ready, "run"), "bold")
    text.append(", the oldest due for ", "bright_black")
    text.append(
        fmt.whole_duration(waited), "bold red" if waited >= 300 else "bold yellow" if waited >= 60 else "bold"
    )
    return text


def _file(snapshot: Snapshot) -> Text:
    file = snapshot.file
    text = Text(no_wrap=True, overflow="ellipsis", end="")
    text.append(" file        ", "bright_black")
    text.append(fmt.size(file.size), "bold")
    text.append("  wal ", "bright_black")
    text.append(
        fmt.size(file.wal_size), "bold yellow" if file.wal_size > max(64_000_000, file.size) else "bold"
    )
    if file.origin != "dura":
        text.append(f"  dura {file.origin}: actions need `dura upgrade`", "yellow")
    reading = {
        "live": "shared with its writers",
        "still": "no writer has it open",
        "copy": "from a private copy",
    }
    text.append(f"  {reading.get(file.reading, file.reading)}", "bright_black")
    if not snapshot.counts_exact:
        text.append("  counts are a lower bound", "yellow")
    return text


def _name_row(total: NameTotal) -> Row[NameTotal]:
    counts: list[Cell] = []
    for state in State:
        count = total.by_state.get(state, 0)
        counts.append(
            cell(fmt.compact(count) if count else "·", cells.STYLES[state] if count else "bright_black")
        )
    names = (cell(fmt.printable(total.queue), "bright_black"), cell(fmt.printable(total.name)))
    return Row(f"{total.queue}\0{total.name}", (*names, *counts), total)


def _worker_row(worker: WorkerRow, now: datetime) -> Row[WorkerRow]:
    about = "≥" if worker.sampled else ""
    return Row(
        worker.worker_id,
        (
            cell(fmt.printable(worker.worker_id)),
            cells.presence(worker.presence),
            cell(str(worker.leases), "blue" if worker.leases else "bright_black"),
            cell(f"{about}{fmt.compact(worker.completed)}", "green" if worker.completed else "bright_black"),
            cell(f"{about}{fmt.compact(worker.failed)}", "red" if worker.failed else "bright_black"),
            cell(fmt.ago(worker.last_seen, now), "bright_black"),
        ),
        worker,
    )


def _why(failure: FailureInfo) -> str:
    reason = failure.failure_reason
    if isinstance(reason, dict) and (reason.get("type") or reason.get("message")):
        return fmt.printable(": ".join(str(reason[key]) for key in ("type", "message") if reason.get(key)))
    return fmt.printable(str(reason))


def _moment(stored: str) -> datetime | None:
    """A stored time; None for a text that is none, which a file of 1.3.0 may hold."""
    try:
        return datetime.fromisoformat(stored).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _failure_row(failure: FailureInfo, now: datetime) -> Row[FailureInfo]:
    return Row(
        failure.run_id,
        (
            cell(fmt.ago(_moment(failure.failed_at), now), "bright_black"),
            cell(fmt.printable(failure.task_name)),
            cell(str(failure.attempt), "bright_black"),
            cell(_why(failure), "red"),
        ),
        failure,
    )
