"""The command that tells everything about one task."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from dura.cli.documents import document
from dura.cli.exits import CommandFailed, Exit
from dura.cli.finding import find_task
from dura.cli.output import say_json
from dura.cli.page import FAINT, STATE_STYLES, Cell, Column, Page
from dura.cli.task_tables import state_cell
from dura.cli.watching import tell_hidden, tell_shortened, watched
from dura.cli.wording import (
    NOTHING,
    ago,
    at,
    failure_lines,
    moment_text,
    progress,
    situation,
    sleep_of,
    until,
    value_line,
    value_lines,
)
from dura.display import number, plural, printable, size
from dura.durations import duration
from dura.records import AttemptRow, CheckpointRow, TaskDetail, Waiter, Want
from dura.states import State


def task(args: Namespace) -> Exit:
    """Show one task."""
    with watched(args) as monitor:
        task_id = find_task(monitor, args.id).task.task_id
        snapshot = monitor.snapshot(Want(task_id=task_id))
    tell_shortened(snapshot)
    tell_hidden(snapshot)
    if snapshot.task is None:
        raise CommandFailed(f"task {task_id} was removed from {args.path} while it was looked up")
    if args.json:
        say_json(document(snapshot.task, taken_at=snapshot.taken_at))
    else:
        _print(Page(), snapshot.task, snapshot.taken_at, failures=args.failures)
    return Exit.DONE


def _print(page: Page, detail: TaskDetail, now: datetime, *, failures: int) -> None:
    row = detail.task
    brief = situation(row, now) if row.ended_at is None else f"{ago(row.ended_at, now)} ago"
    page.line((printable(row.name), "bold"), "  ", state_cell(row.state), "  ", brief)
    page.facts(_facts(detail, now))
    _values(page, "Parameters", detail.params)
    page.heading(
        "Attempts", f"the latest {len(detail.attempts)}" if row.attempts > len(detail.attempts) else ""
    )
    _attempts(page, detail.attempts, now)
    if detail.checkpoints:
        page.heading("Finished steps")
        _checkpoints(page, detail.checkpoints, now)
    if detail.waits:
        page.heading("Waits")
        _waits(page, detail.waits, now)
    _failures(page, detail.attempts, now, limit=failures)
    if detail.result is not None:
        _values(page, "Result", detail.result)


def _facts(detail: TaskDetail, now: datetime) -> list[tuple[str, Cell]]:
    row = detail.task
    facts: list[tuple[str, Cell]] = [("task", printable(row.task_id)), ("queue", printable(row.queue))]
    if row.idempotency_key is not None:
        facts.append(("key", printable(row.idempotency_key)))
    facts.append(("priority", str(row.priority)))
    limit = "any number" if row.max_attempts is None else row.max_attempts
    facts.append(("attempts", f"{row.attempts} of {limit}"))
    if detail.retry is not None:
        facts.append(("retry", _retry(detail.retry)))
    if detail.max_reclaims is not None:
        facts.append(("reclaims", f"at most {detail.max_reclaims}, then the task fails"))
    steps = progress(row)
    if detail.steps:
        done = {checkpoint.name for checkpoint in detail.checkpoints}
        left = [printable(step) for step in detail.steps if step not in done]
        steps += f", left: {', '.join(left)}" if left else ""
    facts.append(("steps", steps))
    for name, moment in (("spawned", row.enqueued_at), ("started", row.started_at), ("ended", row.ended_at)):
        if moment is not None:
            facts.append((name, f"{moment_text(moment)}, {ago(moment, now)} ago"))
    return facts


def _retry(text: str) -> str:
    try:
        strategy: Any = json.loads(text)
    except (ValueError, RecursionError):
        return printable(text)
    if not isinstance(strategy, dict):
        return printable(text)
    kind = strategy.pop("kind", NOTHING)
    rest = ", ".join(f"{name} {value}" for name, value in strategy.items() if value is not None)
    return printable(f"{kind}, {rest}" if rest else str(kind))


def _values(page: Page, title: str, text: str) -> None:
    page.heading(title)
    page.block(value_lines(text))


def _attempts(page: Page, rows: Iterable[AttemptRow], now: datetime) -> None:
    columns = [
        Column(title="no", right=True),
        Column(title="run", style=FAINT),
        Column(title="state"),
        Column(title="worker", gives_way=True),
        Column(title="started"),
        Column(title="took", right=True),
        Column(title="note", gives_way=True),
    ]
    lines = []
    for row in rows:
        end = row.ended_at or (now if row.state == State.RUNNING else None)
        took = duration((end - row.started_at).total_seconds()) if row.started_at and end else NOTHING
        lines.append(
            (
                str(row.attempt),
                page.identifier(row.run_id),
                state_cell(row.state),
                printable(row.worker_id or NOTHING),
                at(row.started_at, now),
                took,
                _remark(row, now),
            )
        )
    page.table(columns, lines)


def _remark(row: AttemptRow, now: datetime) -> str:
    remarks = []
    if row.state == State.RUNNING:
        remarks.append(f"lease ends {until(row.claim_expires_at, now)}")
    elif row.state == State.SLEEPING:
        remarks.append(sleep_of(row.sleep_cause or State.SLEEPING, row.wake_event, row.available_at, now))
    if row.reclaims:
        remarks.append(plural(row.reclaims, "reclaim"))
    if row.deferrals:
        remarks.append(plural(row.deferrals, "deferral"))
    return ", ".join(remarks) or NOTHING


def _checkpoints(page: Page, rows: Iterable[CheckpointRow], now: datetime) -> None:
    columns = [
        Column(title="step", gives_way=True),
        Column(title="finished"),
        Column(title="took", right=True),
        Column(title="size", right=True),
        Column(title="value", gives_way=True),
    ]
    lines = [
        (
            printable(row.name),
            at(row.finished_at, now),
            NOTHING if row.seconds is None else duration(row.seconds),
            size(row.size),
            ("timed out", STATE_STYLES[State.SLEEPING]) if row.timed_out else value_line(row.value),
        )
        for row in rows
    ]
    page.table(columns, lines)


def _waits(page: Page, rows: Iterable[Waiter], now: datetime) -> None:
    columns = [
        Column(title="step", gives_way=True),
        Column(title="event", gives_way=True),
        Column(title="deadline"),
        Column(title="sleeps on it"),
    ]
    lines = [
        (
            printable(row.step_name),
            printable(row.event_name),
            until(row.timeout_at, now),
            "yes" if row.waiting else "no",
        )
        for row in rows
    ]
    page.table(columns, lines)


def _failures(page: Page, rows: Iterable[AttemptRow], now: datetime, *, limit: int) -> None:
    failed = [row for row in rows if row.failure_reason is not None]
    shown = failed[-limit:] if limit else []
    if len(shown) < len(failed):
        page.heading("Failures", f"the latest {len(shown)} of {number(len(failed))}; see --failures")
    elif shown:
        page.heading("Failures")
    for row in shown:
        when = f"{at(row.ended_at, now)}, {ago(row.ended_at, now)} ago"
        page.line((f"attempt {row.attempt}", "bold"), (f"  {when}", FAINT))
        page.block(failure_lines(row.failure_reason or ""), "red")
