"""dura: durable execution in one SQLite file.

`DurableEngine` is the store, `run_workers` the pool that runs handlers, `Monitor` the read-only view of a live store.

A name loads its room when it is first asked for, so that a program that only looks at a store, as the monitor and most commands
of `dura` do, does not wait for the engine and the pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
from dura.later import later

_ROOMS: Final = {
    "engine": ("DurableEngine",),
    "health": ("Heartbeat",),
    "records": ("ClaimedTask", "Emitted", "FailureInfo", "Finding", "TaskInfo", "TaskRef"),
    "retry": ("RetryStrategy",),
    "workers": ("keep_alive", "process_task", "run_worker", "run_workers"),
}
"""Where the names come from that are not there from the beginning."""

if TYPE_CHECKING:
    from dura.engine import DurableEngine
    from dura.health import Heartbeat
    from dura.records import ClaimedTask, Emitted, FailureInfo, Finding, TaskInfo, TaskRef
    from dura.retry import RetryStrategy
    from dura.workers import keep_alive, process_task, run_worker, run_workers
else:
    __getattr__ = later(__name__, _ROOMS)

    def __dir__() -> list[str]:
        """Also what is not loaded yet."""
        return sorted({*globals(), *_ROOMS, *__all__})


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
