"""What operators did: which entries are wanted, and the entries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditQuery:
    """Which entries of the audit a list shows, the latest first, and where its page begins."""

    actor: str | None = None
    """A part of it, in any case; the same for the others."""
    action: str | None = None
    target: str | None = None
    text: str | None = None
    """A part of the entry's reason, or of what was before and after."""
    limit: int = 200
    after: str | None = None
    """The `next_page` of the page before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRow:
    """One thing that an operator did."""

    key: str
    """Its key in the namespace `dura.audit`."""
    at: datetime | None
    actor: str
    action: str
    """`emit`, `extend`, `requeue`, `cancel` or `wake`."""
    target: str
    """The task's id or the event's name."""
    run_id: str | None
    before: str | None
    after: str | None
    reason: str | None
    value: str
    """The entry as stored: JSON text."""

    @property
    def task_id(self) -> str | None:
        """The task that was acted upon; None for an event."""
        return None if self.action == "emit" else self.target or None


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditPage:
    """A page of the audit."""

    query: AuditQuery
    entries: tuple[AuditRow, ...]
    next_page: str | None
    """Where the next page begins; None on the last."""
