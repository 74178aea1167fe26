"""The durable execution engine: one SQLite file, one method an operation."""

from __future__ import annotations

from dura.engine.memory import StateCalls
from dura.engine.operations import OperatorCalls
from dura.engine.oversight import OversightCalls
from dura.engine.steps import StepCalls
from dura.engine.tasks import TaskCalls
from dura.errors import (
    EngineError,
    InvalidRunState,
    LeaseLost,
    TaskCancelledError,
    TaskNotFound,
    WorkflowSuspended,
)
from dura.records import ClaimedTask, FailureInfo, TaskInfo, TaskRef
from dura.retry import RetryStrategy

__all__ = [
    "ClaimedTask",
    "DurableEngine",
    "EngineError",
    "FailureInfo",
    "InvalidRunState",
    "LeaseLost",
    "RetryStrategy",
    "TaskCancelledError",
    "TaskInfo",
    "TaskNotFound",
    "TaskRef",
    "WorkflowSuspended",
]


class DurableEngine(TaskCalls, StepCalls, OperatorCalls, StateCalls, OversightCalls):
    """A store, open for work. Any number of threads may share one engine, and any number of processes one file.

    Every call that changes something is one transaction, and returns only once it is committed. Calls raise EngineError
    subclasses; each says what happened, to which object, and what to do.
    """
