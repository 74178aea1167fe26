"""Records without what must not be shown: which of their fields hold values, messages, or records with such fields.

Ids, names and the engine's own words are left alone: names are how things are found and acted upon. A test goes through
every field of every record, so that a new one is decided upon too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

from dura.records.alike import FailureGroup, FailureGroups
from dura.records.audit import ON_TASKS, AuditPage, AuditRow
from dura.records.calls import FailureInfo
from dura.records.look import Snapshot, TaskPage
from dura.records.rows import (
    Approval,
    AttemptRow,
    CheckpointRow,
    EventRow,
    PayloadTemplate,
    StateRow,
    TaskDetail,
    TaskRow,
)
from dura.redaction import MARK, Redaction

R = TypeVar("R")

_OWN: Final = "dura."
"""Namespaces of the engine itself: their keys are tasks' names and ids, which name no secret."""

_AUDIT: Final = "dura.audit"

_DELETED: Final = "deleted"
"""What an entry of the audit says of a key that is no more; no JSON."""

Hide = Callable[[Redaction, Any, Any], Any]
"""The field's value without what is hidden, given the rules, the record and the value, which is not None."""


def _json(rules: Redaction, _: Any, value: str) -> str:
    return rules.json(value)


def _text(rules: Redaction, _: Any, value: str) -> str:
    return rules.text(value)


def _decoded(rules: Redaction, _: Any, value: Any) -> Any:
    try:
        before = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return MARK
    after = rules.json(before)
    return value if after is before else json.loads(after)


def _result(rules: Redaction, detail: TaskDetail, value: str) -> str:
    return rules.json(value, (detail.task.name,), bare=True)


def _step(rules: Redaction, checkpoint: CheckpointRow, value: str) -> str:
    return rules.json(value, (checkpoint.name,), bare=True)


def _payload(rules: Redaction, event: EventRow, value: str) -> str:
    return rules.json(value, (event.event_name,))


def _template(rules: Redaction, template: PayloadTemplate, value: str) -> str:
    return rules.json(value, (template.event_name, template.taken_from))


def _state(rules: Redaction, row: StateRow, value: str) -> str:
    if row.namespace == _AUDIT:
        return _entry(rules, value)
    return (
        rules.json(value) if row.namespace.startswith(_OWN) else rules.json(value, (row.key, row.namespace))
    )


def _entry(rules: Redaction, value: str) -> str:
    """An entry of the audit: what was before and after may be a value of state, or a payload."""
    try:
        entry = json.loads(value)
    except (ValueError, RecursionError):
        return rules.json(value)
    if not isinstance(entry, dict):
        return rules.json(value)
    hidden = dict(entry)
    for name, said in entry.items():
        if name in ("before", "after") and isinstance(said, str):
            hidden[name] = _changed(rules, str(entry.get("action")), str(entry.get("target")), said)
        elif name == "reason" and isinstance(said, str):
            hidden[name] = rules.text(said)
    return value if hidden == entry else json.dumps(hidden)


def _became(rules: Redaction, row: AuditRow, value: str) -> str:
    return _changed(rules, row.action, row.target, value)


def _changed(rules: Redaction, action: str, target: str, value: str) -> str:
    if action in ON_TASKS or value == _DELETED:
        return rules.text(value)
    return rules.json(value, (target, target.rpartition("/")[0]))


_VALUES: Final[dict[type, dict[str, Hide]]] = {
    Approval: {"params": _json},
    AttemptRow: {"failure_reason": _json},
    AuditRow: {
        "before": _became,
        "after": _became,
        "reason": _text,
        "value": lambda rules, _, text: _entry(rules, text),
    },
    CheckpointRow: {"value": _step},
    EventRow: {"payload": _payload},
    FailureGroup: {"latest_error": _text},
    FailureInfo: {"failure_reason": _decoded},
    PayloadTemplate: {"payload": _template},
    StateRow: {"value": _state},
    TaskDetail: {"params": _json, "result": _result},
    TaskRow: {"error": _text},
}
"""The fields that can hold a secret."""

_PARTS: Final[dict[type, tuple[str, ...]]] = {
    AuditPage: ("entries",),
    FailureGroups: ("groups",),
    Snapshot: (
        "approvals", "audit", "audit_page", "chosen", "entry", "event", "events", "failure_groups", "failures", "found", "state", "task",
        "tasks", "template",
    ),
    TaskDetail: ("task", "attempts", "checkpoints"),
    TaskPage: ("tasks",),
}  # fmt: skip
"""The fields that hold records with such fields."""


def redacted(record: R, rules: Redaction) -> R:
    """The record without what is hidden; the same object if there is nothing to hide.

    Args:
        record: A record of the monitor, or a tuple of them.
        rules: What is hidden.
    """
    found: Any = _all(record, rules) if isinstance(record, tuple) else _one(record, rules)
    return found  # type: ignore[no-any-return]  # of the record's own type


def _all(records: tuple[Any, ...], rules: Redaction) -> tuple[Any, ...]:
    found = [_one(record, rules) for record in records]
    same = all(after is before for after, before in zip(found, records, strict=True))
    return records if same else tuple(found)


def _one(record: Any, rules: Redaction) -> Any:
    kind = type(record)
    changes: dict[str, Any] = {}
    for name in _PARTS.get(kind, ()):
        part = getattr(record, name)
        if part and (after := redacted(part, rules)) is not part:
            changes[name] = after
    for name, hide in _VALUES.get(kind, {}).items():
        value = getattr(record, name)
        if value is not None and (after := hide(rules, record, value)) is not value:
            changes[name] = after
    return replace(record, **changes) if changes else record
