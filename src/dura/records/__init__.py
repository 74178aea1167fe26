"""What the engine and the monitor hand out: frozen rows, no behaviour beyond facts derived from their own fields."""

from __future__ import annotations

from dura.records.alike import FailedTasks, FailureGroup, FailureGroups, FailureKey, SeenTask
from dura.records.audit import AuditPage, AuditQuery, AuditRow
from dura.records.calls import ClaimedTask, Emitted, FailureInfo, Finding, TaskInfo, TaskRef, maker
from dura.records.choice import Removable, StepCount
from dura.records.conditions import Condition
from dura.records.look import TASK_SORTS, Snapshot, TaskPage, TaskQuery, Want
from dura.records.rows import (
    Approval,
    AttemptRow,
    AwaitedEvent,
    CheckpointRow,
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
    Waiter,
    WorkerRow,
)

__all__ = [
    "TASK_SORTS",
    "Approval",
    "AttemptRow",
    "AuditPage",
    "AuditQuery",
    "AuditRow",
    "AwaitedEvent",
    "CheckpointRow",
    "ClaimedTask",
    "Condition",
    "CountRow",
    "Emitted",
    "EventRow",
    "FailedTasks",
    "FailureGroup",
    "FailureGroups",
    "FailureInfo",
    "FailureKey",
    "Finding",
    "KnownWords",
    "Lease",
    "NamespaceRow",
    "PayloadTemplate",
    "QueueRow",
    "Removable",
    "SeenTask",
    "Sleeper",
    "Snapshot",
    "StateRow",
    "StepCount",
    "StoreFile",
    "TaskDetail",
    "TaskInfo",
    "TaskPage",
    "TaskQuery",
    "TaskRef",
    "TaskRow",
    "Throughput",
    "Waiter",
    "Want",
    "WorkerRow",
    "maker",
]
