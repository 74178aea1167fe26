"""Which values have changed while they were watched, and what they were. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dura.records import StateRow

SHOWN_SECONDS: Final = 30.0
"""How long a change is worth a mark."""


@dataclass(frozen=True, slots=True)
class Change:
    """A value that became another."""

    before: str
    """JSON text."""
    at: datetime
    """When that was seen."""


class Watched:
    """Remembers the values of the keys that were shown last, and what changed among them."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], str] = {}
        self._changes: dict[tuple[str, str], Change] = {}

    def look(self, rows: Iterable[StateRow], now: datetime) -> None:
        """See these rows. A key that is seen for the first time has not changed."""
        values = {(row.namespace, row.key): row.value for row in rows}
        for key, value in values.items():
            before = self._values.get(key, value)
            if before != value:
                self._changes[key] = Change(before, now)
        self._changes = {key: change for key, change in self._changes.items() if key in values}
        self._values = values

    def change(self, row: StateRow, now: datetime) -> Change | None:
        """The key's latest change, while it is recent."""
        change = self._changes.get((row.namespace, row.key))
        if change is None or (now - change.at).total_seconds() > SHOWN_SECONDS:
            return None
        return change
