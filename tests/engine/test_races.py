"""Real threads and processes on one file: nothing is claimed twice, no wake and no count is lost."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from conftest import rows
from dura import ClaimedTask, DurableEngine, EngineError
from engine.claimers import drain, spawn_once
from threads import together


def test_threads_never_claim_a_run_twice(path: Path) -> None:
    engine = DurableEngine(path)
    for number in range(400):
        engine.spawn_task(name="job", params=number, priority=number % 3)
    claims: list[ClaimedTask] = []

    def work() -> None:
        while (task := engine.claim_task(worker_id="w")) is not None:
            claims.append(task)
            engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
        engine.close()

    together(*[work] * 8)
    assert sorted(task.params for task in claims) == list(range(400))
    assert {task.claim_token for task in claims} == {1}
    assert engine.check() == ()
    engine.close()


def test_engines_of_one_process_never_claim_a_run_twice(path: Path) -> None:
    """Each engine has a write door of its own, so that only SQLite's lock stands between them."""
    engine = DurableEngine(path)
    refs = [engine.spawn_task(name="job", params=None) for _ in range(200)]
    claims: list[tuple[str, int]] = []
    together(*[lambda: claims.extend(drain(str(path), "w"))] * 4)
    assert Counter(claims) == Counter({(ref.run_id, 1): 1 for ref in refs})
    assert engine.check() == ()
    engine.close()


def test_processes_never_claim_a_run_twice_nor_spawn_a_key_twice(path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=3, mp_context=spawn) as pool:
        created = list(pool.map(spawn_once, [str(path)] * 3, [120] * 3))
        engine = DurableEngine(path)
        runs = [run_id for (run_id,) in rows(path, "SELECT run_id FROM runs")]
        claims = [each for found in pool.map(drain, [str(path)] * 3, "abc") for each in found]
    assert sum(created) == len(runs) == 120
    assert Counter(claims) == Counter({(run_id, 1): 1 for run_id in runs})
    assert engine.task_counts_by_state() == {"completed": 120}
    assert engine.check() == ()
    engine.close()


@pytest.mark.parametrize("engines", [1, 2], ids=["one engine", "an engine each"])
def test_no_wake_is_lost_when_emit_and_wait_race(path: Path, engines: int) -> None:
    engine = DurableEngine(path, synchronous="NORMAL")
    other = engine if engines == 1 else DurableEngine(path, synchronous="NORMAL")
    at_once = 0
    for number in range(250):
        event = f"e{number}"
        engine.spawn_task(name="job", params=None)
        task = engine.claim_task(worker_id="w")
        assert task is not None
        waited: list[tuple[bool, object]] = []

        def wait(
            task: ClaimedTask = task, event: str = event, waited: list[tuple[bool, object]] = waited
        ) -> None:
            waited.append(
                engine.await_event(run_id=task.run_id, task_id=task.task_id, step_name="s", event_name=event)
            )
            engine.close()

        def emit(event: str = event, number: int = number) -> None:
            other.emit_event(event_name=event, payload=number)
            other.close()

        together(wait, emit)
        if waited == [(False, number)]:
            at_once += 1
        else:
            assert waited == [(True, None)]
            again = engine.claim_task(worker_id="w")
            assert again is not None, f"round {number}: the run is parked and nothing will wake it"
            assert engine.await_event(
                run_id=again.run_id, task_id=again.task_id, step_name="s", event_name=event
            ) == (False, number)
        engine.complete_run(run_id=task.run_id)
    assert engine.check() == ()
    engine.close()
    other.close()


def test_of_threads_that_emit_one_event_exactly_one_is_first(path: Path) -> None:
    engine = DurableEngine(path)
    for number in range(30):
        engine.spawn_task(name="job", params=None)
        task = engine.claim_task(worker_id="w")
        assert task is not None
        event = f"e{number}"
        engine.await_event(run_id=task.run_id, task_id=task.task_id, step_name="s", event_name=event)
        outcomes: list[tuple[bool, int]] = []

        def emit(event: str = event, outcomes: list[tuple[bool, int]] = outcomes) -> None:
            emitted = engine.emit_event(event_name=event)
            outcomes.append((emitted.first, len(emitted.woken)))
            engine.close()

        together(*[emit] * 4)
        assert sorted(outcomes) == [(False, 0)] * 3 + [(True, 1)]
        again = engine.claim_task(worker_id="w")
        assert again is not None
        engine.complete_run(run_id=again.run_id)
    assert engine.check() == ()
    engine.close()


def test_settle_cancel_and_requeue_that_race_leave_a_sound_store(path: Path) -> None:
    engine = DurableEngine(path, synchronous="NORMAL")

    def quietly(call: Callable[[], object]) -> None:
        with suppress(EngineError):  # which call is refused depends on the race
            call()
        engine.close()

    for _ in range(60):
        ref = engine.spawn_task(name="job", params=None, max_attempts=2)
        task = engine.claim_task(worker_id="w")
        assert task is not None
        complete = partial(engine.complete_run, run_id=task.run_id, claim_token=task.claim_token)
        fail = partial(engine.fail_run, run_id=task.run_id, reason={}, claim_token=task.claim_token)
        cancel = partial(engine.cancel_task, ref.task_id)
        requeue = partial(engine.requeue_task, ref.task_id)
        together(*[partial(quietly, call) for call in (complete, fail, cancel, requeue)])
        ((count,),) = rows(path, "SELECT COUNT(*) FROM runs WHERE task_id = ?", ref.task_id)
        # At most: a failed attempt, its retry, which is cancelled, and the attempt that a requeue grants.
        assert count in (1, 2, 3)
        while engine.claim_task(worker_id="w") is not None:
            pass
    assert engine.check() == ()
    engine.close()
