"""What operators change by hand beside tasks: state, compared with what was seen, and old tasks, counted first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, dump, rows, started
from dura import ActionRefused, DurableEngine, InvalidValue
from dura.engine import pace
from dura.monitor import Monitor
from dura.records import Removable, StepCount, Want

WHO: dict[str, Any] = {"actor": "ann@web1", "reason": "stuck"}


def audit(path: Path) -> list[dict[str, Any]]:
    found = rows(path, "SELECT value FROM state WHERE namespace = 'dura.audit' ORDER BY key")
    return [json.loads(value) for (value,) in found]


def seen_at(path: Path, key: str = "cursor") -> datetime:
    with Monitor(path) as monitor:
        [row] = monitor.snapshot(Want(namespace="feeds", state_key=key)).state
    assert row.updated_at is not None
    return row.updated_at


@pytest.fixture
def cursor(engine: DurableEngine, clock: ManualClock) -> None:
    engine.set_state(namespace="feeds", key="cursor", value={"page": 1})
    clock.advance(5)


@pytest.mark.usefixtures("cursor")
def test_a_value_set_by_hand_is_audited_with_what_was_there(engine: DurableEngine, path: Path) -> None:
    engine.set_state(namespace="feeds", key="cursor", value={"page": 9}, seen_at=seen_at(path), **WHO)
    assert engine.get_state(namespace="feeds", key="cursor") == {"page": 9}
    [entry] = audit(path)
    assert {name: entry[name] for name in ("action", "target", "before", "after", "actor", "reason")} == {
        "action": "set", "target": "feeds/cursor", "before": '{"page": 1}', "after": '{"page": 9}', **WHO,
    }  # fmt: skip


@pytest.mark.usefixtures("cursor")
def test_a_key_that_was_written_since_is_neither_set_nor_deleted(
    engine: DurableEngine, path: Path, clock: ManualClock
) -> None:
    seen = seen_at(path)
    engine.set_state(namespace="feeds", key="cursor", value={"page": 2})
    before = dump(path)
    with pytest.raises(ActionRefused, match=r"written again since, at .*Look again") as refusal:
        engine.set_state(namespace="feeds", key="cursor", value=0, seen_at=seen, **WHO)
    assert refusal.value.present == '{"page": 2}'
    assert "page" not in str(refusal.value)
    with pytest.raises(ActionRefused, match="cannot delete feeds/cursor"):
        engine.delete_state(namespace="feeds", key="cursor", seen_at=seen, **WHO)
    assert dump(path) == before


@pytest.mark.usefixtures("cursor")
def test_a_key_that_was_deleted_since_does_not_come_back(engine: DurableEngine, path: Path) -> None:
    seen = seen_at(path)
    assert engine.delete_state(namespace="feeds", key="cursor", seen_at=seen, **WHO)
    for call in (
        lambda: engine.set_state(namespace="feeds", key="cursor", value=1, seen_at=seen, **WHO),
        lambda: engine.delete_state(namespace="feeds", key="cursor", seen_at=seen, **WHO),
    ):
        with pytest.raises(ActionRefused, match="has been deleted since"):
            call()
    assert not engine.has_state("feeds")
    assert [(entry["action"], entry["before"], entry["after"]) for entry in audit(path)] == [
        ("delete", '{"page": 1}', "deleted")
    ]


@pytest.mark.usefixtures("cursor")
def test_programs_that_set_state_leave_no_audit_entry(engine: DurableEngine, path: Path) -> None:
    engine.set_state(namespace="feeds", key="cursor", value="x" * 10_000)
    assert engine.delete_state(namespace="feeds", key="other") is False
    assert audit(path) == []
    with pytest.raises(InvalidValue, match="together with an actor"):
        engine.set_state(namespace="feeds", key="cursor", value=1, reason="why")
    engine.set_state(namespace="feeds", key="cursor", value=1, **WHO)
    assert len(audit(path)[0]["before"]) == 501


# --- cleanup ----------------------------------------------------------------------------------------------------------


def end(engine: DurableEngine, state: str, *steps: str) -> str:
    task = started(engine, max_attempts=1)
    for step in steps:
        engine.checkpoint(task_id=task.task_id, step_name=step, fn=lambda: 1, owner_run_id=task.run_id)
    if state == "failed":
        engine.fail_run(run_id=task.run_id, reason={})
    elif state == "cancelled":
        engine.cancel_task(task.task_id)
    else:
        engine.complete_run(run_id=task.run_id)
    return task.task_id


def test_what_a_cleanup_would_remove_is_what_it_removes(
    engine: DurableEngine, path: Path, clock: ManualClock
) -> None:
    for state in ("completed", "completed", "failed", "cancelled"):
        end(engine, state)
    engine.emit_event(event_name="old")
    clock.advance(60)
    moment = clock()
    clock.advance(60)
    end(engine, "completed")
    engine.emit_event(event_name="young")
    with Monitor(path, clock=clock) as monitor:
        told = monitor.snapshot(Want(removable=moment)).removable
    assert told == Removable(before=moment, completed=2, failed=1, cancelled=1, events=1, capped=False)
    assert told.tasks == 4
    assert engine.cleanup(before=moment, **WHO) == 4
    assert [name for (name,) in rows(path, "SELECT event_name FROM events")] == ["young"]
    [entry] = audit(path)
    assert (entry["action"], entry["target"], entry["after"]) == (
        "cleanup", "tasks that ended before 2026-01-01T00:01:00.000000+00:00", "removed 4",
    )  # fmt: skip


def test_an_event_that_a_live_task_may_ask_for_is_not_counted(
    engine: DurableEngine, path: Path, clock: ManualClock
) -> None:
    engine.emit_event(event_name="before")
    clock.advance(1)
    engine.spawn_task(name="job", params=None)
    clock.advance(1)
    engine.emit_event(event_name="after")
    clock.advance(1)
    with Monitor(path, clock=clock) as monitor:
        told = monitor.snapshot(Want(removable=clock())).removable
    assert told is not None
    assert (told.tasks, told.events) == (0, 1)


def test_cleanup_tells_how_far_it_is_and_stops_when_asked(
    engine: DurableEngine, path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "_FIRST", 2)
    monkeypatch.setattr(pace, "_LEAST", 2)
    monkeypatch.setattr(pace, "_MOST", 2)
    for _ in range(7):
        end(engine, "completed")
    clock.advance(1)
    told: list[int] = []
    assert engine.cleanup(timedelta(0), progress=told.append, stopped=lambda: len(told) == 2, **WHO) == 4
    assert told == [2, 4]
    assert audit(path)[0]["after"] == "removed 4"
    assert engine.cleanup(timedelta(0)) == 3


def test_a_cleanup_that_breaks_off_has_left_its_entry(
    engine: DurableEngine, path: Path, clock: ManualClock
) -> None:
    end(engine, "completed")
    clock.advance(1)

    def lost(_: int) -> None:
        raise RuntimeError("the line went dead")

    with pytest.raises(RuntimeError):
        engine.cleanup(timedelta(0), progress=lost, **WHO)
    assert [entry["after"] for entry in audit(path)] == ["removed 1"]


@pytest.mark.parametrize(
    "before",
    [
        "2026-01-01",
        datetime.fromisoformat("2026-01-01T00:00:01+00:00"),
        datetime.fromisoformat("0001-01-01T00:00:00+23:00"),
        datetime.fromisoformat("9999-12-31T23:59:59-23:00"),
    ],
)
def test_a_moment_to_come_or_none_at_all_removes_nothing(
    engine: DurableEngine, before: Any, path: Path
) -> None:
    end(engine, "completed")
    with pytest.raises(InvalidValue, match=r"before (must|is outside the calendar)"):
        engine.cleanup(before=before)
    assert rows(path, "SELECT COUNT(*) FROM tasks") == [(1,)]


# --- what is told of many tasks ---------------------------------------------------------------------------------------


@pytest.fixture
def monitor(path: Path, clock: ManualClock) -> Iterator[Monitor]:
    with Monitor(path, clock=clock) as monitor:
        yield monitor


def test_chosen_tasks_are_told_as_they_are_now_and_in_the_order_asked_for(
    engine: DurableEngine, monitor: Monitor
) -> None:
    done, failed = end(engine, "completed"), end(engine, "failed")
    found = monitor.snapshot(Want(chosen=(failed, "gone", done))).chosen
    assert [(task.task_id, task.state) for task in found] == [(failed, "failed"), (done, "completed")]


def test_finished_steps_are_counted_over_the_tasks_in_their_order(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    first = end(engine, "failed", "load", "push")
    clock.advance(1)
    second = end(engine, "failed", "load", "audit")
    end(engine, "failed", "other")
    found = monitor.snapshot(Want(finished_steps=(first, second))).finished_steps
    assert found == (
        StepCount(name="load", tasks=2), StepCount(name="push", tasks=1), StepCount(name="audit", tasks=1),
    )  # fmt: skip
