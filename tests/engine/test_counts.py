"""Counters: always what counting finds, whatever is done, and rebuilt if something else wrote to the tasks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, plain, rows, started
from dura import DurableEngine, EngineError, RetryStrategy, process_task
from dura.store import counts
from dura.store.scripts import statements


def counted(path: Path) -> dict[tuple[str, str, str], int]:
    found = rows(path, "SELECT queue, task_name, state, COUNT(*) FROM tasks GROUP BY 1, 2, 3")
    return {(queue, name, state): count for queue, name, state, count in found}


def kept(path: Path) -> dict[tuple[str, str, str], int]:
    found = rows(path, "SELECT key, value FROM state WHERE namespace = 'dura.counts' AND value != '0'")
    return {tuple(json.loads(key)): int(value) for key, value in found}


@pytest.fixture(params=["the engine counts", "triggers count"])
def either(request: pytest.FixtureRequest, engine: DurableEngine, path: Path) -> DurableEngine:
    """An engine on a new store, or on one whose triggers keep the counters, as an upgraded one's do."""
    if request.param == "triggers count":
        engine.close()
        with plain(path) as other:
            for statement in statements("triggers.sql"):
                other.execute(statement)
    return engine


@pytest.mark.parametrize("seed", range(6))
def test_counters_equal_counting_after_every_operation(
    either: DurableEngine, clock: ManualClock, path: Path, seed: int
) -> None:
    engine = either
    chance = random.Random(seed)
    refs = [engine.spawn_task(name="a", params=None)]
    for _ in range(80):
        with suppress(EngineError):
            match chance.randrange(8):
                case 0 | 1:
                    refs.append(
                        engine.spawn_task(
                            name=chance.choice(['a"b', "ü", "a"]),
                            params=None,
                            queue=chance.choice(["x", "y[1]"]),
                            max_attempts=chance.choice([None, 1, 2]),
                            retry=chance.choice([None, RetryStrategy(kind="fixed", base_seconds=3)]),
                            available_after=chance.choice([None, timedelta(seconds=2)]),
                        )
                    )
                case 2 | 3:
                    engine.claim_task(worker_id="w", timeout_secs=chance.choice([1, 50]))
                case 4:
                    engine.complete_run(run_id=chance.choice(refs).run_id)
                case 5:
                    engine.fail_run(run_id=chance.choice(refs).run_id, reason={})
                case 6:
                    calls: list[Callable[[str], object]] = [
                        engine.cancel_task, engine.requeue_task, engine.wake_task,
                    ]  # fmt: skip
                    chance.choice(calls)(chance.choice(refs).task_id)
                case _:
                    clock.advance(chance.choice([0, 1, 5]))
                    engine.cleanup(timedelta(seconds=chance.choice([0, 4])))
        assert kept(path) == counted(path), f"seed {seed}"


@pytest.mark.parametrize("altered", [{"name": "b"}, {"queue": "y"}, {"task_id": "another"}])
def test_a_claimed_task_that_its_caller_has_altered_is_counted_as_what_it_is(
    either: DurableEngine, path: Path, altered: dict[str, Any]
) -> None:
    task = replace(started(either, name="a", queue="x"), **altered)
    process_task(either, handlers={"a": lambda *_: 1, "b": lambda *_: 1}, task=task)
    assert kept(path) == counted(path) == {("x", "a", "completed"): 1}


@pytest.mark.parametrize("most", [1, 4096])
def test_counters_go_by_every_name_that_a_task_or_queue_can_have(
    either: DurableEngine, path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(counts, "_MOST_KEYS", most)
    names = ['"', "\\", "\x01\n\t\x7f", "\u2028", "/", "é", "😀", "[1, 2]", "null", "'", "\x00a"]
    for _ in range(2):
        for name in names:
            either.spawn_task(name=name, params=None, queue=name)
            task = claim(either, queue=name)
            either.complete_run(run_id=task.run_id)
    assert kept(path) == counted(path) == {(name, name, "completed"): 2 for name in names}
    assert either.check() == ()


def test_the_engine_reads_its_counters(engine: DurableEngine) -> None:
    started(engine, name="a", queue="x")
    for _ in range(3):
        engine.spawn_task(name="a", params=None, queue="y")
    engine.cancel_task(engine.spawn_task(name="b", params=None).task_id)
    assert engine.task_counts_by_state() == {"running": 1, "pending": 3, "cancelled": 1}
    assert engine.task_counts_by_name_and_state() == {
        "a": {"running": 1, "pending": 3}, "b": {"cancelled": 1},
    }  # fmt: skip
    assert engine.ready_run_count() == 3


def test_ready_are_the_pending_and_the_sleepers_that_are_due(
    engine: DurableEngine, clock: ManualClock
) -> None:
    engine.spawn_task(name="job", params=None)
    engine.spawn_task(name="job", params=None, available_after=timedelta(seconds=10))
    task = claim(engine)
    engine.await_event(run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e")
    assert engine.ready_run_count() == 0
    clock.advance(10)
    assert engine.ready_run_count() == 1
    engine.emit_event(event_name="e")
    assert engine.ready_run_count() == 2


def test_a_counter_that_is_zero_goes_with_cleanup(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine)
    engine.complete_run(run_id=task.run_id)
    counters = engine.list_state("dura.counts")
    assert counters == {
        '["default","job","completed"]': 1, '["default","job","pending"]': 0, '["default","job","running"]': 0,
    }  # fmt: skip
    clock.advance(10)
    assert engine.cleanup(timedelta(seconds=5)) == 1
    assert engine.list_state("dura.counts") == {}
    assert engine.task_counts_by_state() == {}


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM state WHERE namespace = 'dura.counts'",
        "UPDATE state SET value = '7' WHERE namespace = 'dura.counts'",
        "UPDATE state SET value = '-1' WHERE namespace = 'dura.counts'",
        "UPDATE state SET value = 'many' WHERE namespace = 'dura.counts'",
        "INSERT INTO state VALUES ('dura.counts', '[\"q\",\"ghost\",\"pending\"]', '3', '2026')",
        "INSERT INTO state VALUES ('dura.counts', 'no key of ours', '3', '2026')",
    ],
)
def test_wrong_counters_are_found_and_repaired_and_nothing_else_is(
    engine: DurableEngine, path: Path, damage: str
) -> None:
    started(engine)
    engine.spawn_task(name="other", params=None)
    right = kept(path)
    with plain(path) as other:
        other.execute(damage)
    (finding,) = engine.check()
    assert finding.rule == "the counters agree with the tasks"
    assert finding.breaches
    assert engine.check(repair=True) == (finding,)
    assert engine.check() == ()
    assert kept(path) == right == counted(path)


def test_repair_leaves_other_damage_as_it_is(engine: DurableEngine, path: Path) -> None:
    task = started(engine)
    with plain(path) as other:
        other.execute("UPDATE tasks SET state = 'pending'")
    before: Any = rows(path, "SELECT * FROM tasks")
    other_damage = ["every task has the state of its latest run"]
    assert [finding.rule for finding in engine.check(repair=True)] == [
        *other_damage, "the counters agree with the tasks",
    ]  # fmt: skip
    assert [finding.rule for finding in engine.check()] == other_damage
    assert rows(path, "SELECT * FROM tasks") == before
    with plain(path) as other:
        other.execute("UPDATE tasks SET state = 'running'")
    engine.check(repair=True)
    engine.complete_run(run_id=task.run_id)
