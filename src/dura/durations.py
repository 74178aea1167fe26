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


def duration(seconds: float) -> str:
    """A length of time in at most two units: `320ms`, `42s`, `1m 59s`, `12m`, `3h 5m`, `4d 3h`. Never negative."""
    seconds = max(seconds, 0.0)
    if seconds < 1:
        return f"{int(seconds * 1000)}ms" if seconds else "0s"
    whole = int(seconds)
    minutes, whole_seconds = divmod(whole, 60)
    hours, whole_minutes = divmod(minutes, 60)
    days, whole_hours = divmod(hours, 24)
    if minutes < 10:
        return _joined((minutes, "m"), (whole_seconds, "s"))
    if not days:
        return _joined((hours, "h"), (whole_minutes, "m"))
    return _joined((days, "d"), (whole_hours if days < 100 else 0, "h"))


def _joined(*parts: tuple[int, str]) -> str:
    return " ".join(f"{count}{unit}" for count, unit in parts if count)
