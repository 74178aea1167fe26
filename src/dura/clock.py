"""Time as the store keeps it: fixed-width UTC text whose text order is its time order.

This is the only room that reads the machine's clock. Everything else is handed `now`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

Clock = Callable[[], datetime]
"""Returns the present time; a naive datetime counts as UTC."""

FOREVER: Final = "9999-12-31T23:59:59.999999+00:00"
"""The time that never comes: a wait without a deadline is due then."""

_LAST: Final = "9999-12-31T23:59:59.999998+00:00"
"""The last time that comes, if late: what has a due time is told apart from what has none."""

_LATEST: Final = datetime.max.replace(tzinfo=UTC)


def system_clock() -> datetime:
    """The machine's wall clock, in UTC."""
    return datetime.now(UTC)


_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - in UTC, like all that is naive here


@lru_cache(256)
def _written(second: int) -> str:
    """A second since the epoch as text, without a fraction. To write a time takes Python as long as a small statement."""
    return (_EPOCH + timedelta(seconds=second)).isoformat()


@lru_cache(256)
def _read(text: str) -> int:
    """The second since the epoch that is written so."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(seconds=1)


def _text_of(microseconds: int) -> str:
    """So many microseconds after the epoch, in the store's format."""
    second, fraction = divmod(microseconds, 1_000_000)
    return f"{_written(second)}.{fraction:06}+00:00"


def present(clock: Clock) -> str:
    """The clock's time, in the store's format."""
    return _text_of(time.time_ns() // 1000) if clock is system_clock else to_text(clock())


def to_text(moment: datetime) -> str:
    """Write a moment in the store's format, for example `2026-01-01T00:00:00.000000+00:00`."""
    if moment.tzinfo is not None:
        if moment.tzinfo is not UTC:
            moment = moment.astimezone(UTC)
        # Python takes as long to write an offset as all the rest.
        moment = moment.replace(tzinfo=None)
    return f"{moment.isoformat(timespec='microseconds')}+00:00"


def from_text(text: str) -> datetime:
    """Read a moment from the store's format.

    Raises:
        ValueError: The text is no ISO time.
    """
    return datetime.fromisoformat(text)


def later(moment: str, seconds: float) -> str:
    """The moment that many seconds after `moment` (before it, if negative), at most the calendar's last but FOREVER.

    Args:
        moment: In the store's format.
        seconds: Rounded to microseconds.
    """
    try:
        since = _read(moment[:19]) * 1_000_000 + int(moment[20:26])
        return min(_text_of(since + round(seconds * 1_000_000)), _LAST)
    except OverflowError:
        return _LAST if seconds > 0 else to_text(datetime.min.replace(tzinfo=UTC))


def seconds_between(earlier: str, moment: str) -> float:
    """Seconds from `earlier` to `moment`; negative if `moment` comes first."""
    return (from_text(moment) - from_text(earlier)).total_seconds()


def moment_or_never(text: str | None) -> datetime | None:
    """A stored time as a datetime; None where the column is empty or the time is FOREVER."""
    if text is None or text == FOREVER:
        return None
    return min(from_text(text), _LATEST)
