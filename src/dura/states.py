"""The states of tasks and runs, and which of them are final.

A task and its latest run are always in the same state, changed in the same transaction.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Where a run, and the task it belongs to, stands."""

    PENDING = "pending"
    """Claimable now. Entered by spawn, retry, an event, a due time, a reclaim or an operator's wake."""
    RUNNING = "running"
    """Held by a worker until its lease expires. Entered by claim."""
    SLEEPING = "sleeping"
    """Parked until a time or an event; `SleepCause` says which. Holds no worker."""
    COMPLETED = "completed"
    """The handler returned. Final."""
    FAILED = "failed"
    """For a run: this attempt failed. For a task: no attempt is left. Final unless an operator requeues the task."""
    CANCELLED = "cancelled"
    """Stopped by a caller. Final unless an operator requeues the task."""


TaskState = State
"""A task's state."""

RunState = State
"""A run's state."""

LIVE: Final = (State.PENDING, State.RUNNING, State.SLEEPING)
"""States from which a task can still move by itself."""

TERMINAL: Final = (State.COMPLETED, State.FAILED, State.CANCELLED)
"""States in which a task stays until an operator requeues it or cleanup removes it."""


class SleepCause(StrEnum):
    """Why a run sleeps, and therefore what ends its sleep."""

    DELAY = "delay"
    """Spawned with `available_after`; due at that time."""
    BACKOFF = "backoff"
    """The attempt before it failed; due after the retry strategy's delay."""
    EVENT = "event"
    """A step waits for an event; ends with the event or at the step's deadline."""
    SLEEP = "sleep"
    """A step sleeps durably; due at the step's deadline."""
    DEFERRED = "deferred"
    """The worker that claimed it has no handler of its name; another worker may."""


WAKEABLE: Final = (SleepCause.DELAY, SleepCause.BACKOFF, SleepCause.DEFERRED)
"""Sleeps that an operator may end early; the other two belong to a step's own deadline."""
