"""Many tasks in one transaction: all or none, in order, each key once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from conftest import ManualClock
from dura import DurableEngine, InvalidValue


def test_tasks_are_spawned_in_the_order_given(engine: DurableEngine) -> None:
    refs = engine.spawn_many({"name": "job", "params": number} for number in range(50))
    claimed = [engine.claim_task(worker_id="w") for _ in range(50)]
    assert [task.task_id for task in claimed if task] == [ref.task_id for ref in refs]
    assert [task.params for task in claimed if task] == list(range(50))


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
