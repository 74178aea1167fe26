"""Rates and groups of counted buckets. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from dura.records import Throughput

_RATE_WINDOW_SECONDS: Final = 300.0
_MOST_COLUMNS_EACH: Final = 3


def rate(throughput: Throughput) -> str:
    """Completed tasks a minute over the last five minutes, for example `42/min` or `0.4/min`."""
    value = _per_minute(throughput.completed, throughput.bucket_seconds)
    return f"{value:,.0f}/min" if value >= 10 or not value else f"{value:.1f}/min"


def failures_per_minute(throughput: Throughput) -> float:
    """Tasks that failed, a minute, over the last five minutes."""
    return _per_minute(throughput.failed, throughput.bucket_seconds)


def _per_minute(counts: Sequence[int | None], bucket_seconds: float) -> float:
    buckets = counts[-max(ceil(_RATE_WINDOW_SECONDS / bucket_seconds), 1) :]
    known = [value for value in buckets if value is not None]
    return sum(known) * 60 / (len(known) * bucket_seconds) if known else 0.0


def failures(throughput: Throughput) -> tuple[int, str]:
    """How many tasks failed over the whole span, and the span, for example `(7, "60m")`."""
    minutes = throughput.bucket_seconds * len(throughput.failed) / 60
    return sum(value for value in throughput.failed if value), f"{minutes:.0f}m"


def fit(values: Sequence[int | None], width: int) -> list[int | None]:
    """Values for at most `width` columns: several columns a value, or several values summed into one column."""
    if not values or width < 1:
        return []
    if width >= 2 * len(values):
        return [value for value in values for _ in range(min(width // len(values), _MOST_COLUMNS_EACH))]
    group = ceil(len(values) / width)
    first = len(values) % group
    chunks = [values[:first]] if first else []
    chunks += [values[start : start + group] for start in range(first, len(values), group)]
    return [_total(chunk) for chunk in chunks]


def _total(chunk: Sequence[int | None]) -> int | None:
    known = [value for value in chunk if value is not None]
    return sum(known) if known else None
