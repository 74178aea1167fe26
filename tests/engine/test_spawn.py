"""Spawning: one task and one run, once a key, and nothing at all when an argument is wrong."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, rows, started
from dura import DurableEngine, InvalidValue, NotStorable, RetryStrategy, TaskRef


def test_a_spawned_task_is_pending_with_one_pending_run(engine: DurableEngine, path: Path) -> None:
    ref = engine.spawn_task(name="charge", params={"order": 1})
    assert (ref.attempt, ref.created) == (1, True)
    assert rows(path, "SELECT task_id, state, attempts, last_attempt_run FROM tasks") == [
        (ref.task_id, "pending", 1, ref.run_id)
    ]
    assert rows(path, "SELECT run_id, task_id, state, attempt, claim_token FROM runs") == [
        (ref.run_id, ref.task_id, "pending", 1, 0)
    ]


def test_what_was_given_is_what_is_claimed(engine: DurableEngine, path: Path) -> None:
    task = started(
        engine, name="charge", params={"items": [1, None]}, queue="bank", priority=-7, steps=["look", "pay"],
        max_reclaims=3, max_attempts=4, retry=RetryStrategy(kind="fixed", base_seconds=2),
    )  # fmt: skip
    assert (task.name, task.params, task.queue, task.attempt) == ("charge", {"items": [1, None]}, "bank", 1)
    assert (task.claim_token, task.reclaims, task.deferrals) == (1, 0, 0)
    ((steps, max_reclaims, max_attempts, retry),) = rows(
        path, "SELECT steps, max_reclaims, max_attempts, retry_strategy FROM tasks"
    )
    assert (json.loads(steps), max_reclaims, max_attempts) == (["look", "pay"], 3, 4)
    assert json.loads(retry)["kind"] == "fixed"


def test_an_idempotency_key_names_one_task_for_ever(engine: DurableEngine, path: Path) -> None:
    first = engine.spawn_task(name="charge", params=1, idempotency_key="k")
    before = dump(path)
    again = engine.spawn_task(name="other", params=2, idempotency_key="k", priority=9)
    assert again == TaskRef(task_id=first.task_id, run_id=first.run_id, attempt=1, created=False)
    assert dump(path) == before
    engine.complete_run(run_id=claim(engine).run_id)
    assert not engine.spawn_task(name="charge", params=1, idempotency_key="k").created


def test_a_key_names_the_latest_run_of_its_task(engine: DurableEngine) -> None:
    task = started(engine, idempotency_key="k")
    engine.fail_run(run_id=task.run_id, reason={})
    again = engine.spawn_task(name="job", params=None, idempotency_key="k")
    assert (again.task_id, again.attempt) == (task.task_id, 2)
    assert again.run_id == claim(engine).run_id


def test_cleanup_frees_the_key(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, idempotency_key="k")
    engine.complete_run(run_id=task.run_id)
    clock.advance(10)
    engine.cleanup(timedelta(seconds=5))
    assert engine.spawn_task(name="job", params=None, idempotency_key="k").created


def test_threads_that_race_for_a_key_make_one_task(engine: DurableEngine, path: Path) -> None:
    refs: list[TaskRef] = []
    together = threading.Barrier(8)

    def spawn() -> None:
        for number in range(10):
            together.wait(60)
            refs.append(engine.spawn_task(name="job", params=None, idempotency_key=f"k{number}"))
        engine.close()

    threads = [threading.Thread(target=spawn) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(refs) == 80
    assert sum(ref.created for ref in refs) == 10
    assert len({ref.run_id for ref in refs}) == 10
    assert rows(path, "SELECT COUNT(*) FROM runs") == [(10,)]


def test_a_delayed_task_sleeps_until_its_time(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    ref = engine.spawn_task(name="job", params=None, available_after=timedelta(seconds=10))
    assert rows(path, "SELECT state, sleep_cause FROM runs") == [("sleeping", "delay")]
    clock.advance(9.999999)
    assert engine.claim_task(worker_id="w1") is None
    clock.advance(0.000001)
    assert claim(engine).run_id == ref.run_id


@pytest.mark.parametrize("delay", [timedelta(0), timedelta(seconds=-5), timedelta.min])
def test_no_delay_or_a_negative_one_is_due_at_once(engine: DurableEngine, delay: timedelta) -> None:
    engine.spawn_task(name="job", params=None, available_after=delay)
    assert claim(engine).attempt == 1


def test_a_delay_beyond_the_calendar_still_has_a_due_time(engine: DurableEngine, path: Path) -> None:
    engine.spawn_task(name="job", params=None, available_after=timedelta.max)
    assert engine.claim_task(worker_id="w1") is None
    assert engine.check() == ()


WRONG: dict[str, dict[str, Any]] = {
    "no name": {"name": ""},
    "name of another type": {"name": 7},
    "name None": {"name": None},
    "name with a lone surrogate": {"name": "a\ud800"},
    "bytes as name": {"name": b"job"},
    "empty key": {"idempotency_key": ""},
    "key of another type": {"idempotency_key": 5},
    "key with a lone surrogate": {"idempotency_key": "\udfff"},
    "retry as dict": {"retry": {"kind": "fixed"}},
    "retry as text": {"retry": "fixed"},
    "no attempts": {"max_attempts": 0},
    "negative attempts": {"max_attempts": -1},
    "half an attempt": {"max_attempts": 1.5},
    "attempts as bool": {"max_attempts": True},
    "attempts as text": {"max_attempts": "3"},
    "attempts beyond 64 bits": {"max_attempts": 2**63},
    "attempts that cannot be shown": {"max_attempts": 10**5000},
    "delay in seconds": {"available_after": 5},
    "delay as text": {"available_after": "5s"},
    "priority as text": {"priority": "high"},
    "priority as float": {"priority": 1.0},
    "priority nan": {"priority": float("nan")},
    "priority None": {"priority": None},
    "priority bool": {"priority": False},
    "priority beyond 64 bits": {"priority": 2**63},
    "priority below 64 bits": {"priority": -(2**63) - 1},
    "no queue": {"queue": ""},
    "queue None": {"queue": None},
    "queue of another type": {"queue": ["a"]},
    "queue with a lone surrogate": {"queue": "\ud9ff"},
    "steps as text": {"steps": "pay"},
    "steps as number": {"steps": 3},
    "an empty step": {"steps": ["pay", ""]},
    "a step of another type": {"steps": ["pay", 2]},
    "negative reclaims": {"max_reclaims": -1},
    "reclaims as bool": {"max_reclaims": True},
    "reclaims as float": {"max_reclaims": 2.0},
    "reclaims beyond 64 bits": {"max_reclaims": 2**63},
    "params not JSON": {"params": object()},
    "params nan": {"params": [float("nan")]},
    "params bytes": {"params": b""},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument_is_refused_and_leaves_nothing_behind(
    engine: DurableEngine, path: Path, wrong: dict[str, Any]
) -> None:
    before = dump(path)
    with pytest.raises(InvalidValue):
        engine.spawn_task(**{"name": "job", "params": None, **wrong})
    assert dump(path) == before


@pytest.mark.parametrize(
    "argument",
    [
        "max_attempts",
        "priority",
        "queue",
        "max_reclaims",
        "steps",
        "idempotency_key",
        "retry",
        "available_after",
    ],
)
def test_the_error_names_the_argument(engine: DurableEngine, argument: str) -> None:
    wrong: dict[str, Any] = {argument: 0.5}
    with pytest.raises(InvalidValue, match=argument):
        engine.spawn_task(name="job", params=None, **wrong)


def test_unserialisable_params_name_the_task(engine: DurableEngine) -> None:
    with pytest.raises(NotStorable, match="the params of 'charge'"):
        engine.spawn_task(name="charge", params={1, 2})


@pytest.mark.parametrize("priority", [2**63 - 1, -(2**63), 0])
def test_the_whole_range_of_priorities_can_be_claimed(engine: DurableEngine, priority: int) -> None:
    assert started(engine, priority=priority).attempt == 1


@pytest.mark.parametrize("name", ["a\x00b", 'quo"te', "[bold]", "ü☃😀", "new\nline", " ", "x" * 10_000])
def test_any_text_is_a_name(engine: DurableEngine, name: str) -> None:
    task = started(engine, name=name, queue=name, idempotency_key=name, steps=[name])
    assert (task.name, task.queue) == (name, name)
    assert engine.task_counts_by_name_and_state() == {name: {"running": 1}}
    assert engine.claim_task(worker_id=name, queue=name) is None


def test_no_declared_steps_are_as_good_as_none(engine: DurableEngine) -> None:
    started(engine, steps=[])
