"""Facts as the command's tables and pages tell them; times are told relative to the moment of the look."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any, Final

from dura.display import printable, printable_lines
from dura.durations import duration
from dura.records import Lease, TaskRow
from dura.states import SleepCause, State

NOTHING: Final = "-"
"""What stands where there is nothing to say."""

_LONGEST_LINE: Final = 400
_JSON_WIDTH: Final = 74
_POINTER: Final = re.compile(r"\s*[~^]+\s*")


def line_of(text: str) -> str:
    """Text on one harmless line, cut where it gets too long for a table."""
    return printable(text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + "…")


# --- times ------------------------------------------------------------------------------------------------------------


def ago(moment: datetime | None, now: datetime) -> str:
    """How long since a moment: `42s`; `0s` for one that is still to come, since clocks differ."""
    return NOTHING if moment is None else duration(float(int(max((now - moment).total_seconds(), 0.0))))


def until(moment: datetime | None, now: datetime) -> str:
    """How long until a moment: `in 42s`, or `3m 05s ago` once it has passed."""
    if moment is None:
        return "never"
    left = (moment - now).total_seconds()
    return f"in {duration(float(-int(-left // 1)))}" if left > 0 else f"{ago(moment, now)} ago"


def at(moment: datetime | None, now: datetime) -> str:
    """The time of day in UTC, with the date when it is not the day of the look."""
    if moment is None:
        return NOTHING
    return f"{moment:%H:%M:%S}" if moment.date() == now.date() else f"{moment:%Y-%m-%d %H:%M}"


def moment_text(moment: datetime) -> str:
    """A moment to the second, for example `2026-01-01 12:00:00 UTC`."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


# --- what a task is about ---------------------------------------------------------------------------------------------


def sleep_of(cause: str, event_name: str | None, due_at: datetime | None, now: datetime) -> str:
    """What ends a sleep: `approved:7, or in 5m`, `backoff, due in 12s`."""
    if cause == SleepCause.EVENT and event_name is not None:
        name = printable(event_name)
        if due_at is None:
            return name
        return f"{name}, {'or' if due_at > now else 'timed out'} {until(due_at, now)}"
    return f"{printable(cause)}, due {until(due_at, now)}"


def lease_end(lease: Lease, now: datetime) -> str:
    """When a lease ends, and what that does if nobody extends it."""
    when = until(lease.expires_at, now)
    if lease.expires_at is not None and lease.expires_at <= now:
        return f"{when}, to be {'failed for good' if lease.fails_at_expiry else 'taken back'}"
    return f"{when}, then {'fails for good' if lease.fails_at_expiry else 'pending again'}"


def situation(task: TaskRow, now: datetime) -> str:
    """The one thing worth knowing about a task in its present state."""
    match task.state:
        case State.SLEEPING:
            return sleep_of(task.sleep_cause or State.SLEEPING, task.wake_event, task.due_at, now)
        case State.RUNNING:
            return f"lease ends {until(task.due_at, now)}"
        case State.FAILED | State.CANCELLED if task.error:
            return line_of(task.error)
        case State.COMPLETED | State.FAILED | State.CANCELLED:
            return f"{ago(task.ended_at, now)} ago"
        case _ if task.error:
            return f"again after {line_of(task.error)}"
        case _:
            return ""


def progress(task: TaskRow) -> str:
    """Steps done, against those declared or else, until it is completed, those usual (`~`) for its name."""
    if task.steps_total is None:
        return str(task.steps_done) if task.steps_done else NOTHING
    if task.steps_declared:
        return f"{task.steps_done}/{task.steps_total}"
    if task.state == State.COMPLETED:
        return f"{task.steps_done}/{task.steps_done}" if task.steps_done else NOTHING
    return f"{task.steps_done}/~{task.steps_total}"


# --- stored values ----------------------------------------------------------------------------------------------------


def value_line(text: str | None) -> str:
    """A stored JSON value on one line, cut where it gets long."""
    if text is None:
        return NOTHING
    if len(text) <= 4 * _LONGEST_LINE:
        try:
            text = json.dumps(json.loads(text), ensure_ascii=False)
        except (ValueError, RecursionError):
            return line_of(text)
    return line_of(text)


def value_lines(text: str) -> list[str]:
    """A stored JSON value laid out over lines; what is no JSON as the text it is."""
    try:
        return printable_lines(_laid_out(json.loads(text), ""))
    except (ValueError, RecursionError):
        return printable_lines(text)


def _laid_out(value: Any, indent: str) -> str:
    """JSON text in which what fits into a line is on one."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + len(line) <= _JSON_WIDTH:
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        items = [
            f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(item, inner)}" for key, item in value.items()
        ]
        return "{\n" + ",\n".join(inner + item for item in items) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + _laid_out(item, inner) for item in value) + f"\n{indent}]"


def failure_lines(reason: str) -> list[str]:
    """A stored failure reason over lines: type and message, the traceback as it was, and whatever else was recorded."""
    try:
        value: Any = json.loads(reason)
    except (ValueError, RecursionError):
        return printable_lines(reason)
    if not isinstance(value, dict):
        return value_lines(reason)
    rest = dict(value)
    lines = []
    head = ": ".join(str(part) for part in (rest.pop("type", None), rest.pop("message", None)) if part)
    if head:
        lines += printable_lines(head)
    traceback = rest.pop("traceback", None)
    if traceback:
        text = traceback if isinstance(traceback, str) else "\n".join(map(str, traceback))
        # Lines that only point at the line above cannot do so once that is wrapped.
        trace = [line for line in printable_lines(text.rstrip("\n")) if not _POINTER.fullmatch(line)]
        # A traceback ends with the type and message that are told already.
        lines += trace[: -len(lines)] if lines and trace[-len(lines) :] == lines else trace
    if rest:
        lines += value_lines(json.dumps(rest))
    return lines
