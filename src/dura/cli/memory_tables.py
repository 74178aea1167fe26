"""The lists of events, of the key-value memory and of the audit in it: for each its columns and its rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dura.cli.page import FAINT, Cell, Column, Page
from dura.cli.wording import NOTHING, ago, at, line_of, until, value_line
from dura.display import number, printable, size
from dura.records import AwaitedEvent, EventRow, NamespaceRow, StateRow
from dura.records.audit import ON_TASKS


def awaited(page: Page, rows: Sequence[AwaitedEvent], now: datetime, *, waiters: bool) -> None:
    """Events that runs sleep on; with `waiters`, a line a waiter instead of a line an event."""
    if not waiters:
        page.table(
            [
                Column(title="event", gives_way=True),
                Column(title="waiters", right=True),
                Column(title="soonest deadline"),
            ],
            [
                (
                    printable(row.event_name),
                    f"{number(row.waiter_count)}{'+' if row.capped else ''}",
                    until(row.soonest_timeout, now),
                )
                for row in rows
            ],
        )
        return
    lines: list[Sequence[Cell]] = []
    for event in rows:
        name = printable(event.event_name)
        for waiter in event.waiters:
            lines.append(
                (
                    name,
                    page.identifier(waiter.task_id),
                    printable(waiter.name),
                    printable(waiter.step_name),
                    until(waiter.timeout_at, now),
                )
            )
            name = name if page.piped else ""
        unseen = event.waiter_count - len(event.waiters)
        if unseen > 0:
            lines.append(
                (name, "", (f"and {number(unseen)}{'+' if event.capped else ''} more", FAINT), "", "")
            )
    page.table(
        [
            Column(title="event", gives_way=True),
            Column(title="task", style=FAINT),
            Column(title="name", gives_way=True),
            Column(title="step", gives_way=True),
            Column(title="deadline"),
        ],
        lines,
    )


def events(page: Page, rows: Sequence[EventRow], now: datetime) -> None:
    """Emitted events."""
    columns = [
        Column(title="event", gives_way=True),
        Column(title="emitted", right=True),
        Column(title="by", gives_way=True),
        Column(title="payload", gives_way=True),
    ]
    lines = [
        (
            printable(row.event_name),
            f"{ago(row.emitted_at, now)} ago",
            printable(row.emitted_by or "a program"),
            value_line(row.payload),
        )
        for row in rows
    ]
    page.table(columns, lines)


def namespaces(page: Page, rows: Sequence[NamespaceRow]) -> None:
    """Namespaces of the key-value memory."""
    page.table(
        [Column(title="namespace", gives_way=True), Column(title="keys", right=True)],
        [(printable(row.namespace), f"{number(row.keys)}{'+' if row.capped else ''}") for row in rows],
    )


def keys(page: Page, rows: Sequence[StateRow], now: datetime) -> None:
    """Keys of one namespace."""
    columns = [
        Column(title="key", gives_way=True),
        Column(title="written", right=True),
        Column(title="size", right=True),
        Column(title="value", gives_way=True),
    ]
    lines = [
        (printable(row.key), f"{ago(row.updated_at, now)} ago", size(len(row.value)), value_line(row.value))
        for row in rows
    ]
    page.table(columns, lines)


def audit(page: Page, rows: Sequence[StateRow], now: datetime) -> None:
    """What operators did."""
    columns = [
        Column(title="when"),
        Column(title="action"),
        Column(title="target", gives_way=True),
        Column(title="by", gives_way=True),
        Column(title="reason", gives_way=True),
    ]
    if page.roomy:
        columns.append(Column(title="outcome", gives_way=True))
    lines: list[Sequence[Cell]] = []
    for row in rows:
        entry = _entry(row.value)
        target = str(entry.get("target") or NOTHING)
        line: list[Cell] = [
            at(row.updated_at, now),
            printable(str(entry.get("action") or NOTHING)),
            page.identifier(target) if entry.get("action") in ON_TASKS else printable(target),
            printable(str(entry.get("actor") or NOTHING)),
            line_of(str(entry.get("reason") or NOTHING)),
        ]
        lines.append([*line, _change(entry)] if page.roomy else line)
    page.table(columns, lines)


def _entry(value: str) -> dict[str, Any]:
    try:
        entry = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _change(entry: dict[str, Any]) -> str:
    before, after = entry.get("before"), entry.get("after")
    return line_of(f"{before} → {after}" if before else str(after or NOTHING))
