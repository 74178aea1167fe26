"""What the engine and the monitor hand out: frozen rows, no behaviour beyond facts derived from their own fields.

The first five classes have the names and leading fields of dura 1.3.0. The rest is the monitor's view of the store:
times are datetimes in UTC, None for "never", "not yet" or for text that is no time (an edit by hand); values are JSON
text as stored, so that a row costs nothing to carry until somebody looks inside. A value that is longer than the
monitor carries is cut and ends with `…`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# --- the engine's ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRef:
    """Returned by `spawn_task` and `requeue_task`: which task and run there now is."""

    task_id: str
    run_id: str
    attempt: int
    created: bool
    """False when the idempotency key named a task that existed already."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimedTask:
    """A run handed to a worker by `claim_task`, with the fencing token that proves the claim."""

    run_id: str
    task_id: str
    attempt: int
    name: str
    params: Any
    claim_token: int | None = None
    """Raised by every claim of the run; a call that carries an older one changes nothing."""
    queue: str = "default"
    reclaims: int = 0
    """How often this attempt's lease ran out before."""
    deferrals: int = 0
    """How often a worker without a handler of this name has put the run back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskInfo:
    """A task's present state, from `get_task`."""

    task_id: str
    state: str
    attempts: int
    result: Any = None
    """What the handler returned, for a completed task."""
    failure_reason: Any = None
    """Why the last attempt failed, for a failed task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureInfo:
    """One failed attempt, from `recent_failures`."""

    run_id: str
    task_id: str
    task_name: str
    attempt: int
    failed_at: str
    """In the store's time format."""
    failure_reason: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Emitted:
    """The outcome of `emit_event`."""

    event_name: str
    first: bool
    """False when the event existed already, in which case nothing changed."""
    woken: tuple[str, ...]
    """Ids of the tasks that were parked on the event and are pending now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something wrong with a store, from `check`."""

    rule: str
    """What should be true."""
    breaches: tuple[str, ...]
    """Ids that break it, or SQLite's own words; at most 20."""


# --- the monitor's ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class CountRow:
    """How many tasks of one queue and name are in one state."""

    queue: str
    name: str
    state: str
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A running run and the claim that holds it."""

    run_id: str
    task_id: str
    name: str
    queue: str
    attempt: int
    max_attempts: int | None
    reclaims: int
    max_reclaims: int | None
    claim_token: int
    worker_id: str
    started_at: datetime | None
    expires_at: datetime | None

    @property
    def fails_at_expiry(self) -> bool:
        """Whether an expiry fails the task as a poison run; else the same attempt becomes pending again."""
        return self.max_reclaims is not None and self.reclaims >= self.max_reclaims


@dataclass(frozen=True, kw_only=True, slots=True)
class Sleeper:
    """A sleeping run and what ends its sleep."""

    run_id: str
    task_id: str
    name: str
    queue: str
    attempt: int
    cause: str
    """A `SleepCause` value."""
    due_at: datetime | None
    """None: only the event ends it."""
    event_name: str | None
    step_name: str | None
    deferrals: int
    stray: bool = False
    """Whether its task is over already, which dura 1.3.0 can leave behind: it will wake all the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiter:
    """A step of a task that waits for an event."""

    run_id: str
    task_id: str
    name: str
    step_name: str
    event_name: str
    timeout_at: datetime | None
    waiting: bool
    """Whether the run sleeps on it now; a wait outlives the attempt that registered it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AwaitedEvent:
    """An event that runs sleep on, with the soonest deadline first among its waiters."""

    event_name: str
    waiter_count: int
    soonest_timeout: datetime | None
    waiters: tuple[Waiter, ...]
    """At most the first 50."""
    capped: bool = False
    """Whether counting stopped at `waiter_count`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventRow:
    """An emitted event."""

    event_name: str
    payload: str | None
    """JSON text."""
    emitted_at: datetime | None
    emitted_by: str | None
    """The operator who emitted it; None when a program did."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceRow:
    """A namespace of the key-value memory."""

    namespace: str
    keys: int
    capped: bool
    """Whether counting stopped at `keys`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StateRow:
    """One key of the key-value memory."""

    namespace: str
    key: str
    value: str
    """JSON text."""
    updated_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRow:
    """One line of a task list."""

    task_id: str
    run_id: str
    """The latest attempt's run."""
    name: str
    queue: str
    state: str
    attempts: int
    max_attempts: int | None
    priority: int
    enqueued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    due_at: datetime | None
    """When a sleeping task is due, or a running one's lease expires."""
    sleep_cause: str | None
    wake_event: str | None
    claim_token: int
    steps_done: int
    steps_total: int | None
    """Declared steps; without a declaration, what completed tasks of this name took; None if nobody knows."""
    steps_declared: bool
    idempotency_key: str | None
    error: str | None
    """Type and message of the latest failure, shortened; None if no attempt has failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptRow:
    """One attempt of a task."""

    run_id: str
    attempt: int
    state: str
    worker_id: str | None
    available_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    claim_expires_at: datetime | None
    claim_token: int
    reclaims: int
    deferrals: int
    sleep_cause: str | None
    wake_event: str | None
    failure_reason: str | None
    """JSON text, as the handler's failure was recorded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointRow:
    """One finished step, in the order in which the steps finished."""

    name: str
    value: str | None
    """JSON text; None for a wait that timed out."""
    size: int
    """Bytes of the stored value."""
    finished_at: datetime | None
    seconds: float | None
    """Since the step before it finished, or since the task first started."""
    run_id: str | None

    @property
    def timed_out(self) -> bool:
        """Whether the step was a wait that ended at its deadline."""
        return self.value is None


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskDetail:
    """Everything the store knows about one task."""

    task: TaskRow
    params: str
    """JSON text."""
    result: str | None
    """JSON text."""
    steps: tuple[str, ...]
    """Declared step names."""
    retry: str | None
    """The strategy as JSON text."""
    max_reclaims: int | None
    attempts: tuple[AttemptRow, ...]
    """Oldest first; at most the latest 200."""
    checkpoints: tuple[CheckpointRow, ...]
    waits: tuple[Waiter, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerRow:
    """A worker that holds leases or settled runs within the last hour."""

    worker_id: str
    presence: str
    """`alive` or `gone` when the id names this host and its process was looked for, else `unknown`."""
    leases: int
    completed: int
    failed: int
    last_seen: datetime | None
    sampled: bool
    """Whether the counts cover only the newest settled runs of the hour."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Throughput:
    """Settled tasks over time, oldest bucket first; None where the sample does not reach."""

    bucket_seconds: float
    ends_at: datetime
    completed: tuple[int | None, ...]
    failed: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreFile:
    """The file behind a snapshot."""

    path: str
    origin: str
    """`dura` or `1.3.0`: which engine wrote its schema."""
    size: int
    """Bytes of the database file."""
    wal_size: int
    """Bytes of the write-ahead log; 0 when there is none."""
    reading: str
    """How it was read: `live` (shared with writers), `still` (no writer, immutable) or `copy` (a private copy)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskQuery:
    """Which tasks a list shows, in which order, and where its page begins."""

    state: str | None = None
    name: str | None = None
    """Exact, or a pattern with `*`."""
    queue: str | None = None
    text: str | None = None
    """A part of the id, of the idempotency key or of the parameters."""
    sort: str = "newest"
    """`newest`, `oldest`, `due`, `priority`, `attempts` or `name`."""
    limit: int = 200
    after: str | None = None
    """The `next_page` of the page before."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Want:
    """Which parts a snapshot should hold. What is not asked for costs nothing."""

    leases: int = 0
    """How many rows at most; 0 for none. The same for the others."""
    sleepers: int = 0
    awaited: int = 0
    events: int = 0
    events_like: str | None = None
    """A part of the event name."""
    failures: int = 0
    workers: bool = False
    throughput: bool = False
    tasks: TaskQuery | None = None
    task_id: str | None = None
    namespaces: bool = False
    namespace: str | None = None
    """Whose keys to list."""
    state_keys: int = 500
    state_key: str | None = None
    """Only this key of the namespace, its value in full."""
    audit: int = 0


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
    failures: tuple[FailureInfo, ...] = ()
    workers: tuple[WorkerRow, ...] = ()
    throughput: Throughput | None = None
    tasks: TaskPage | None = None
    task: TaskDetail | None = None
    """None also when the task asked for is not in the store."""
    namespaces: tuple[NamespaceRow, ...] = ()
    state: tuple[StateRow, ...] = ()
    audit: tuple[StateRow, ...] = ()
    truncated: tuple[str, ...] = ()
    """The parts, by field name, that ran out of their time and hold less than there is."""
    read_seconds: float = field(default=0.0, compare=False)
    """How long the read took."""

    def totals(self) -> dict[str, int]:
        """Tasks by state, over all queues and names."""
        totals: dict[str, int] = {}
        for row in self.counts:
            totals[row.state] = totals.get(row.state, 0) + row.count
        return totals
