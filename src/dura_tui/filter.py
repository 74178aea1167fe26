"""What each view's filter knows: its fields, what its free text is a part of, and where its words come from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from dura.filters import TASK_FIELDS
from dura.records import Condition, CountRow, Snapshot
from dura.states import State
from dura_tui.completion import Words

_RUN_FIELDS: Final = ("name", "queue", "id", "key", "error", "step", "age", "attempts")


@dataclass(frozen=True, slots=True)
class Filtered:
    """How a view is filtered."""

    fields: tuple[str, ...]
    text: str
    """What free text is a part of."""
    example: str = ""

    @property
    def placeholder(self) -> str:
        """What the empty line says."""
        return f"{self.example}, or {self.text}" if self.example else self.text


FILTERED: Final = {
    "tasks": Filtered(TASK_FIELDS, "part of an id, key or parameter", "state:failed name:import_* age>5m"),
    "leases": Filtered(
        (*_RUN_FIELDS, "worker"), "part of an id, key or parameter", "name:import_* worker:web1* attempts>1"
    ),
    "sleeping": Filtered(
        (*_RUN_FIELDS, "event"), "part of an id, key or parameter", "name:import_* event:approved age>1h"
    ),
    "approvals": Filtered((*_RUN_FIELDS, "event"), "part of an event's name", "name:refund_* queue:mail"),
    "failures": Filtered(
        ("name", "queue", "state", "id", "key", "error", "age", "attempts"),
        "part of an id, key or parameter",
        "name:import_* error:timeout -state:failed",
    ),
    "audit": Filtered(("actor", "action", "target"), "part of a reason", "actor:ann action:requeue"),
    "events": Filtered((), "part of an event's name"),
    "workers": Filtered((), "part of a worker's id"),
    "queues": Filtered((), "part of a queue's name"),
    "state": Filtered((), "part of a key"),
}
"""By view. The overview and a task's detail have no filter of their own."""

TASK_ORDERS: Final = {"": "newest", "age": "newest", "-age": "oldest"}
"""What the store calls the orders of the tasks by their columns; the others are called alike."""

ACTIONS: Final = ("emit", "extend", "requeue", "cancel", "wake", "set", "delete", "cleanup")
"""As the audit calls them."""


def known_words(snapshot: Snapshot | None) -> Words:
    """The values that a snapshot knows, by field."""
    words: dict[str, Sequence[str]] = {"state": [state.value for state in State], "action": ACTIONS}
    if snapshot is not None:
        words["name"] = sorted({row.name for row in snapshot.counts})
        words["queue"] = sorted({row.queue for row in snapshot.counts})
        if snapshot.audit_page is not None:
            words["actor"] = sorted({entry.actor for entry in snapshot.audit_page.entries})
        if known := snapshot.known:
            words |= {
                "step": known.steps,
                "error": known.errors,
                "worker": known.workers,
                "event": known.events,
            }
    return words


def total(counts: Sequence[CountRow], conditions: Sequence[Condition]) -> int | None:
    """How many tasks the conditions let through, from the counts alone; None if only a search could tell."""
    if any(condition.field not in ("state", "name", "queue") for condition in conditions):
        return None
    return sum(row.count for row in counts if all(_lets(condition, row) for condition in conditions))


def _lets(condition: Condition, row: CountRow) -> bool:
    found = {"state": row.state, "name": row.name, "queue": row.queue}[condition.field]
    # Only * is special in a pattern of ours.
    patterns = [value.replace("[", "[[]").replace("?", "[?]") for value in condition.values]
    return any(fnmatchcase(found, pattern) for pattern in patterns) != condition.negated
