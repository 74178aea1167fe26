"""One look at a store, printed and done: tables for people, JSON for scripts. Never imports Textual."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dura.filters import parse, texts
from dura.records import TASK_SORTS, AuditQuery, Snapshot, TaskQuery, Want
from dura_tui import format as fmt
from dura_tui.filter import FILTERED, TASK_ORDERS
from dura_tui.keys import VIEWS
from dura_tui.once_tables import EVERYTHING, TABLES, Printed
from dura_tui.start import WrongStart
from dura_tui.throughput import failures, rate
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell, to_text

_ROWS: Final = 20
_VIEW_ROWS: Final = 200

_WIDEST: Final = 36
_WIDE_CONSOLE: Final = 120
"""From this width on, ids are printed in full."""

_FILTERED_ON_SCREEN: Final = ("workers", "queues", "state")
"""Views that are read whole; the screen leaves out of them what does not match."""

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
"""What is read when no view is named: at most 20 rows of each list."""


def want_for(view: str, line: str, sort: str) -> Want:
    """What a view needs, with its filter, at most 200 rows of each list.

    Args:
        view: Its name.
        line: Its filter; empty for everything.
        sort: Of the tasks, a sort order of theirs; empty for a list's own order.

    Raises:
        WrongStart: There is no such view, or this cannot be asked of it.
        InvalidFilter: The filter means nothing there.
    """
    if view not in VIEWS:
        raise WrongStart(f"there is no view {view!r}: use one of {', '.join(VIEWS)}")
    sort = TASK_ORDERS.get(sort, sort) if view == "tasks" else sort
    if sort and (view != "tasks" or sort.removeprefix("-") not in TASK_SORTS):
        raise WrongStart(f"only the tasks are printed in other orders: by {', '.join(TASK_SORTS)}")
    filtered = FILTERED.get(view)
    if line and (filtered is None or view in _FILTERED_ON_SCREEN):
        others = [name for name in FILTERED if name not in _FILTERED_ON_SCREEN]
        raise WrongStart(f"the view {view!r} is printed without a filter: only {', '.join(others)} have one")
    where = parse(line, filtered.fields) if filtered else ()
    terms = tuple(condition for condition in where if condition.field != "text")
    text = next(iter(texts(where)), None)
    return {
        "overview": replace(WANT, tasks=None, audit_query=None),
        "leases": Want(leases=_VIEW_ROWS, where=where),
        "sleeping": Want(sleepers=_VIEW_ROWS, where=where),
        "tasks": Want(tasks=TaskQuery(where=where, sort=sort, limit=_VIEW_ROWS)),
        "events": Want(awaited=_VIEW_ROWS, events=_VIEW_ROWS, events_like=text),
        "state": Want(namespaces=True),
        "failures": Want(failure_groups="error", failures=_ROWS, where=where),
        "approvals": Want(approvals=_VIEW_ROWS, events_like=text, where=terms),
        "workers": Want(workers=True),
        "queues": Want(queues=True),
        "audit": Want(audit_query=AuditQuery(where=where, limit=_VIEW_ROWS)),
    }[view]


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


def print_tables(snapshot: Snapshot, console: Console, view: str | None = None) -> None:
    """Print the snapshot as tables, as wide as the console: those of a view, or without one those of them all."""
    of = fmt.printable if console.width >= _WIDE_CONSOLE else fmt.short_id
    for line in _summary(snapshot):
        console.print(to_text(line), overflow="ellipsis", no_wrap=True, crop=True)
    printed = [table(snapshot, of) for table in (EVERYTHING if view is None else TABLES[view])]
    for table in printed:
        if table.rows:
            _print(table, console)
    if view is not None and not any(table.rows for table in printed):
        console.print(to_text(cell("\nnothing to show", "bright_black")))


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


def _print(printed: Printed, console: Console) -> None:
    console.print()
    console.print(Text(printed.title, style="bold cyan"))
    gap = 2 if console.width >= _WIDE_CONSOLE else 1
    table = Table(box=None, padding=(0, gap, 0, 0), header_style="dim", pad_edge=False)
    for place, column in enumerate(printed.columns):
        # Only the last column gives way when the console is narrow.
        needed = max(len(column), *(cell_len(cells.plain(row[place])) for row in printed.rows))
        least = None if place == len(printed.columns) - 1 else min(needed, _WIDEST)
        table.add_column(Text(column), no_wrap=True, overflow="ellipsis", min_width=least)
    for row in printed.rows:
        table.add_row(*(to_text(pieces) for pieces in row))
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as printed_table:
        console.print(table)
    for line in printed_table.get().splitlines():
        console.out(line.rstrip(), highlight=False)
