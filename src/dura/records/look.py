"""A look at a store: what is wanted, and the consistent snapshot that answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from dura.records.alike import FailedTasks, FailureGroups, FailureKey
from dura.records.audit import AuditPage, AuditQuery
from dura.records.calls import FailureInfo
from dura.records.choice import Removable, StepCount
from dura.records.conditions import Condition
from dura.records.rows import (
    Approval,
    AwaitedEvent,
    CountRow,
    EventRow,
    KnownWords,
    Lease,
    NamespaceRow,
    PayloadTemplate,
    QueueRow,
    Sleeper,
    StateRow,
    StoreFile,
    TaskDetail,
    TaskRow,
    Throughput,
    WorkerRow,
)

TASK_SORTS: Final = (
    "newest", "oldest", "due", "priority", "attempts", "name", "queue", "state", "id", "progress", "error",
)  # fmt: skip
"""The orders of a task list; each may also be asked for the other way round, with a `-` before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskQuery:
    """Which tasks a list shows, in which order, and where its page begins."""

    state: str | None = None
    name: str | None = None
    """Exact, or a pattern with `*`."""
    queue: str | None = None
    text: str | None = None
    """A part of the id, of the idempotency key or of the parameters."""
    where: tuple[Condition, ...] = ()
    """What else must hold; `dura.filters.parse` reads it from a line."""
    sort: str = "newest"
    """One of `TASK_SORTS`, with or without a `-` before it."""
    limit: int = 200
    after: str | None = None
    """The `next_page` of the page before."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Everything that is asked of a task, from the fields and from `where`; free text comes last."""
        asked = [
            Condition(field=field, values=(value,))
            for field, value in (("state", self.state), ("name", self.name), ("queue", self.queue))
            if value is not None
        ]
        text = [Condition(field="text", values=(self.text,))] if self.text else []
        return (*asked, *self.where, *text)


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskPage:
    """A page of a task list."""

    query: TaskQuery
    tasks: tuple[TaskRow, ...]
    next_page: str | None
    """Where the next page begins; None on the last."""
    truncated: bool = False
    """Whether the search ended before it had looked everywhere: it ran out of its time (the next page goes on from
    there), or no index gives the order and only the newest tasks that match were sorted."""
    sorted_of: int | None = None
    """How many of the newest tasks that match were sorted, where no index gives the order and there are more; else None."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Want:
    """Which parts a snapshot should hold. What is not asked for costs nothing."""

    where: tuple[Condition, ...] = ()
    """What must hold of the tasks behind leases, sleepers, approvals and groups of failures."""
    leases: int = 0
    """How many rows at most; 0 for none. The same for the others."""
    sleepers: int = 0
    awaited: int = 0
    events: int = 0
    events_like: str | None = None
    """A part of the name, of emitted and of awaited events, those of approvals too."""
    event: str | None = None
    """The event of exactly this name: who waits for it, and what was emitted."""
    waiting: bool = False
    """How many runs sleep on an event."""
    approvals: int = 0
    template: str | None = None
    """The event of this name: what its payload may look like."""
    failures: int = 0
    failure_groups: str | None = None
    """The latest failed attempts in groups: by `error` or by `step`."""
    failed_tasks: FailureKey | None = None
    """The failed tasks of this group."""
    workers: bool = False
    queues: bool = False
    throughput: bool = False
    tasks: TaskQuery | None = None
    task_id: str | None = None
    namespaces: bool = False
    namespace: str | None = None
    """Whose keys to list."""
    state_keys: int = 500
    state_like: str | None = None
    """Only keys with this in them, in any case of ASCII letters."""
    state_key: str | None = None
    """Only this key of the namespace, its value in full."""
    audit: int = 0
    audit_query: AuditQuery | None = None
    find: str | None = None
    """Tasks by id: the one whose id, or whose run's id, this is; else those whose ids hold it."""
    found: int = 20
    """How many of them at most."""
    known: bool = False
    """Words that occur lately, to complete a filter with."""
    chosen: tuple[str, ...] = ()
    """The tasks of these ids."""
    finished_steps: tuple[str, ...] = ()
    """Which steps the tasks of these ids have finished."""
    removable: datetime | None = None
    """What a cleanup of all that ended before this moment would remove."""
    entry: tuple[str, str] | None = None
    """The key of the memory with this namespace and key, its value in full."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """One consistent look at a store: every part was read in one transaction."""

    taken_at: datetime
    """The engine's clock at the read."""
    file: StoreFile
    counts: tuple[CountRow, ...]
    counts_exact: bool
    """False when counting ran out of its time (a large 1.3.0 file): the counts are a lower bound."""
    ready: int
    """Runs claimable now."""
    oldest_due: datetime | None
    """Since when the longest-waiting claimable run could have been claimed."""
    leases: tuple[Lease, ...] = ()
    sleepers: tuple[Sleeper, ...] = ()
    awaited: tuple[AwaitedEvent, ...] = ()
    events: tuple[EventRow, ...] = ()
    event: EventRow | None = None
    """The event asked for; None also when it was not emitted."""
    event_waits: AwaitedEvent | None = None
    """Who waits for the event asked for; None also when nobody does."""
    waiting: int | None = None
    """Runs that sleep on an event; None when it was not asked for."""
    waiting_capped: bool = False
    """Whether counting stopped at `waiting`."""
    approvals: tuple[Approval, ...] = ()
    template: PayloadTemplate | None = None
    """None also when nothing is known."""
    failures: tuple[FailureInfo, ...] = ()
    failure_groups: FailureGroups | None = None
    failed_tasks: FailedTasks | None = None
    workers: tuple[WorkerRow, ...] = ()
    queues: tuple[QueueRow, ...] = ()
    throughput: Throughput | None = None
    tasks: TaskPage | None = None
    task: TaskDetail | None = None
    """None also when the task asked for is not in the store."""
    namespaces: tuple[NamespaceRow, ...] = ()
    state: tuple[StateRow, ...] = ()
    audit: tuple[StateRow, ...] = ()
    audit_page: AuditPage | None = None
    found: tuple[TaskRow, ...] = ()
    known: KnownWords | None = None
    chosen: tuple[TaskRow, ...] = ()
    """Those of the tasks asked for that are there, in the order asked for."""
    finished_steps: tuple[StepCount, ...] = ()
    """In the order in which they were first finished."""
    removable: Removable | None = None
    entry: StateRow | None = None
    """None also when the key asked for is not there."""
    truncated: tuple[str, ...] = ()
    """The parts, by field name, that ran out of their time and hold less than there is."""
    hidden: bool = False
    """Whether something in it is not shown, by the rules that the monitor was given."""
    read_seconds: float = field(default=0.0, compare=False)
    """How long the read took."""

    def totals(self) -> dict[str, int]:
        """Tasks by state, over all queues and names."""
        totals: dict[str, int] = {}
        for row in self.counts:
            totals[row.state] = totals.get(row.state, 0) + row.count
        return totals
