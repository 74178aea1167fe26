"""What operators did: which entries are wanted, and the entries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dura.records.conditions import Condition


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditQuery:
    """Which entries of the audit a list shows, the latest first, and where its page begins."""

    actor: str | None = None
    """A part of it, in any case; the same for the others."""
    action: str | None = None
    target: str | None = None
    text: str | None = None
    """A part of the entry's reason, or of what was before and after."""
    where: tuple[Condition, ...] = ()
    """What else must hold: conditions on `actor`, `action`, `target` and `text`, as in the fields above."""
    limit: int = 200
    after: str | None = None
    """The `next_page` of the page before."""


ON_TASKS: Final = ("extend", "requeue", "cancel", "wake")
"""The actions whose target is a task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRow:
    """One thing that an operator did."""

    key: str
    """Its key in the namespace `dura.audit`."""
    at: datetime | None
    actor: str
    action: str
    """`emit`, `extend`, `requeue`, `cancel`, `wake`, `set`, `delete` or `cleanup`."""
    target: str
    """The task's id, the event's name, the state's namespace and key, or what was cleaned up."""
    run_id: str | None
    before: str | None
    after: str | None
    reason: str | None
    value: str
    """The entry as stored: JSON text."""

    @property
    def task_id(self) -> str | None:
        """The task that was acted upon; None where it was an event, state, or the whole store."""
        return self.target or None if self.action in ON_TASKS else None


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditPage:
    """A page of the audit."""

    query: AuditQuery
    entries: tuple[AuditRow, ...]
    next_page: str | None
    """Where the next page begins; None on the last."""
