"""Facts as short text. Pure functions: no clock, no colour, no terminal.

Everything that comes from a store passes through `printable` or `printable_lines` on its way to the screen, so that
no name, payload or error can move the cursor, recolour the terminal, or hide what is written after it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from rich.cells import cell_len, set_cell_size

from dura import durations

# What the command shows alike; the monitor's rooms ask for it here.
from dura.display import number as number
from dura.display import of_limit as of_limit
from dura.display import plural as plural
from dura.display import printable as printable
from dura.display import printable_lines as printable_lines
from dura.display import short_id as short_id
from dura.display import size as size

NOTHING: Final = "\N{EN DASH}"
"""What stands where there is nothing to say."""

_ELLIPSIS: Final = "…"


def clip(text: str, width: int) -> str:
    """Cut text to `width` terminal cells, with an ellipsis where something was cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + _ELLIPSIS if width > 0 else ""


def clip_middle(text: str, width: int) -> str:
    """Cut text to `width` cells in its middle, so that both ends of a path can be read."""
    if cell_len(text) <= width or width < 5:
        return clip(text, width)
    head = (width - 1) // 3
    tail = text[-4 * width :]  # Enough of it: few characters take no cell, and long texts are cut quickly.
    while cell_len(tail) > width - 1 - head:
        tail = tail[1:]
    return set_cell_size(text, head).rstrip() + _ELLIPSIS + tail


def duration(seconds: float) -> str:
    """A length of time in at most two units: `320ms`, `42s`, `1m 59s`, `12m`, `3h 05m`, `4d 3h`. Never negative."""
    return durations.duration(seconds, steady=True)


def whole_duration(seconds: float) -> str:
    """`duration` in whole seconds: what is under a second is `0s`."""
    return duration(float(int(max(seconds, 0.0))))


def countdown(due: datetime | None, now: datetime) -> str:
    """How long until `due`: `42s`; `now` within the second it comes; then `overdue 4s`. Nothing for never."""
    if due is None:
        return NOTHING
    left = (due - now).total_seconds()
    if left > 0:
        return duration(float(-int(-left // 1)))
    late = int(-left)
    return f"overdue {_largest_unit(late)}" if late else "now"


def _largest_unit(seconds: int) -> str:
    for length, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def ago(moment: datetime | None, now: datetime) -> str:
    """How long since `moment`: `42s`, then whole minutes. `0s` for a moment that is still to come (clocks differ)."""
    if moment is None:
        return NOTHING
    seconds = (now - moment).total_seconds()
    return whole_duration(seconds - seconds % 60 if seconds >= 60 else seconds).removesuffix(" 00s")


def at(moment: datetime | None, now: datetime) -> str:
    """The time of day of a moment in UTC, with its date when that is not today's."""
    if moment is None:
        return NOTHING
    return f"{moment:%H:%M:%S}" if moment.date() == now.date() else f"{moment:%m-%d %H:%M}"


def is_cut(text: str | None) -> bool:
    """Whether the monitor carried only the beginning of a stored value: no JSON text ends like that."""
    return text is not None and text.endswith(_ELLIPSIS)


def stored_size(text: str) -> str:
    """The size of a stored value; a lower bound, with a `+`, when it was cut."""
    return size(len(text.encode(errors="replace"))) + ("+" if is_cut(text) else "")


def compact(count: int) -> str:
    """A count in at most five characters: `9999`, `12.3k`, `1.2M`."""
    if count < 10_000:
        return str(count)
    value = float(count)
    for unit in ("k", "M", "G"):
        value /= 1000
        if value < 999.5:
            return f"{value:.1f}{unit}" if value < 99.95 else f"{value:.0f}{unit}"
    return f"{value:.0f}G"


def rate(per_minute: float) -> str:
    """How many a minute: `0`, `0.4`, `9.6`, then whole numbers, at most five characters."""
    return f"{per_minute:.1f}" if 0.05 <= per_minute < 9.95 else compact(round(per_minute))


def bar(done: int, total: int, width: int) -> str:
    """A progress bar of `width` cells; full only when everything is done, never empty once something is."""
    filled = width if done >= total else min(max(done * width // total, 1 if done else 0), width - 1)
    return "█" * filled + "░" * (width - filled)


def json_line(text: str | None, limit: int = 300) -> str:
    """The beginning of a stored JSON value on one line, its escapes undone where it is short enough to decode."""
    if text is None:
        return NOTHING
    if len(text) > 4 * limit:
        return printable(text[:limit])
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), ensure_ascii=False)
    return printable(text[:limit])


def json_lines(text: str) -> list[str]:
    """A stored JSON value laid out over lines; what is no JSON (a foreign store) as the text it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return printable_lines(text)
    return printable_lines(json.dumps(value, indent=2, ensure_ascii=False))


def failure(reason: str | None) -> str:
    """A failure reason as one line: type and message where it has them."""
    if reason is None:
        return NOTHING
    value = _object(reason)
    kind, message = value.get("type"), value.get("message")
    if not kind and not message:
        return printable(reason)
    return printable(": ".join(str(part) for part in (kind, message) if part))


def failure_lines(reason: str) -> list[str]:
    """A failure reason over lines: type and message, the traceback as it was, then whatever else was recorded."""
    value = dict(_object(reason))
    if not value:
        return json_lines(reason)
    lines = printable_lines(": ".join(str(value.pop(key)) for key in ("type", "message") if value.get(key)))
    traceback = value.pop("traceback", None)
    if traceback:
        text = traceback if isinstance(traceback, str) else "\n".join(map(str, traceback))
        lines += ["", *printable_lines(text.rstrip("\n"))]
    rest = {key: item for key, item in value.items() if item not in (None, "")}
    if rest:
        lines += ["", *printable_lines(json.dumps(rest, indent=2, ensure_ascii=False))]
    return lines


def audit(entry: str) -> str:
    """An audit entry as one line: `emit approved:ord_1 by ann@web1, because she phoned`."""
    value = _object(entry)
    if not value.get("action"):
        return json_line(entry)
    target = str(value.get("target") or "")
    because = f", because {value['reason']}" if value.get("reason") else ""
    return printable(f"{value['action']} {target} by {value.get('actor')}{because}")


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
