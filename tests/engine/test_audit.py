"""The audit: an operator's action and its entry are one transaction; what was refused leaves none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import plain, rows, started
from dura import DurableEngine, EngineError, InvalidValue


def entries(engine: DurableEngine) -> list[dict[str, Any]]:
    return list(engine.list_state("dura.audit").values())


def test_every_action_with_an_actor_leaves_one_entry(engine: DurableEngine) -> None:
    task = started(engine)
    by: Any = {"actor": "ana", "reason": "the bank called"}
    engine.extend_claim(run_id=task.run_id, by_secs=600, **by)
    engine.cancel_task(task.task_id, **by)
    ref = engine.requeue_task(task.task_id, **by)
    delayed = engine.spawn_task(name="job", params=None, available_after=timedelta(hours=1))
    engine.wake_task(delayed.task_id, **by)
    engine.emit_event(event_name="e", payload={"n": 1}, **by)
    common = {"at": "2026-01-01T00:00:00.000000+00:00", "actor": "ana", "reason": "the bank called"}
    assert entries(engine) == [
        {
            **common, "action": "extend", "target": task.task_id, "run_id": task.run_id, "before": "running",
            "after": "2026-01-01T00:10:00.000000+00:00",
        },
        {
            **common, "action": "cancel", "target": task.task_id, "run_id": task.run_id, "before": "running",
            "after": "cancelled",
        },
        {
            **common, "action": "requeue", "target": task.task_id, "run_id": ref.run_id, "before": "cancelled",
            "after": "pending",
        },
        {
            **common, "action": "wake", "target": delayed.task_id, "run_id": delayed.run_id, "before": "sleeping",
            "after": "pending",
        },
        {**common, "action": "emit", "target": "e", "run_id": None, "before": None, "after": '{"n": 1}'},
    ]  # fmt: skip


def test_the_entry_of_a_requeue_says_which_steps_run_again(engine: DurableEngine) -> None:
    task = started(engine)
    engine.checkpoint(task_id=task.task_id, step_name="load", fn=lambda: 1)
    for options in ({"from_step": "load"}, {"keep_checkpoints": False}):
        engine.cancel_task(task.task_id)
        engine.requeue_task(task.task_id, actor="ana", **options)
    assert [entry["after"] for entry in entries(engine)] == [
        "pending, from step 'load'",
        "pending, from scratch",
    ]


def test_an_extension_that_changes_nothing_leaves_no_entry(engine: DurableEngine) -> None:
    task = started(engine)
    engine.extend_claim(run_id=task.run_id, by_secs=1, actor="ana")
    assert entries(engine) == []


def test_programs_leave_no_entry(engine: DurableEngine, path: Path) -> None:
    task = started(engine)
    engine.extend_claim(run_id=task.run_id, by_secs=600)
    engine.emit_event(event_name="e")
    engine.cancel_task(task.task_id)
    engine.requeue_task(task.task_id)
    assert entries(engine) == []
    assert rows(path, "SELECT emitted_by FROM events") == [(None,)]


def test_an_event_names_the_operator_who_emitted_it(engine: DurableEngine, path: Path) -> None:
    engine.emit_event(event_name="e", actor="ana")
    assert rows(path, "SELECT emitted_by FROM events") == [("ana",)]


def test_an_actor_without_a_reason_is_enough(engine: DurableEngine) -> None:
    engine.emit_event(event_name="e", actor="ana")
    assert [entry["reason"] for entry in entries(engine)] == [None]


def test_what_changed_nothing_leaves_no_entry(engine: DurableEngine) -> None:
    task = started(engine)
    engine.emit_event(event_name="e")
    engine.complete_run(run_id=task.run_id)
    calls: list[Callable[[], object]] = [
        lambda: engine.emit_event(event_name="e", actor="ana"),
        lambda: engine.cancel_task(task.task_id, actor="ana"),
        lambda: engine.cancel_task(task.task_id, actor="ana", seen_run_id="other"),
        lambda: engine.requeue_task(task.task_id, actor="ana"),
        lambda: engine.wake_task(task.task_id, actor="ana"),
        lambda: engine.extend_claim(run_id=task.run_id, by_secs=5, actor="ana"),
        lambda: engine.emit_event(event_name="f", actor="ana", seen_run_id=task.run_id),
        lambda: engine.cancel_task("ghost", actor="ana"),
    ]
    for call in calls:
        try:
            call()
        except EngineError:
            continue
    assert entries(engine) == []


def test_an_entry_that_cannot_be_written_undoes_its_action(engine: DurableEngine, path: Path) -> None:
    task = started(engine)
    with plain(path) as other:
        other.execute(
            "CREATE TRIGGER no_audit BEFORE INSERT ON state WHEN NEW.namespace = 'dura.audit' "
            "BEGIN SELECT RAISE(ABORT, 'the audit is closed'); END"
        )
    with pytest.raises(EngineError):
        engine.cancel_task(task.task_id, actor="ana")
    with pytest.raises(EngineError):
        engine.emit_event(event_name="e", actor="ana")
    assert engine.get_task(task.task_id).state == "running"
    assert rows(path, "SELECT * FROM events") == []


def test_entries_are_in_the_order_of_the_actions(engine: DurableEngine) -> None:
    for number in range(50):
        engine.emit_event(event_name=f"e{number}", actor=f"a{number}")
    assert [entry["actor"] for entry in entries(engine)] == [f"a{number}" for number in range(50)]


def test_a_large_payload_is_named_in_short(engine: DurableEngine) -> None:
    engine.emit_event(event_name="e", payload="x" * 10_000, actor="ana")
    assert len(entries(engine)[0]["after"]) <= 500


def test_users_can_read_the_audit_but_not_write_it(engine: DurableEngine) -> None:
    engine.emit_event(event_name="e", actor="ana")
    ((key, _),) = engine.list_state("dura.audit").items()
    assert engine.get_state(namespace="dura.audit", key=key)["actor"] == "ana"
    for write in (
        lambda: engine.set_state(namespace="dura.audit", key=key, value=1),
        lambda: engine.delete_state(namespace="dura.audit", key=key),
        lambda: engine.update_state(namespace="dura.audit", key=key, fn=lambda _: 1),
    ):
        with pytest.raises(InvalidValue, match=r"dura\."):
            write()
