"""What a monitor with rules hands out holds no secret, wherever in the store it lies; everything else is as it was."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import typing
from pathlib import Path
from typing import Any

import pytest

import dura.records
from conftest import claim
from dura import DurableEngine, InvalidValue
from dura.monitor import Monitor
from dura.records import AuditQuery, Snapshot, TaskQuery, Want
from dura.records.redacted import _PARTS, _VALUES, redacted
from dura.redaction import MARK, Redaction
from secret_store import SECRET, fill


def look(path: Path, task_id: str, redaction: Redaction | None) -> list[Snapshot]:
    everything = Want(
        events=50, event="otp:8", approvals=50, template="otp:9", failures=50, failure_groups="error",
        tasks=TaskQuery(), task_id=task_id, namespace="stripe", audit=50, audit_query=AuditQuery(), find=task_id[-8:],
        chosen=(task_id,), awaited=50,
    )  # fmt: skip
    with Monitor(path, redaction=redaction) as monitor:
        first = monitor.snapshot(everything)
        tasks = [task.task_id for task in first.tasks.tasks] if first.tasks else []
        details = [monitor.snapshot(Want(task_id=each)) for each in tasks]
        spaces = [monitor.snapshot(Want(namespace=name)) for name in ("app.secrets", "poller", "dura.audit")]
        found = [dataclasses.replace(first, found=monitor.find_tasks(task_id))]
    return [first, *details, *spaces, *found]


def text_of(snapshots: list[Snapshot]) -> str:
    return "\n".join(json.dumps(dataclasses.asdict(snapshot), default=str) for snapshot in snapshots)


def test_no_secret_is_in_anything_that_a_monitor_with_rules_hands_out(
    path: Path, engine: DurableEngine
) -> None:
    task_id = fill(engine)
    assert text_of(look(path, task_id, None)).count(SECRET) > 30
    seen = text_of(look(path, task_id, Redaction()))
    assert SECRET not in seen
    assert seen.count(MARK) > 30


def test_what_is_no_secret_is_handed_out_as_it_is(path: Path, engine: DurableEngine) -> None:
    task_id = fill(engine)
    first, *rest = look(path, task_id, Redaction())
    assert first.task is not None
    assert first.task.params == '{"tokens_used": 5}'
    assert first.task.task.error == f"Refused: password={MARK} was refused"
    assert {(event.event_name, event.payload) for event in first.events} == {
        ("otp:8", f'"{MARK}"'),
        ("rates:today", f'{{"authorization": "{MARK}", "eur": 1}}'),
    }
    assert [row.value for snapshot in rest for row in snapshot.state if row.namespace == "poller"] == [
        '{"page": 3}'
    ]
    issued = next(s.task for s in rest if s.task is not None and s.task.task.name == "issue_token")
    assert issued.params == f'{{"password": "{MARK}", "user": "ann"}}'
    assert {step.name: step.value for step in issued.checkpoints} == {
        "fetch_token": f'"{MARK}"',
        "log_in": f'{{"api_key": "{MARK}", "id": 7}}',
    }
    assert issued.result == f'["{MARK}"]'


def test_a_snapshot_says_whether_something_in_it_is_hidden(path: Path, engine: DurableEngine) -> None:
    engine.set_state(namespace="poller", key="cursor", value=1)
    engine.set_state(namespace="poller2", key="cursor", value={"token": "x"})
    with Monitor(path, redaction=Redaction()) as monitor:
        assert not monitor.snapshot(Want(namespace="poller")).hidden
        assert monitor.snapshot(Want(namespace="poller2")).hidden
    with Monitor(path) as monitor:
        assert not monitor.snapshot(Want(namespace="poller2")).hidden


def test_records_without_a_secret_are_the_very_same_objects(path: Path, engine: DurableEngine) -> None:
    for number in range(3):
        engine.set_state(
            namespace="poller", key=f"cursor{number}", value={"token": "x"} if number == 1 else number
        )
    with Monitor(path) as monitor:
        before = monitor.snapshot(Want(namespace="poller"))
    after = redacted(before, Redaction())
    assert [a is b for a, b in zip(after.state, before.state, strict=True)] == [True, False, True]
    assert redacted(after, Redaction()) is after


def test_what_the_engine_keeps_for_itself_is_not_hidden_by_names_of_tasks(
    path: Path, engine: DurableEngine
) -> None:
    engine.spawn_task(name="refresh_token", params=None, queue="session")
    with Monitor(path, redaction=Redaction()) as monitor:
        counts = monitor.snapshot(Want(namespace="dura.counts"))
    assert counts.state
    assert not counts.hidden


def test_a_failure_reason_of_any_shape_is_read(path: Path, engine: DurableEngine) -> None:
    reasons: list[Any] = ["password=x", ["a", {"token": "b"}], {"type": None, "message": 5}, 7, None]
    for reason in reasons:
        engine.spawn_task(name="job", params=None, max_attempts=1)
        engine.fail_run(run_id=claim(engine).run_id, reason=reason, retryable=False)
    with Monitor(path, redaction=Redaction()) as monitor:
        found = monitor.snapshot(Want(failures=9)).failures
    assert sorted(repr(failure.failure_reason) for failure in found) == sorted(
        map(repr, (f"password={MARK}", ["a", {"token": MARK}], {"type": None, "message": 5}, 7, None))
    )


@pytest.mark.parametrize("redaction", [True, "password", object()])
def test_rules_of_another_kind_are_refused(path: Path, redaction: Any) -> None:
    with pytest.raises(InvalidValue, match="redaction must be"):
        Monitor(path, redaction=redaction)


# --- every field is decided upon -------------------------------------------------------------------------------------

NAMES = {
    "action", "actor", "after", "cause", "claim_token", "emitted_by", "event_name", "failed_at", "idempotency_key", "key",
    "latest_task_id", "name", "names", "namespace", "next_page", "origin", "path", "presence", "queue", "reading", "relation",
    "run_id", "sleep_cause", "source", "state", "step_name", "steps", "steps_after", "taken_from", "target", "task_id",
    "task_name", "truncated", "wake_event", "worker_id", "by", "field", "values", "retry",
}  # fmt: skip
"""Fields that hold ids, names, or words of the engine's own."""

ASKED = ("Condition", "FailureKey", "Want")
"""Records that say what was asked, not what was found; so does whatever ends in `Query`."""

WORDS = {"KnownWords"}
"""Names of all kinds, to complete a filter with."""


def seen_records() -> dict[str, type]:
    """Every kind of record that a snapshot can hold."""
    return {
        name: kind
        for name, kind in inspect.getmembers(dura.records, inspect.isclass)
        if name not in ("ClaimedTask", "Emitted", "Finding", "TaskInfo", "TaskRef", *ASKED, *WORDS)
        and not name.endswith("Query")
    }


def parts_of(hint: Any) -> set[Any]:
    found = {hint}
    for argument in typing.get_args(hint):
        found |= parts_of(argument)
    return found


@pytest.mark.parametrize("kind", seen_records().values(), ids=lambda kind: kind.__name__)
def test_every_field_that_can_hold_text_is_decided_upon(kind: type) -> None:
    hints = typing.get_type_hints(kind)
    texts = {name for name, hint in hints.items() if parts_of(hint) & {str, Any}}
    undecided = texts - NAMES - set(_VALUES.get(kind, ()))
    assert undecided == set(), f"{kind.__name__}: can these hold a secret? See dura/records/redacted.py"


def holding() -> set[type]:
    """The records with fields that can hold a secret, in themselves or in their parts."""
    found = set(_VALUES)
    while True:
        more = {
            kind
            for kind in seen_records().values()
            if any(parts_of(hint) & found for hint in typing.get_type_hints(kind).values())
        }
        if more <= found:
            return found
        found |= more


@pytest.mark.parametrize("kind", seen_records().values(), ids=lambda kind: kind.__name__)
def test_every_part_that_can_hold_a_secret_is_gone_through(kind: type) -> None:
    hints = typing.get_type_hints(kind)
    assert {name for name, hint in hints.items() if parts_of(hint) & holding()} == set(_PARTS.get(kind, ()))


def test_a_reason_that_is_no_json_is_hidden_as_a_whole() -> None:
    failure = dura.records.FailureInfo(
        run_id="r", task_id="t", task_name="n", attempt=1, failed_at="", failure_reason={1, 2}
    )
    assert redacted(failure, Redaction()).failure_reason == MARK


def calls_of_monitor() -> list[tuple[str, ast.Call]]:
    """Where the command and the terminal monitor open a store to look at it."""
    source = Path(dura.__file__).parent
    files = [*(source / "cli").rglob("*.py"), *(source.parent / "dura_tui").rglob("*.py")]
    return [
        (f"{file.relative_to(source.parent)}:{node.lineno}", node)
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Monitor"
    ]


def test_whoever_looks_for_a_person_says_what_is_hidden() -> None:
    calls = calls_of_monitor()
    assert len(calls) >= 3
    unsaid = [place for place, call in calls if "redaction" not in {word.arg for word in call.keywords}]
    assert unsaid == []
