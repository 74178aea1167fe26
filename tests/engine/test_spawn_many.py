"""Many tasks in one transaction: all or none, in order, each key once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, plain
from dura import DurableEngine, InvalidValue


def test_tasks_are_spawned_in_the_order_given(engine: DurableEngine) -> None:
    refs = engine.spawn_many({"name": "job", "params": number} for number in range(50))
    claimed = [engine.claim_task(worker_id="w") for _ in range(50)]
    assert [task.task_id for task in claimed if task] == [ref.task_id for ref in refs]
    assert [task.params for task in claimed if task] == list(range(50))


@pytest.mark.parametrize("number", [1, 16, 17, 63, 64, 65, 80, 129, 1000])
def test_rows_are_inserted_in_the_order_given_however_many_they_are(
    engine: DurableEngine, path: Path, number: int
) -> None:
    refs = engine.spawn_many({"name": "job", "params": place} for place in range(number))
    with plain(path) as connection:
        tasks = connection.execute(
            "SELECT t.params, t.task_id, r.run_id FROM tasks t JOIN runs r USING (task_id) ORDER BY r.rowid"
        ).fetchall()
        assert connection.execute("SELECT task_id FROM tasks ORDER BY rowid").fetchall() == [
            (task_id,) for _, task_id, _ in tasks
        ]
    assert tasks == [(str(place), ref.task_id, ref.run_id) for place, ref in enumerate(refs)]


def test_every_argument_of_spawn_task_counts(engine: DurableEngine, clock: ManualClock) -> None:
    late, urgent, elsewhere = engine.spawn_many(
        [
            {"name": "job", "params": "late", "available_after": timedelta(seconds=60)},
            {"name": "job", "params": "urgent", "priority": 5},
            {"name": "job", "params": "elsewhere", "queue": "other", "priority": 9},
        ]
    )
    first = engine.claim_task(worker_id="w", queue="default")
    assert first is not None
    assert first.task_id == urgent.task_id
    assert engine.claim_task(worker_id="w", queue="default") is None
    clock.advance(60)
    second = engine.claim_task(worker_id="w", queue="default")
    assert second is not None
    assert second.task_id == late.task_id
    other = engine.claim_task(worker_id="w", queue="other")
    assert other is not None
    assert other.task_id == elsewhere.task_id


def test_a_key_makes_one_task_within_the_list_and_across_lists(engine: DurableEngine) -> None:
    old = engine.spawn_task(name="job", params=None, idempotency_key="a")
    refs = engine.spawn_many({"name": "job", "params": None, "idempotency_key": key} for key in "abb")
    assert [ref.created for ref in refs] == [False, True, False]
    assert refs[0].task_id == old.task_id
    assert refs[1].task_id == refs[2].task_id
    assert engine.task_counts_by_state() == {"pending": 2}


def test_keys_that_exist_leave_no_gap_in_a_long_list(engine: DurableEngine) -> None:
    keys = [f"k{place}" for place in range(100)]
    old = engine.spawn_many({"name": "job", "params": None, "idempotency_key": key} for key in keys[::3])
    refs = engine.spawn_many({"name": "job", "params": None, "idempotency_key": key} for key in keys)
    assert [ref.created for ref in refs] == [place % 3 > 0 for place in range(100)]
    assert [ref.task_id for ref in refs[::3]] == [ref.task_id for ref in old]
    assert engine.task_counts_by_state() == {"pending": 100}


@pytest.mark.parametrize(
    "bad",
    [
        {"name": "job"},
        {"params": None},
        {"name": "job", "params": None, "colour": "red"},
        {"name": "", "params": None},
        {"name": "job", "params": object()},
        {"name": "job", "params": None, "max_attempts": 0},
    ],
)
def test_one_bad_task_keeps_all_from_being_spawned_and_is_named(
    engine: DurableEngine, bad: dict[str, Any]
) -> None:
    with pytest.raises(InvalidValue, match="task 1 of the list"):
        engine.spawn_many([{"name": "job", "params": None}, bad])
    assert engine.task_counts_by_state() == {}


def test_an_empty_list_spawns_nothing(engine: DurableEngine) -> None:
    assert engine.spawn_many([]) == []


@pytest.mark.parametrize("bad", [None, 5, {"name": "job", "params": None}])
def test_what_is_no_list_of_mappings_is_refused(engine: DurableEngine, bad: Any) -> None:
    with pytest.raises(InvalidValue, match="a list of mappings"):
        engine.spawn_many(bad)


def test_a_missing_argument_is_named_as_the_users_own(engine: DurableEngine) -> None:
    with pytest.raises(InvalidValue, match=r"spawn_task\(\) missing .*'params'"):
        engine.spawn_many([{"name": "job"}])


def test_state_items_that_are_no_mapping_are_refused(engine: DurableEngine) -> None:
    with pytest.raises(InvalidValue, match="a mapping of keys to values"):
        engine.set_state_many(namespace="n", items=["a"])  # type: ignore[arg-type]
