"""Failures that are alike: groups of them, and the tasks of a group."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dura.records.conditions import Condition


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureKey:
    """Which group of failures."""

    by: str
    """`error`: by the error's type; `step`: by the task's name and the step that its attempt failed in."""
    key: str
    where: tuple[Condition, ...] = ()
    """What must hold of its tasks besides."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureGroup:
    """Attempts that failed alike."""

    by: str
    key: str
    tasks: int
    """Of its attempts, those that their tasks ended with: tasks that are failed now."""
    attempts: int
    names: tuple[str, ...]
    """The tasks' names."""
    hour: tuple[int | None, ...]
    """Attempts of the last hour in 12 stretches, the oldest first; None where what was read does not reach."""
    day: tuple[int | None, ...]
    """The same for the last day, in 24."""
    latest_at: datetime | None
    latest_task_id: str
    latest_error: str
    """Type and message, the message shortened."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureGroups:
    """The latest failed attempts in groups."""

    by: str
    groups: tuple[FailureGroup, ...]
    """Those with the most failed tasks first, then those with the most attempts."""
    attempts: int
    """How many attempts were grouped, the latest ones."""
    capped: bool
    """Whether there may be more."""
    reaches_to: datetime | None
    """When the earliest of them failed."""
    hour_bucket_seconds: float
    day_bucket_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenTask:
    """A task and its latest run, as a look found them: what an action on it is compared with."""

    task_id: str
    run_id: str
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedTasks:
    """The failed tasks of a group, those that failed last first."""

    key: FailureKey
    tasks: tuple[SeenTask, ...]
    """At most 5,000."""
    capped: bool
    """Whether there may be more."""
