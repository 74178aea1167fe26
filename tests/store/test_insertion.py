"""Many rows by one statement: results of steps, each only by its own holder, and values too long to be kept in memory."""

from __future__ import annotations

import subprocess
import sys
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


_LARGE_ONES = """
import sys
from pathlib import Path
from dura import DurableEngine
from dura.store.checkpoints import Result, keep_all

def resident():
    found = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(found.split()[1]) // 1024

engine = DurableEngine(sys.argv[1], synchronous="NORMAL")
large = "x" * 1_000_000
engine.spawn_many([{"name": "job", "params": large}] * 3)
tasks = [engine.claim_task(worker_id="w") for _ in range(3)]
before = resident()
for number in (*range(2, 17), 64):
    if sys.argv[2] == "tasks":
        engine.spawn_many([{"name": "job", "params": large}] * number)
    else:
        holders = zip(range(number), tasks * 30)
        results = [Result(f"{number}-{n}", large, t.run_id, t.task_id, t.claim_token, True) for n, t in holders]
        engine.database.write(lambda tx: keep_all(tx, results))
print(resident() - before)
engine.close()
"""


@pytest.mark.parametrize("what", ["tasks", "results"])
def test_long_values_do_not_stay_in_memory_with_their_statement(path: Path, what: str) -> None:
    """A prepared statement keeps its values: of 199 rows of a megabyte, in statements of all sizes, few may stay."""
    program = [sys.executable, "-c", _LARGE_ONES, str(path), what]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 60


@pytest.mark.parametrize("length", [2_000, 100_000])
def test_long_values_are_inserted_like_short_ones(engine: DurableEngine, path: Path, length: int) -> None:
    params = ["x" * length if place % 3 == 0 else str(place) for place in range(90)]
    engine.spawn_many({"name": "job", "params": each} for each in params)
    stored = rows(path, "SELECT t.params FROM runs r JOIN tasks t USING (task_id) ORDER BY r.rowid")
    assert [text for (text,) in stored] == [f'"{each}"' for each in params]
