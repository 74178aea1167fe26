"""A pool settles one run and claims the next in one transaction; a lost claim costs the one and not the other."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, plain, rows, started
from dura import ClaimedTask, DurableEngine, LeaseLost, StoreBusy, TaskCancelledError, TaskNotFound
from dura.store import commits, connections
from dura.store.claim import Claim
from dura.store.settle import Settlement
from dura.store.turns import Turn

NEXT = Claim(worker_id="w1", lease_seconds=60, queues=None, max_priority=None)


def completed(task: ClaimedTask) -> Settlement:
    return Settlement.of(task, result='"done"')


def failed(task: ClaimedTask, **options: Any) -> Settlement:
    return Settlement.of(task, reason='{"a": 1}', **options)


def test_the_run_is_settled_and_the_next_is_claimed(engine: DurableEngine) -> None:
    task = started(engine)
    waiting = engine.spawn_task(name="next", params=5)
    lost, following = engine.settle_and_claim(completed(task), NEXT)
    assert lost is None
    assert following is not None
    assert (following.run_id, following.params, following.claim_token) == (waiting.run_id, 5, 1)
    assert engine.get_task(task.task_id).result == "done"


def test_a_failed_attempt_may_be_the_next_one_itself(engine: DurableEngine) -> None:
    task = started(engine)
    _, following = engine.settle_and_claim(failed(task), NEXT)
    assert following is not None
    assert (following.task_id, following.attempt) == (task.task_id, 2)


def test_with_nothing_left_there_is_no_next(engine: DurableEngine) -> None:
    task = started(engine)
    assert engine.settle_and_claim(failed(task, retryable=False), NEXT) == (None, None)
    assert engine.get_task(task.task_id).failure_reason == {"a": 1}


@pytest.mark.parametrize(
    "fate", ["claimed again", "completed", "parked", "given back", "cancelled", "removed"]
)
@pytest.mark.parametrize("settle", [completed, failed])
def test_a_lost_claim_settles_nothing_and_the_next_is_claimed_all_the_same(
    engine: DurableEngine, clock: ManualClock, path: Path, settle: Any, fate: str
) -> None:
    task = started(engine, lease=10)
    if fate == "claimed again":
        clock.advance(11)
        claim(engine)
    elif fate == "completed":
        engine.complete_run(run_id=task.run_id)
    elif fate == "parked":
        engine.await_event(run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e")
    elif fate == "given back":
        engine.give_back_run(run_id=task.run_id)
    elif fate == "cancelled":
        engine.cancel_task(task.task_id)
    else:
        engine.complete_run(run_id=task.run_id)
        clock.advance(1)
        engine.cleanup(timedelta(0))
    waiting = engine.spawn_task(name="next", params=None, priority=1)
    before = rows(path, "SELECT * FROM runs WHERE run_id = ?", task.run_id)
    lost, following = engine.settle_and_claim(settle(task), NEXT)
    assert type(lost) is {"cancelled": TaskCancelledError, "removed": TaskNotFound}.get(fate, LeaseLost)
    assert following is not None
    assert following.run_id == waiting.run_id
    assert rows(path, "SELECT * FROM runs WHERE run_id = ?", task.run_id) == before


def test_of_several_turns_a_lost_one_costs_the_others_nothing(engine: DurableEngine) -> None:
    tasks = [started(engine) for _ in range(3)]
    engine.cancel_task(tasks[1].task_id)
    waiting = [engine.spawn_task(name="next", params=number).run_id for number in range(2)]
    settlements = [completed(tasks[0]), completed(tasks[1]), failed(tasks[2], retryable=False)]
    taken = engine.take_turns([Turn(settlement, NEXT) for settlement in settlements])
    outcomes = [turn for turn in taken if isinstance(turn, tuple)]
    assert [type(lost) for lost, _ in outcomes] == [type(None), TaskCancelledError, type(None)]
    assert [None if run is None else run.run_id for _, run in outcomes] == [*waiting, None]
    states = [engine.get_task(task.task_id).state for task in tasks]
    assert states == ["completed", "cancelled", "failed"]


def test_of_several_turns_that_cannot_have_the_lock_each_says_so_after_one_wait_and_none_is_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DurableEngine(path, busy_timeout_ms=20)
    tasks = [started(engine) for _ in range(3)]
    before = dump(path)
    waits: list[float] = []

    def begin(connection: sqlite3.Connection, timeout: float) -> None:
        waits.append(timeout)
        connections.begin(connection, timeout)

    monkeypatch.setattr(commits, "begin", begin)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        taken = engine.take_turns([Turn(completed(task), NEXT) for task in tasks])
        assert [type(turn) for turn in taken] == [StoreBusy] * 3
        assert len(waits) == 1
        other.execute("ROLLBACK")
    assert dump(path) == before
    engine.close()


def test_when_neither_can_be_written_nothing_is(engine: DurableEngine, path: Path) -> None:
    task = started(engine)
    engine.spawn_task(name="next", params=None)
    with plain(path) as other:
        other.execute(
            "CREATE TRIGGER in_the_way BEFORE UPDATE ON tasks WHEN NEW.task_name = 'next' "
            "BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    before = dump(path)
    with pytest.raises(Exception, match="no"):
        engine.settle_and_claim(completed(task), NEXT)
    assert dump(path) == before


def test_params_that_cannot_be_read_fail_their_task_and_the_one_after_it_is_had(
    engine: DurableEngine, path: Path
) -> None:
    task = started(engine)
    broken = engine.spawn_task(name="broken", params=None, priority=2)
    sound = engine.spawn_task(name="sound", params=None)
    with plain(path) as other:
        other.execute("UPDATE tasks SET params = '[' WHERE task_name = 'broken'")
    lost, following = engine.settle_and_claim(completed(task), NEXT)
    assert lost is None
    assert following is not None
    assert following.run_id == sound.run_id
    assert engine.get_task(broken.task_id).state == "failed"


def test_a_due_sleeper_is_found_while_there_is_always_pending_work(
    engine: DurableEngine, clock: ManualClock
) -> None:
    """What is due is looked after twenty times a second, however much is pending."""
    engine.spawn_task(name="urgent", params=None, priority=9, available_after=timedelta(seconds=1))
    for _ in range(30):
        engine.spawn_task(name="job", params=None)
    task = claim(engine)
    names = []
    for _ in range(20):
        clock.advance(0.1)
        _, following = engine.settle_and_claim(completed(task), NEXT)
        assert following is not None
        task = following
        names.append(task.name)
    assert names.index("urgent") == 9


def test_a_run_stays_settled_if_the_claim_after_it_fails(
    engine: DurableEngine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is due may be more than one turn makes pending: then a second transaction claims."""
    task = started(engine)
    engine.spawn_task(name="next", params=None)
    with plain(path) as connection, connection:
        connection.execute("UPDATE tasks SET params = 'no JSON' WHERE task_name = 'next'")

    def busy(_: Claim) -> None:
        raise StoreBusy("locked", path=str(path))

    monkeypatch.setattr(engine, "claim_next", busy)
    assert engine.settle_and_claim(completed(task), NEXT) == (None, None)
    assert engine.get_task(task.task_id).state == "completed"


def test_what_one_worker_cannot_read_costs_the_others_nothing_even_if_it_cannot_be_failed_now(
    engine: DurableEngine, path: Path
) -> None:
    refs = [engine.spawn_task(name="a", params=number) for number in range(3)]
    with plain(path) as other:
        other.execute("UPDATE tasks SET params = '{' WHERE task_id = ?", (refs[1].task_id,))
        other.execute(
            "CREATE TRIGGER refused BEFORE UPDATE OF state ON runs WHEN NEW.state = 'failed' "
            "BEGIN SELECT RAISE(ABORT, 'refused'); END"
        )
    taken = engine.take_turns([Turn(None, NEXT)] * 3)
    found = [outcome[1] for outcome in taken if isinstance(outcome, tuple)]
    assert [task and task.params for task in found] == [0, None, 2]
