"""Lengths of time as people write and read them: `90s`, `15m`, `12h`, `30d`, `1h30m`."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Final

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_LONGEST: Final = timedelta.max.total_seconds() - 1


def parse_duration(text: str, *, bare_seconds: bool = False) -> float:
    """Read a duration.

    Args:
        text: Numbers with units (ms, s, m, h, d, w), for example `90s`, `1.5h` or `1h30m`; or `0`.
        bare_seconds: Whether a number without a unit counts as seconds.

    Returns:
        Seconds, zero or more.

    Raises:
        ValueError: It is no duration, or longer than the calendar.
    """
    compact = text.strip().lower()
    if _NUMBER.fullmatch(compact):
        seconds = float(compact)
        if not bare_seconds and seconds:
            raise ValueError(f"{text!r} has no unit: write for example {compact}s, {compact}h or {compact}d")
    elif _WHOLE.fullmatch(compact):
        seconds = math.fsum(float(count) * _UNITS[unit] for count, unit in _PART.findall(compact))
    else:
        raise ValueError(f"{text!r} is no duration: write for example 90s, 15m, 12h, 30d or 1h30m")
    if seconds > _LONGEST:
        raise ValueError(f"{text!r} is longer than the calendar")
    return seconds


def duration(seconds: float, *, steady: bool = False) -> str:
    """A length of time in at most two units: `320ms`, `42s`, `1m 59s`, `12m`, `3h 5m`, `4d 3h`. Never negative.

    Args:
        seconds: How long.
        steady: Whether its second unit always stands there, minutes and seconds with two digits (`3h 05m`), so that what
            counts on a screen keeps its place.
    """
    seconds = max(seconds, 0.0)
    if seconds < 1:
        return f"{int(seconds * 1000)}ms" if seconds else "0s"
    minutes, over_minutes = divmod(int(seconds), 60)
    hours, over_hours = divmod(minutes, 60)
    days, over_days = divmod(hours, 24)
    if not minutes:
        return f"{over_minutes}s"
    if minutes < 10:
        return _joined(f"{minutes}m", over_minutes, "s", 2, steady)
    if not hours:
        return f"{minutes}m"
    if not days:
        return _joined(f"{hours}h", over_hours, "m", 2, steady)
    return _joined(f"{days}d", over_days, "h", 1, steady) if days < 100 else f"{days}d"


def _joined(first: str, count: int, unit: str, digits: int, steady: bool) -> str:
    if steady:
        return f"{first} {count:0{digits}d}{unit}"
    return f"{first} {count}{unit}" if count else first
