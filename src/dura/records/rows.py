"""The monitor's rows: one thing in the store each, as a list or a table shows it.

Times are datetimes in UTC, None for "never", "not yet", or a stored text that is no time. Values are JSON text as stored,
so that a row costs nothing to carry until somebody looks inside; one that is longer than the monitor carries is cut and
ends with `…`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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
class Approval:
    """A run that sleeps on an event, and what whoever answers it should know."""

    run_id: str
    task_id: str
    name: str
    queue: str
    attempt: int
    step_name: str
    event_name: str
    timeout_at: datetime | None
    """None: it waits until the event comes."""
    enqueued_at: datetime | None
    params: str
    """JSON text, its first 2,000 characters."""
    steps_after: tuple[str, ...]
    """Declared steps after the one that waits; empty without a declaration."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PayloadTemplate:
    """What a payload of an event may look like."""

    event_name: str
    """The event that it was looked up for."""
    source: str
    """`state`: kept in the namespace `templates`; `event`: the payload of an earlier event of the same kind."""
    taken_from: str
    """The key, or that event's name."""
    payload: str
    """JSON text."""
    at: datetime | None
    """When it was kept or emitted."""


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
    """Finished steps; of a task that declares its steps, those of them that have finished."""
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
    holding: tuple[Lease, ...]
    """At most five of its leases, the one that runs out first at the top."""
    completed: int
    """Tasks of the last hour."""
    failed: int
    """Attempts of the last hour."""
    per_minute: float
    """Tasks and attempts that it settled, a minute, over the last five or as far as what was read reaches."""
    last_seen: datetime | None
    sampled: bool
    """Whether the counts cover only the newest settled runs of the hour."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueRow:
    """A queue: what is in it, what comes and what goes."""

    queue: str
    pending: int
    running: int
    sleeping: int
    completed: int
    failed: int
    cancelled: int
    ready: int
    """Runs claimable now: pending ones, and sleepers that are due (at most 2,000 of all queues are counted)."""
    oldest_due: datetime | None
    """Since when its longest-waiting claimable run could have been claimed; None if none is."""
    in_per_minute: float
    """Tasks spawned, a minute, over the last five or as far as the newest 2,000 reach."""
    out_per_minute: float
    """Tasks that ended, in any way, over the same time."""

    @property
    def drain_seconds(self) -> float | None:
        """How long until nothing is ready, if it goes on like that: 0.0 if nothing is, None if no end is in sight."""
        if not self.ready:
            return 0.0
        net = self.out_per_minute - self.in_per_minute
        return self.ready / net * 60 if net > 0 else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Throughput:
    """Settled tasks over time, oldest bucket first; None where the sample does not reach."""

    bucket_seconds: float
    ends_at: datetime
    completed: tuple[int | None, ...]
    failed: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownWords:
    """Words that occur in the store lately, each kind in alphabetical order: what a filter may be completed with."""

    steps: tuple[str, ...]
    """Steps: declared ones of the newest 500 tasks, and those of the newest 500 finished ones."""
    errors: tuple[str, ...]
    """Types of errors of the newest 500 failed attempts."""
    workers: tuple[str, ...]
    """Who holds one of 500 leases."""
    events: tuple[str, ...]
    """Events that one of the 500 oldest waits is for."""


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
