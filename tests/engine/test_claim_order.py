"""Which run a claim takes: priority, then due time, then insertion; merged over queues; filtered by queue and lane."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, plain, rows, started, wait_until
from dura import DurableEngine, InvalidValue


def order(engine: DurableEngine, **wanted: Any) -> list[Any]:
    """The params of everything that can be claimed, in the order in which it is."""
    found = []
    while (task := engine.claim_task(worker_id="w1", **wanted)) is not None:
        found.append(task.params)
    return found


def spawn(engine: DurableEngine, label: object, **options: Any) -> str:
    return engine.spawn_task(name="job", params=label, **options).task_id


def test_the_highest_priority_comes_first(engine: DurableEngine) -> None:
    for priority in (0, 5, -3, 2**63 - 1, -(2**63), 1):
        spawn(engine, priority, priority=priority)
    assert order(engine) == [2**63 - 1, 5, 1, 0, -3, -(2**63)]


def test_among_equals_the_earliest_due_comes_first_then_insertion_order(
    engine: DurableEngine, clock: ManualClock
) -> None:
    spawn(engine, "later", available_after=timedelta(seconds=5))
    spawn(engine, "sooner", available_after=timedelta(seconds=2))
    for label in ("first", "second", "third"):
        spawn(engine, label)
    clock.advance(10)
    spawn(engine, "last")
    assert order(engine) == ["first", "second", "third", "sooner", "later", "last"]


def test_insertion_order_survives_what_happens_to_other_runs(
    engine: DurableEngine, clock: ManualClock
) -> None:
    spawn(engine, "gone", priority=1)
    for number in range(20):
        spawn(engine, number)
    engine.complete_run(run_id=claim(engine).run_id)
    clock.advance(5)
    engine.cleanup(timedelta(0))
    assert order(engine) == list(range(20))


def test_queues_are_merged_as_if_they_were_one(engine: DurableEngine, clock: ManualClock) -> None:
    for number in range(12):
        spawn(engine, number, queue="abc"[number % 3], priority=number % 2)
        clock.advance(1)
    assert order(engine) == [1, 3, 5, 7, 9, 11, 0, 2, 4, 6, 8, 10]


def test_insertion_breaks_ties_across_queues_too(engine: DurableEngine) -> None:
    for number in range(9):
        spawn(engine, number, queue="zyx"[number % 3])
    assert order(engine) == list(range(9))


def test_a_claim_takes_only_of_the_queues_that_it_names(engine: DurableEngine) -> None:
    for queue in ("mail", "bank", "default"):
        spawn(engine, queue, queue=queue)
    assert order(engine, queue="nothing-here") == []
    assert order(engine, queue=["bank", "mail", "bank"]) == ["mail", "bank"]
    assert order(engine, queue="default") == ["default"]


def test_queue_names_are_compared_as_they_are(engine: DurableEngine) -> None:
    spawn(engine, 1, queue="Mail")
    spawn(engine, 2, queue="mail ")
    assert order(engine, queue="mail") == []
    assert order(engine, queue="Mail") == [1]


def test_a_lane_takes_only_up_to_its_priority(engine: DurableEngine) -> None:
    for priority in (9, 5, 1, -1):
        spawn(engine, priority, priority=priority)
    assert order(engine, max_priority=-2) == []
    assert order(engine, max_priority=4) == [1, -1]
    assert order(engine, max_priority=5, queue=["default"]) == [5]
    assert order(engine, max_priority=2**63 - 1) == [9]


def test_a_retry_keeps_queue_and_priority(engine: DurableEngine, path: Path) -> None:
    task = started(engine, queue="bank", priority=4)
    engine.fail_run(run_id=task.run_id, reason={})
    assert rows(path, "SELECT queue, priority FROM runs WHERE attempt = 2") == [("bank", 4)]
    assert claim(engine, queue="bank").attempt == 2


def test_a_due_sleeper_is_found_behind_a_batch_of_due_ones_in_another_queue(
    engine: DurableEngine, clock: ManualClock
) -> None:
    for number in range(450):
        spawn(engine, number, queue="crowded", available_after=timedelta(seconds=1))
    spawn(engine, "mine", queue="mine", available_after=timedelta(seconds=2))
    clock.advance(5)
    assert claim(engine, queue="mine").params == "mine"


def test_a_due_sleeper_is_found_behind_a_batch_of_more_urgent_ones(
    engine: DurableEngine, clock: ManualClock
) -> None:
    for number in range(250):
        spawn(engine, number, priority=10, available_after=timedelta(seconds=1))
    spawn(engine, "background", available_after=timedelta(seconds=2))
    clock.advance(5)
    assert claim(engine, max_priority=0).params == "background"


def test_a_claim_hands_out_token_queue_and_history(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, queue="bank", lease=10)
    assert (task.claim_token, task.queue, task.reclaims, task.deferrals) == (1, "bank", 0, 0)
    clock.advance(11)
    again = claim(engine)
    assert (again.run_id, again.attempt) == (task.run_id, 1)
    assert (again.claim_token, again.reclaims) == (2, 1)
    engine.defer_run(run_id=again.run_id)
    clock.advance(2)
    third = claim(engine)
    assert (third.claim_token, third.reclaims, third.deferrals) == (3, 1, 1)


def test_started_and_first_started_are_set_once(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine, lease=10)
    begun = rows(path, "SELECT started_at, claim_expires_at FROM runs")
    assert begun == [("2026-01-01T00:00:00.000000+00:00", "2026-01-01T00:00:10.000000+00:00")]
    clock.advance(20)
    claim(engine)
    assert rows(path, "SELECT started_at FROM runs") == [begun[0][:1]]
    engine.fail_run(run_id=task.run_id, reason={})
    clock.advance(5)
    claim(engine)
    assert rows(path, "SELECT first_started_at FROM tasks") == [begun[0][:1]]
    assert rows(path, "SELECT started_at FROM runs WHERE attempt = 2") == [
        ("2026-01-01T00:00:25.000000+00:00",)
    ]


WRONG: dict[str, dict[str, Any]] = {
    "no worker": {"worker_id": ""},
    "worker of another type": {"worker_id": 1},
    "worker with a lone surrogate": {"worker_id": "\ud800"},
    "no lease": {"timeout_secs": 0},
    "negative lease": {"timeout_secs": -1},
    "nan lease": {"timeout_secs": float("nan")},
    "infinite lease": {"timeout_secs": float("inf")},
    "lease that no float holds": {"timeout_secs": 10**400},
    "lease as bool": {"timeout_secs": True},
    "lease as text": {"timeout_secs": "60"},
    "no lease at all": {"timeout_secs": None},
    "lane as text": {"max_priority": "0"},
    "lane as float": {"max_priority": 0.0},
    "lane beyond 64 bits": {"max_priority": 2**63},
    "no queue": {"queue": []},
    "an empty queue name": {"queue": ["a", ""]},
    "empty text as queue": {"queue": ""},
    "queue of another type": {"queue": 5},
    "queues of another type": {"queue": [5]},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument_is_refused_and_nothing_is_claimed(
    engine: DurableEngine, wrong: dict[str, Any]
) -> None:
    spawn(engine, 1)
    with pytest.raises(InvalidValue):
        engine.claim_task(**{"worker_id": "w1", **wrong})
    assert engine.task_counts_by_state() == {"pending": 1}


@pytest.mark.parametrize("lease", [1e-6, 0.5, 1, 10**9, 1e300, 10**300])
def test_any_positive_lease_holds(engine: DurableEngine, lease: float) -> None:
    started(engine, lease=lease)
    assert engine.claim_task(worker_id="w2") is None


def test_an_empty_store_is_found_empty_while_another_writer_holds_the_lock(path: Path) -> None:
    engine = DurableEngine(path, busy_timeout_ms=0)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        assert engine.claim_task(worker_id="w1") is None
        other.execute("ROLLBACK")
    engine.close()


def test_a_drained_store_is_found_empty_while_another_writer_holds_the_lock(path: Path) -> None:
    engine = DurableEngine(path, busy_timeout_ms=0)
    task = started(engine)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        assert engine.claim_task(worker_id="w1") is None
        other.execute("ROLLBACK")
    engine.complete_run(run_id=task.run_id)
    engine.close()


def test_workers_that_name_a_queue_twice_and_ask_at_once_get_different_runs(
    engine: DurableEngine, path: Path
) -> None:
    for number in range(3):
        spawn(engine, number, queue="bank")
    with plain(path) as other, ThreadPoolExecutor(3) as threads:
        other.execute("BEGIN IMMEDIATE")
        asked = [threads.submit(claim, engine, queue=["bank", "bank"]) for _ in range(3)]
        wait_until(lambda: len(engine.database._door._line) == 3)
        other.execute("ROLLBACK")
        assert sorted(task.result().params for task in asked) == [0, 1, 2]


def test_idle_claims_write_nothing(engine: DurableEngine, path: Path) -> None:
    engine.spawn_task(name="job", params=None, available_after=timedelta(hours=1))
    started(engine)
    with plain(path) as watcher:
        seen = watcher.execute("PRAGMA data_version").fetchone()
        for _ in range(20):
            assert engine.claim_task(worker_id="w1") is None
        assert watcher.execute("PRAGMA data_version").fetchone() == seen


def test_params_that_cannot_be_read_fail_their_task_and_block_nobody(
    engine: DurableEngine, path: Path
) -> None:
    broken = engine.spawn_task(name="job", params=1, priority=9)
    spawn(engine, "sound")
    with plain(path) as other:
        other.execute("UPDATE tasks SET params = '{not json' WHERE task_id = ?", (broken.task_id,))
    assert claim(engine).params == "sound"
    info = engine.get_task(broken.task_id)
    assert info.state == "failed"
    assert "params" in info.failure_reason["message"]


def test_a_claim_is_not_made_of_a_terminal_run(engine: DurableEngine, path: Path) -> None:
    task = started(engine)
    engine.complete_run(run_id=task.run_id)
    assert engine.claim_task(worker_id="w1") is None
    with plain(path) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute("UPDATE runs SET state = 'running'")


def test_a_lane_that_looks_while_queues_are_emptied_ends_its_look(engine: DurableEngine, path: Path) -> None:
    """The look is no transaction: the queue that was last may be empty when the ones before it have been seen."""
    for queue in ("a", "b"):
        engine.spawn_task(name="job", params=None, queue=queue, priority=9)

    steps: list[str] = []

    def watch(connection: sqlite3.Connection) -> None:
        def note(statement: str) -> None:
            if "queue > " in statement:
                steps.append(statement)
                with plain(path) as other:
                    other.execute(
                        "UPDATE runs SET state = 'failed', failed_at = '', failure_reason = '1' WHERE queue = 'b'"
                    )
                if len(steps) > 50:
                    connection.interrupt()

        connection.set_trace_callback(note)

    engine.database.read(watch)
    try:
        assert engine.claim_task(worker_id="w", max_priority=1) is None
    finally:
        engine.database.read(lambda connection: connection.set_trace_callback(None))
    assert len(steps) == 1
    engine.database.write(lambda tx: tx.execute("DELETE FROM runs WHERE queue = 'b'"))
    engine.database.write(lambda tx: tx.execute("DELETE FROM tasks WHERE queue = 'b'"))
    engine.check(repair=True)
