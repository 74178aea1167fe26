"""An event with very many waiters: woken in short transactions, and all of them also when the emitter dies half way."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ManualClock, at_once, claim, plain, rows, started
from dura import ClaimedTask, DurableEngine
from dura.store import events
from dura.store.idle import IdleWorkers


def park(
    engine: DurableEngine, count: int, *, event: str = "e", timeout: float | None = None
) -> list[ClaimedTask]:
    def park_one(number: int) -> ClaimedTask:
        task = started(engine, name="waiter", params=number)
        engine.await_event(
            run_id=task.run_id, task_id=task.task_id, step_name="s", event_name=event, timeout_secs=timeout
        )
        return task

    return at_once(engine, lambda: [park_one(number) for number in range(count)])


def sleeping(path: Path) -> int:
    ((count,),) = rows(path, "SELECT COUNT(*) FROM runs WHERE state = 'sleeping'")
    return int(count)


def emit_and_die(engine: DurableEngine, payload: str = '"payload"') -> events.Emission:
    """The first transaction of an emit, after which the emitter is gone."""
    return engine.database.write(lambda tx: events.emit(tx, "e", payload, None))


def drained(engine: DurableEngine) -> list[object]:
    """What every waiter that can be claimed is given, each completed."""
    outcomes = []

    def drain() -> None:
        while (task := engine.claim_task(worker_id="w1")) is not None:
            suspended, outcome = engine.await_event(
                run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e", on_timeout="late"
            )
            assert not suspended
            outcomes.append(outcome)
            engine.complete_run(run_id=task.run_id)

    at_once(engine, drain)
    return outcomes


class Told(IdleWorkers):
    """A pool that counts the commits by which work has become due."""

    commits = 0

    def stir(self) -> None:
        self.commits += 1
        super().stir()


def test_an_emit_wakes_all_of_1200_waiters_in_batches(engine: DurableEngine, path: Path) -> None:
    tasks = park(engine, 1200)
    told = Told()
    engine.database.idle.append(told)
    emitted = engine.emit_event(event_name="e", payload="payload")
    assert emitted.first
    assert emitted.woken == tuple(task.task_id for task in tasks)
    assert told.commits == 3
    assert (sleeping(path), engine.ready_run_count()) == (0, 1200)
    assert engine.list_state("dura.wakes") == {}
    assert [claim(engine).params for _ in range(20)] == list(range(20))


@pytest.mark.parametrize("count", [499, 500, 501, 1000])
def test_no_waiter_is_left_out_at_the_edge_of_a_batch(engine: DurableEngine, path: Path, count: int) -> None:
    park(engine, count)
    assert len(engine.emit_event(event_name="e").woken) == count
    assert sleeping(path) == 0
    assert not engine.has_state("dura.wakes")


def test_claims_finish_the_wake_of_an_emitter_that_died(engine: DurableEngine, path: Path) -> None:
    park(engine, 1200)
    emission = emit_and_die(engine)
    assert (len(emission.woken), emission.more, sleeping(path)) == (500, True, 700)
    assert engine.check() == ()
    assert drained(engine) == ["payload"] * 1200
    assert (sleeping(path), engine.has_state("dura.wakes")) == (0, False)


def test_a_claim_of_any_queue_finishes_the_wake(engine: DurableEngine, path: Path) -> None:
    park(engine, 501)
    emit_and_die(engine)
    assert sleeping(path) == 1
    assert engine.claim_task(worker_id="w1", queue="elsewhere") is None
    assert sleeping(path) == 0


def test_a_reopened_store_finishes_the_wake(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    park(engine, 520)
    emit_and_die(engine)
    engine.close()
    reopened = DurableEngine(path, clock=clock)
    assert drained(reopened) == ["payload"] * 520
    reopened.close()


def test_a_second_emit_does_not_disturb_an_unfinished_wake(engine: DurableEngine) -> None:
    park(engine, 520)
    emit_and_die(engine)
    again = engine.emit_event(event_name="e", payload="other")
    assert (again.first, again.woken) == (False, ())
    assert drained(engine) == ["payload"] * 520


def test_unfinished_wakes_of_several_events_are_all_finished(engine: DurableEngine, path: Path) -> None:
    park(engine, 510)
    park(engine, 510, event="f")
    engine.database.write(lambda tx: events.emit(tx, "f", "1", None))
    emit_and_die(engine)
    assert sleeping(path) == 20
    at_once(engine, lambda: [claim(engine) for _ in range(1020)])
    assert sleeping(path) == 0
    assert not engine.has_state("dura.wakes")


def test_a_waiter_whose_deadline_passes_before_its_wake_still_has_the_event(
    engine: DurableEngine, clock: ManualClock
) -> None:
    park(engine, 520, timeout=60)
    clock.advance(59)
    emit_and_die(engine)
    clock.advance(3600)
    assert drained(engine) == ["payload"] * 520


def test_waiters_that_came_too_late_run_into_their_timeout(engine: DurableEngine, clock: ManualClock) -> None:
    park(engine, 300, timeout=10)
    park(engine, 300, timeout=100)
    clock.advance(50)
    assert len(engine.emit_event(event_name="e", payload="payload").woken) == 300
    assert sorted(map(str, drained(engine))) == ["late"] * 300 + ["payload"] * 300


def test_cleanup_keeps_an_event_whose_wake_is_unfinished(engine: DurableEngine, clock: ManualClock) -> None:
    park(engine, 520)
    emit_and_die(engine)
    clock.advance(10**8)
    engine.cleanup()
    assert drained(engine) == ["payload"] * 520


def test_rewriting_the_file_does_not_lose_the_place_of_an_unfinished_wake(
    engine: DurableEngine, path: Path
) -> None:
    for task in park(engine, 300, event="gone"):
        engine.cancel_task(task.task_id)
    park(engine, 520)
    emit_and_die(engine)
    engine.compact()
    assert drained(engine) == ["payload"] * 520


def test_a_wake_does_not_touch_runs_that_were_cancelled_between_its_transactions(
    engine: DurableEngine, path: Path
) -> None:
    tasks = park(engine, 510)
    emit_and_die(engine)
    for task in tasks[500:]:
        engine.cancel_task(task.task_id)
    assert len(drained(engine)) == 500
    with plain(path) as other:
        assert other.execute("SELECT COUNT(*) FROM tasks WHERE state = 'cancelled'").fetchone() == (10,)
