"""dura: durable execution in one SQLite file.

`DurableEngine` is the store, `run_workers` the pool that runs handlers, `Monitor` the read-only view of a live store.
"""

from __future__ import annotations

from dura.engine import DurableEngine
from dura.errors import (
    ActionRefused,
    CommitUnknown,
    EngineError,
    InvalidFilter,
    InvalidRunState,
    InvalidValue,
    LeaseLost,
    NotADuraStore,
    NotStorable,
    PoolFailed,
    StepConflict,
    StoreBusy,
    StoreError,
    StoreNeedsUpgrade,
    StoreNotFound,
    StoreTooNew,
    TaskCancelledError,
    TaskNotFound,
    WorkflowSuspended,
)
from dura.health import Heartbeat
from dura.records import ClaimedTask, Emitted, FailureInfo, Finding, TaskInfo, TaskRef
from dura.retry import RetryStrategy
from dura.workers import keep_alive, process_task, run_worker, run_workers

__all__ = [
    "ActionRefused",
    "ClaimedTask",
    "CommitUnknown",
    "DurableEngine",
    "Emitted",
    "EngineError",
    "FailureInfo",
    "Finding",
    "Heartbeat",
    "InvalidFilter",
    "InvalidRunState",
    "InvalidValue",
    "LeaseLost",
    "NotADuraStore",
    "NotStorable",
    "PoolFailed",
    "RetryStrategy",
    "StepConflict",
    "StoreBusy",
    "StoreError",
    "StoreNeedsUpgrade",
    "StoreNotFound",
    "StoreTooNew",
    "TaskCancelledError",
    "TaskInfo",
    "TaskNotFound",
    "TaskRef",
    "WorkflowSuspended",
    "keep_alive",
    "process_task",
    "run_worker",
    "run_workers",
]
