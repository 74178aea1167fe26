"""What a store holds, as plain Python objects: the six tables of docs/reference/schema.md without any SQL.

The reference model keeps its store in these objects, and what the engine has written is read back into the same ones
(`reading`), so that comparing the two is `==`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from dura import TaskNotFound

LIVE: Final = ("pending", "running", "sleeping")
TERMINAL: Final = ("completed", "failed", "cancelled")
NEVER: Final = datetime.max.replace(tzinfo=UTC)
TIMED_OUT: Final = "the step's deadline passed"
"""The outcome of a wait that timed out; a payload is JSON text, which this is not."""
SLEEP: Final = "dura.sleep"


@dataclass
class Run:
    """One attempt."""

    attempt: int
    born: int = field(compare=False)
    """Runs are numbered as they are inserted."""
    priority: int
    queue: str
    state: str
    available_at: datetime
    run_id: str = ""
    """The engine's name for it; the model learns it."""
    token: int = 0
    reclaims: int = 0
    deferrals: int = 0
    worker: str | None = None
    lease_ends: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    failed_at: datetime | None = None
    result: str | None = None
    reason: str | None = None
    cause: str | None = None
    event: str | None = None


@dataclass
class Checkpoint:
    """The outcome of a finished step."""

    value: str
    """JSON, or TIMED_OUT."""
    run_id: str | None
    at: datetime


@dataclass
class Wait:
    """A step that waits."""

    event: str
    deadline: datetime | None
    born: int = field(compare=False)


@dataclass
class Task:
    """What was asked for, and all that has come of it."""

    task_id: str
    name: str
    params: str
    queue: str
    spawned_at: datetime
    born: int = field(compare=False)
    key: str | None = None
    retry: dict[str, Any] | None = None
    max_attempts: int | None = None
    max_reclaims: int | None = None
    steps: list[str] | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    result: str | None = None
    runs: list[Run] = field(default_factory=list)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    """By step, in the order in which the steps finished."""
    waits: dict[str, Wait] = field(default_factory=dict)
    """By step. They are the latest run's."""

    @property
    def latest(self) -> Run:
        """The attempt that counts."""
        return self.runs[-1]

    @property
    def state(self) -> str:
        """Always that of the latest run."""
        return self.latest.state

    def finished_order(self) -> list[str]:
        """The steps in the order in which they finished, which `==` of dicts does not compare."""
        return list(self.checkpoints)


@dataclass
class Event:
    """An emitted event."""

    payload: str
    at: datetime
    by: str | None
    born: int = field(compare=False)


@dataclass
class Value:
    """A key's value in the memory that outlives tasks."""

    value: str
    at: datetime


@dataclass
class Store:
    """The whole file."""

    tasks: dict[str, Task] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    memory: dict[tuple[str, str], Value] = field(default_factory=dict)
    """By namespace and key."""
    audit: list[dict[str, Any]] = field(default_factory=list)
    births: int = field(default=0, compare=False)

    def birth(self) -> int:
        """The next number in the order of insertion."""
        self.births += 1
        return self.births

    def live(self) -> list[Task]:
        """Tasks that are not over, in the order of insertion."""
        return sorted(
            (task for task in self.tasks.values() if task.state in LIVE), key=lambda task: task.born
        )

    def task(self, task_id: str) -> Task:
        """The task of an id."""
        if task_id not in self.tasks:
            raise TaskNotFound(task_id)
        return self.tasks[task_id]

    def run(self, run_id: str) -> tuple[Task, Run]:
        """The run of an id, and its task."""
        for task, run in self.runs():
            if run.run_id == run_id:
                return task, run
        raise TaskNotFound(run_id)

    def runs(self) -> Iterator[tuple[Task, Run]]:
        """Every run with its task."""
        for task in self.tasks.values():
            for run in task.runs:
                yield task, run
