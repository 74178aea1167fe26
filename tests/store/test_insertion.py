"""Results of many workers' steps, kept by one statement: all of them, each only by its own holder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import claim, rows, started
from dura import ClaimedTask, DurableEngine
from dura.store.checkpoints import Result, keep_all
from dura.store.transaction import ServeAlone


def held(engine: DurableEngine, count: int) -> list[ClaimedTask]:
    engine.spawn_many({"name": "job", "params": place} for place in range(count))
    return [claim(engine) for _ in range(count)]


def result(task: ClaimedTask, step: str = "s", *, token: int | None = None) -> Result:
    assert task.claim_token is not None
    return Result(step, f'"{task.params}"', task.run_id, task.task_id, token or task.claim_token, True)


def keep(engine: DurableEngine, results: Sequence[Result]) -> Sequence[object]:
    return engine.database.write(lambda tx: keep_all(tx, results))


def kept(path: Path) -> list[tuple[object, ...]]:
    return rows(
        path, "SELECT task_id, checkpoint_name, state, owner_run_id FROM checkpoints ORDER BY task_id, rowid"
    )


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 33, 64, 65])
def test_each_of_many_results_is_kept_with_its_own_task(
    engine: DurableEngine, path: Path, count: int
) -> None:
    tasks = held(engine, count)
    results = [result(task) for task in tasks]
    assert keep(engine, results) == results
    assert kept(path) == sorted((task.task_id, "s", f'"{task.params}"', task.run_id) for task in tasks)


def test_results_of_several_steps_of_one_task_are_kept_in_their_order(
    engine: DurableEngine, path: Path
) -> None:
    task = started(engine, params=1)
    keep(engine, [result(task, step) for step in "zya"])
    assert [row[1] for row in kept(path)] == ["z", "y", "a"]


@pytest.mark.parametrize("place", [0, 16, 19])
@pytest.mark.parametrize("fault", ["stale", "waits", "twice", "finished", "completed", "unknown"])
def test_if_one_of_many_results_may_not_be_kept_none_is(
    engine: DurableEngine, path: Path, fault: str, place: int
) -> None:
    """Each is then kept, or refused, alone, which tells why."""
    tasks = held(engine, 20)
    results = [result(task) for task in tasks]
    odd = tasks[place]
    if fault == "stale":
        results[place] = result(odd, token=7)
    elif fault == "waits":
        engine.await_event(run_id=odd.run_id, task_id=odd.task_id, step_name="s", event_name="e")
    elif fault == "twice":
        results.insert(place, results[place])
    elif fault == "finished":
        engine.checkpoint(task_id=odd.task_id, step_name="s", fn=lambda: "first")
    elif fault == "completed":
        engine.complete_run(run_id=odd.run_id)
    else:
        results[place] = results[place]._replace(task_id="nobody's")
    before = kept(path)
    with pytest.raises(ServeAlone):
        keep(engine, results)
    assert kept(path) == before
