"""One look at a store, printed and done: tables for people, JSON for scripts. Never imports Textual."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dura.records import AuditQuery, Snapshot, TaskQuery, Want
from dura.states import State
from dura_tui import format as fmt
from dura_tui.throughput import failures, rate
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell, to_text

_ROWS: Final = 20

_WIDEST: Final = 36
_WIDE_CONSOLE: Final = 120
"""From this width on, ids are printed in full."""

PIPE_WIDTH: Final = 160
"""How wide tables are when no terminal says."""

WANT: Final = Want(
    leases=_ROWS,
    sleepers=_ROWS,
    awaited=_ROWS,
    events=_ROWS,
    waiting=True,
    approvals=_ROWS,
    failures=_ROWS,
    failure_groups="error",
    workers=True,
    queues=True,
    throughput=True,
    tasks=TaskQuery(limit=_ROWS),
    namespaces=True,
    audit_query=AuditQuery(limit=_ROWS),
)
"""What is printed: at most 20 rows of each list."""


def as_json(snapshot: Snapshot) -> str:
    """The snapshot as a JSON document: field names as the records have them, times as ISO text, stored values as text."""
    return json.dumps(_plain(snapshot), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def print_tables(snapshot: Snapshot, console: Console) -> None:
    """Print the snapshot as tables, as wide as the console."""
    now = snapshot.taken_at
    of = fmt.printable if console.width >= _WIDE_CONSOLE else fmt.short_id
    for line in _summary(snapshot):
        console.print(to_text(line), overflow="ellipsis", no_wrap=True, crop=True)
    _counts(snapshot, console)
    _table(
        console,
        "Queues",
        ("QUEUE", "READY", "OLDEST DUE", "IN/MIN", "OUT/MIN", "DRAINS IN"),
        [
            (
                cell(fmt.printable(queue.queue)),
                cell(fmt.number(queue.ready)),
                cell(fmt.ago(queue.oldest_due, now)),
                cell(fmt.rate(queue.in_per_minute)),
                cell(fmt.rate(queue.out_per_minute)),
                cells.drains_in(queue),
            )
            for queue in snapshot.queues
        ],
    )
    _table(
        console,
        "Leases",
        ("EXPIRES IN", "TASK", "ID", "ATT", "RECL", "WORKER"),
        [
            (
                cells.lease_countdown(lease.expires_at, now),
                cell(fmt.printable(lease.name)),
                cell(of(lease.task_id)),
                cells.attempts(lease.attempt, lease.max_attempts),
                cell(fmt.of_limit(lease.reclaims, lease.max_reclaims)),
                cell(fmt.printable(lease.worker_id)),
            )
            for lease in snapshot.leases
        ],
    )
    _table(
        console,
        "Sleeping",
        ("DUE IN", "CAUSE", "TASK", "ID", "ATT", "WAITS FOR"),
        [
            (
                cells.due_countdown(sleeper.due_at, now),
                cells.cause(sleeper.cause),
                cell(fmt.printable(sleeper.name)),
                cell(of(sleeper.task_id)),
                cell(str(sleeper.attempt)),
                cells.waits_for(sleeper),
            )
            for sleeper in snapshot.sleepers
        ],
    )
    _table(
        console,
        "Awaited events",
        ("EVENT", "WAITERS", "SOONEST TIMEOUT"),
        [
            (
                cell(fmt.printable(event.event_name)),
                cell(f"{fmt.number(event.waiter_count)}{'+' * event.capped}"),
                cells.due_countdown(event.soonest_timeout, now),
            )
            for event in snapshot.awaited
        ],
    )
    _table(
        console,
        "Approvals",
        ("TIMEOUT IN", "EVENT", "TASK", "ID", "STEP"),
        [
            (
                cells.due_countdown(approval.timeout_at, now),
                cell(fmt.printable(approval.event_name)),
                cell(fmt.printable(approval.name)),
                cell(of(approval.task_id)),
                cell(fmt.printable(approval.step_name)),
            )
            for approval in snapshot.approvals
        ],
    )
    _table(
        console,
        "Failures",
        ("FAILED", "ATTEMPTS", "ERROR", "LATEST", "SAID LAST"),
        [
            (
                cell(fmt.number(group.tasks)),
                cell(fmt.number(group.attempts)),
                cell(fmt.printable(group.key)),
                cell(fmt.ago(group.latest_at, now)),
                cell(fmt.printable(group.latest_error)),
            )
            for group in (snapshot.failure_groups.groups if snapshot.failure_groups else ())[:_ROWS]
        ],
    )
    _table(
        console,
        "Latest failures",
        ("TASK", "ID", "ATT", "AT (UTC)", "WHY"),
        [
            (
                cell(fmt.printable(failure.task_name)),
                cell(of(failure.task_id)),
                cell(str(failure.attempt)),
                cell(fmt.printable(failure.failed_at[:19].replace("T", " "))),
                cell(fmt.failure(json.dumps(failure.failure_reason))),
            )
            for failure in snapshot.failures
        ],
    )
    _table(
        console,
        "Workers",
        ("WORKER", "PRESENCE", "LEASES", "PER MIN", "DONE/H", "FAILED", "SEEN"),
        [
            (
                cell(fmt.printable(worker.worker_id)),
                cell(fmt.printable(worker.presence)),
                cell(str(worker.leases)),
                cell(fmt.rate(worker.per_minute)),
                cell(fmt.number(worker.completed)),
                cell(fmt.number(worker.failed)),
                cell(fmt.ago(worker.last_seen, now)),
            )
            for worker in snapshot.workers
        ],
    )
    _table(
        console,
        "Audit",
        ("AT (UTC)", "ACTION", "TARGET", "ACTOR", "REASON"),
        [
            (
                cell(fmt.at(entry.at, now)),
                cell(fmt.printable(entry.action)),
                cell(of(entry.target) if entry.task_id else fmt.printable(entry.target)),
                cell(fmt.printable(entry.actor)),
                cell(fmt.printable(entry.reason or "")),
            )
            for entry in (snapshot.audit_page.entries if snapshot.audit_page else ())
        ],
    )


def _summary(snapshot: Snapshot) -> Iterable[Cell]:
    file = snapshot.file
    writer = "dura" if file.origin == "dura" else f"dura {file.origin}"
    size = f"{fmt.size(file.size)}, wal {fmt.size(file.wal_size)}, written by {writer}"
    yield ((fmt.printable(file.path), "bold"), (f"   {size}", ""))
    ready = f"{fmt.plural(snapshot.ready, 'run')} ready"
    if snapshot.ready and snapshot.oldest_due:
        ready += f", the oldest due for {fmt.ago(snapshot.oldest_due, snapshot.taken_at)}"
    if snapshot.throughput is not None:
        failed, span = failures(snapshot.throughput)
        ready += f"   {rate(snapshot.throughput)}, {fmt.number(failed)} failed in {span}"
    yield cell(f"{snapshot.taken_at:%Y-%m-%d %H:%M:%S} UTC   {ready}")
    if not snapshot.counts_exact or snapshot.truncated:
        yield cell("some of it ran out of its time and is a lower bound", "yellow")


def _counts(snapshot: Snapshot, console: Console) -> None:
    rows: dict[tuple[str, str], dict[str, int]] = {}
    for row in snapshot.counts:
        rows.setdefault((row.queue, row.name), {})[row.state] = row.count
    table = [
        (
            cell(fmt.printable(queue)),
            cell(fmt.printable(name)),
            *(cell(fmt.number(by_state[state]) if by_state.get(state) else "·") for state in State),
        )
        for (queue, name), by_state in sorted(rows.items())
    ]
    totals = snapshot.totals()
    table.append(
        (cell("all", "bold"), cell(""), *(cell(fmt.number(totals.get(state, 0)), "bold") for state in State))
    )
    _table(console, "Tasks", ("QUEUE", "NAME", *(state.upper() for state in State)), table)


def _table(console: Console, title: str, columns: Sequence[str], rows: Sequence[tuple[Cell, ...]]) -> None:
    if not rows:
        return
    console.print()
    console.print(Text(title, style="bold cyan"))
    gap = 2 if console.width >= _WIDE_CONSOLE else 1
    table = Table(box=None, padding=(0, gap, 0, 0), header_style="dim", pad_edge=False)
    for place, column in enumerate(columns):
        # Only the last column gives way when the console is narrow.
        needed = max(len(column), *(cell_len(cells.plain(row[place])) for row in rows))
        least = None if place == len(columns) - 1 else min(needed, _WIDEST)
        table.add_column(Text(column), no_wrap=True, overflow="ellipsis", min_width=least)
    for row in rows:
        table.add_row(*(to_text(pieces) for pieces in row))
    console.print(table)
