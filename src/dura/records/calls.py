"""What the engine's calls return: frozen rows, named and ordered as dura 1.3.0 has them where it has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

R = TypeVar("R")


def maker(record: type[R]) -> Callable[..., R]:
    """A second constructor of a frozen record, which takes all its fields by place, in half the time.

    The first sets each field through the guard that keeps everybody else from setting one.
    """
    setters = [getattr(record, field.name).__set__ for field in fields(record)]  # type: ignore[arg-type]

    def make(*values: Any) -> R:
        made = object.__new__(record)
        for set_field, value in zip(setters, values, strict=True):
            set_field(made, value)
        return made

    return make


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
    """Ids of the tasks that were parked on the event and have become due by it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something wrong with a store, from `check`."""

    rule: str
    """What should be true."""
    breaches: tuple[str, ...]
    """Ids that break it, or SQLite's own words; at most 20."""
