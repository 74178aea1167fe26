"""The lists of tasks, runs and workers: for each its columns and its rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from dura.cli.page import FAINT, STATE_STYLES, Cell, Column, Page
from dura.cli.wording import NOTHING, ago, lease_end, line_of, progress, situation, until
from dura.display import number, of_limit, printable
from dura.records import (
    CountRow,
    FailureInfo,
    Lease,
    Sleeper,
    TaskRow,
    WorkerRow,
)
from dura.states import State

_SHORT_STATES: Final = {
    State.PENDING: "pend.",
    State.RUNNING: "run.",
    State.SLEEPING: "sleep.",
    State.COMPLETED: "compl.",
    State.FAILED: "failed",
    State.CANCELLED: "canc.",
}
_PRESENCE_STYLES: Final = {"alive": "green", "gone": "bold red"}


def state_cell(state: str) -> Cell:
    """A state in its colour."""
    return printable(state), STATE_STYLES.get(state, "")


def counts(page: Page, rows: Sequence[CountRow], *, exact: bool) -> None:
    """Tasks by queue and name, a column a state."""
    groups: dict[tuple[str, str], dict[str, int]] = {}
    totals: dict[str, int] = {}
    for row in rows:
        groups.setdefault((row.queue, row.name), {})[row.state] = row.count
        totals[row.state] = totals.get(row.state, 0) + row.count
    lines: list[list[Cell]] = [
        [printable(queue), printable(name), *_counts(found, exact=exact)]
        for (queue, name), found in groups.items()
    ]
    if len(lines) > 1 and not page.piped:
        lines.append(["", ("all", "bold"), *_counts(totals, exact=exact)])
    columns = [Column(title="queue", gives_way=True), Column(title="name", gives_way=True)]
    short = not page.fits([*columns, *_state_columns(short=False)], lines)
    page.table([*columns, *_state_columns(short=short)], lines)


def _state_columns(*, short: bool) -> list[Column]:
    return [Column(title=_SHORT_STATES[state] if short else state.value, right=True) for state in State]


def _counts(found: dict[str, int], *, exact: bool) -> list[Cell]:
    return [_count(found.get(state, 0), state, exact=exact) for state in State]


def _count(count: int, state: str, *, exact: bool) -> Cell:
    if not count:
        return NOTHING, FAINT
    return f"{'' if exact else '≥'}{number(count)}", STATE_STYLES[state]


def tasks(page: Page, rows: Sequence[TaskRow], now: datetime) -> None:
    """A task list."""
    columns = [Column(title="task", style=FAINT), Column(title="name", gives_way=True)]
    if page.roomy:
        columns.append(Column(title="queue", gives_way=True))
    columns += [
        Column(title="state"),
        Column(title="attempt", right=True),
        Column(title="steps", right=True),
        Column(title="age", right=True),
    ]
    if page.roomy:
        columns += [Column(title="priority", right=True), Column(title="key", gives_way=True)]
    columns.append(Column(title="note", gives_way=True))
    lines = []
    for row in rows:
        line: list[Cell] = [page.identifier(row.task_id), printable(row.name)]
        if page.roomy:
            line.append(printable(row.queue))
        line += [
            state_cell(row.state),
            of_limit(row.attempts, row.max_attempts),
            progress(row),
            ago(row.enqueued_at, now),
        ]
        if page.roomy:
            line += [str(row.priority), line_of(row.idempotency_key or NOTHING)]
        line.append((situation(row, now), "red" if row.state == State.FAILED else ""))
        lines.append(line)
    page.table(columns, lines)


def leases(page: Page, rows: Sequence[Lease], now: datetime) -> None:
    """Running runs, and when their leases end."""
    columns = [
        Column(title="task", style=FAINT),
        Column(title="name", gives_way=True),
        Column(title="attempt", right=True),
        Column(title="reclaims", right=True),
        Column(title="worker", gives_way=True),
        Column(title="lease ends"),
    ]
    lines = [
        (
            page.identifier(row.task_id),
            printable(row.name),
            of_limit(row.attempt, row.max_attempts),
            of_limit(row.reclaims, row.max_reclaims),
            printable(row.worker_id),
            (lease_end(row, now) if page.roomy else until(row.expires_at, now), _urgency(row, now)),
        )
        for row in rows
    ]
    page.table(columns, lines)


def _urgency(lease: Lease, now: datetime) -> str:
    left = (lease.expires_at - now).total_seconds() if lease.expires_at else 3600.0
    return "bold red" if left <= 10 else "yellow" if left <= 30 else ""


def sleepers(page: Page, rows: Sequence[Sleeper], now: datetime) -> None:
    """Sleeping runs, and what ends their sleep."""
    columns = [
        Column(title="task", style=FAINT),
        Column(title="name", gives_way=True),
        Column(title="attempt", right=True),
        Column(title="cause"),
        Column(title="due"),
        Column(title="event or step", gives_way=True),
    ]
    lines = [
        (
            page.identifier(row.task_id),
            printable(row.name),
            str(row.attempt),
            (printable(row.cause), STATE_STYLES[State.SLEEPING]),
            until(row.due_at, now),
            _event_or_step(row),
        )
        for row in rows
    ]
    page.table(columns, lines)


def _event_or_step(sleeper: Sleeper) -> str:
    name = sleeper.event_name or sleeper.step_name or NOTHING
    return printable(name) + (", though its task is over" if sleeper.stray else "")


def workers(page: Page, rows: Sequence[WorkerRow], now: datetime) -> None:
    """Workers of the last hour."""
    columns = [
        Column(title="worker", gives_way=True),
        Column(title="process"),
        Column(title="leases", right=True),
        Column(title="completed", right=True),
        Column(title="failed", right=True),
        Column(title="last seen", right=True),
    ]
    lines = [
        (
            printable(row.worker_id),
            (printable(row.presence), _PRESENCE_STYLES.get(row.presence, FAINT)),
            number(row.leases),
            f"{'≥' if row.sampled else ''}{number(row.completed)}",
            (f"{'≥' if row.sampled else ''}{number(row.failed)}", "red" if row.failed else ""),
            f"{ago(row.last_seen, now)} ago",
        )
        for row in rows
    ]
    page.table(columns, lines)


def failures(page: Page, rows: Sequence[FailureInfo], now: datetime) -> None:
    """Attempts that failed lately."""
    columns = [
        Column(title="task", style=FAINT),
        Column(title="name", gives_way=True),
        Column(title="attempt", right=True),
        Column(title="failed", right=True),
        Column(title="why", gives_way=True, style="red"),
    ]
    lines = [
        (
            page.identifier(row.task_id),
            printable(row.task_name),
            str(row.attempt),
            f"{ago(_moment(row.failed_at), now)} ago",
            line_of(_why(row.failure_reason)),
        )
        for row in rows
    ]
    page.table(columns, lines)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _why(reason: Any) -> str:
    if isinstance(reason, dict):
        head = ": ".join(str(reason[key]) for key in ("type", "message") if reason.get(key))
        return head or json.dumps(reason, ensure_ascii=False)
    return str(reason)
