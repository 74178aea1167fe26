"""Alerts: limits that an operator sets, what exceeds them now, and when the bell must ring.

An alert rises when a look at the store finds its measure over its limit, and rings then, once. It stays up, quieted or
not, until a look finds it at or under the limit again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from dura.durations import parse_duration
from dura.records import Snapshot
from dura_tui import format as fmt
from dura_tui.throughput import failures_per_minute

_UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


@dataclass(frozen=True, slots=True)
class Measure:
    """Something of a store that can be too much."""

    name: str
    words: str
    """As it is shown."""
    example: str
    help: str
    read: Callable[[str], float]
    """Reads a limit; raises ValueError for what is none."""
    value: Callable[[Snapshot], float]
    text: Callable[[float], str]


def _oldest_due(snapshot: Snapshot) -> float:
    if not snapshot.ready or snapshot.oldest_due is None:
        return 0.0
    return (snapshot.taken_at - snapshot.oldest_due).total_seconds()


def _failures(snapshot: Snapshot) -> float:
    return failures_per_minute(snapshot.throughput) if snapshot.throughput else 0.0


def _bytes(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?b?)", text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is no size: write bytes, or for example 64MB")
    return float(match[1]) * _UNITS[match[2]]


def _count(text: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d+)?", text.strip()):
        raise ValueError(f"{text!r} is no number")
    return float(text)


MEASURES: Final[dict[str, Measure]] = {
    measure.name: measure
    for measure in (
        Measure(
            "oldest-due",
            "oldest due",
            "5m",
            "since when the oldest ready run has been due",
            lambda text: parse_duration(text.strip()),
            _oldest_due,
            fmt.whole_duration,
        ),
        Measure(
            "failures-per-minute",
            "failures/min",
            "3",
            "tasks that failed, a minute, over the last five",
            _count,
            _failures,
            fmt.rate,
        ),
        Measure(
            "wal-size",
            "wal",
            "64MB",
            "bytes of the write-ahead log",
            _bytes,
            lambda snapshot: float(snapshot.file.wal_size),
            lambda value: fmt.size(round(value)),
        ),
    )
}
"""What an alert can be about, by name."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A measure and its limit."""

    measure: Measure
    limit: float


def alert(name: str, limit: str) -> Alert:
    """An alert from its two words.

    Raises:
        ValueError: No such measure, or no limit; the message says what there is.
    """
    measure = MEASURES.get(name.strip())
    if measure is None:
        raise ValueError(f"no alert {name.strip()!r}: there are {', '.join(MEASURES)}")
    try:
        return Alert(measure, measure.read(limit))
    except ValueError as error:
        raise ValueError(f"{measure.name}: {error}") from error


def parse_alert(text: str) -> Alert:
    """An alert as the command line has it: `oldest-due>5m`.

    Raises:
        ValueError: It is none.
    """
    name, over, limit = text.partition(">")
    if not over:
        raise ValueError(f"{text!r} is no alert: write for example 'oldest-due>5m'")
    return alert(name, limit)


class Alarms:
    """The alerts of one monitor, and which of them are up."""

    def __init__(self, alerts: Iterable[Alert] = ()) -> None:
        """Begin with none up. Of two alerts on the same measure the last one counts."""
        self._alerts = tuple({alert.measure.name: alert for alert in alerts}.values())
        self._up: dict[str, float] = {}
        self._quiet: set[str] = set()

    @property
    def needs_throughput(self) -> bool:
        """Whether snapshots must hold the throughput."""
        return any(alert.measure.value is _failures for alert in self._alerts)

    def look(self, snapshot: Snapshot) -> bool:
        """Compare a snapshot with the limits; whether something has risen, so that the bell must ring."""
        up = {
            alert.measure.name: value
            for alert in self._alerts
            if (value := alert.measure.value(snapshot)) > alert.limit
        }
        risen = not up.keys() <= self._up.keys()
        self._up = up
        self._quiet &= up.keys()
        return risen

    def quiet(self) -> bool:
        """Quiet what is up, until it has gone down and risen again; whether anything was loud."""
        loud = self.loud
        self._quiet |= self._up.keys()
        return loud

    @property
    def loud(self) -> bool:
        """Whether something is up that nobody has quieted."""
        return bool(self._up.keys() - self._quiet)

    @property
    def lines(self) -> list[str]:
        """What is up, for example `oldest due 6m 02s, limit 5m`."""
        return [
            f"{alert.measure.words} {alert.measure.text(self._up[alert.measure.name])}, "
            f"limit {alert.measure.text(alert.limit)}"
            for alert in self._alerts
            if alert.measure.name in self._up
        ]

    @property
    def badge(self) -> str:
        """What is up, in a few words for the title; empty for nothing."""
        lines = self.lines
        if not lines:
            return ""
        return f"▲ {lines[0].partition(',')[0]}" if len(lines) == 1 else f"▲ {len(lines)} alerts"
