"""Memory that outlives tasks: read, changed and written in one transaction, which nested calls join."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, rows, started
from dura import DurableEngine, InvalidRunState, InvalidValue, NotStorable
from dura.current import holding


def test_a_value_comes_back_as_json_has_it(engine: DurableEngine) -> None:
    engine.set_state(namespace="n", key="k", value=(1, {2: None}))
    assert engine.get_state(namespace="n", key="k") == [1, {"2": None}]


def test_none_is_a_value_and_nothing_is_the_default(engine: DurableEngine) -> None:
    assert engine.get_state(namespace="n", key="k", default="nothing") == "nothing"
    assert not engine.has_state("n")
    engine.set_state(namespace="n", key="k", value=None)
    assert engine.get_state(namespace="n", key="k", default="nothing") is None
    assert engine.has_state("n")


def test_the_last_write_wins_and_is_stamped(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    engine.set_state(namespace="n", key="k", value=1)
    clock.advance(5)
    engine.set_state(namespace="n", key="k", value=2)
    assert rows(path, "SELECT value, updated_at FROM state WHERE namespace = 'n'") == [
        ("2", "2026-01-01T00:00:05.000000+00:00")
    ]


def test_keys_are_listed_in_order_and_deleted_once(engine: DurableEngine) -> None:
    assert engine.set_state_many(namespace="n", items={"b": 2, "a": 1, "ä": 3}) == 3
    engine.set_state(namespace="other", key="a", value=9)
    assert list(engine.list_state("n").items()) == [("a", 1), ("b", 2), ("ä", 3)]
    assert engine.delete_state(namespace="n", key="a")
    assert not engine.delete_state(namespace="n", key="a")
    assert engine.list_state("n") == {"b": 2, "ä": 3}
    assert engine.set_state_many(namespace="n", items={}) == 0


def test_many_are_set_together_or_not_at_all(engine: DurableEngine, path: Path) -> None:
    before = dump(path)
    with pytest.raises(NotStorable, match="n/b"):
        engine.set_state_many(namespace="n", items={"a": 1, "b": object()})
    bad: Any = {"a": 1, 5: 2}
    with pytest.raises(InvalidValue, match="key"):
        engine.set_state_many(namespace="n", items=bad)
    assert dump(path) == before


@pytest.mark.parametrize(
    "namespace", ["dura.", "dura.counts", "dura.audit", "dura.schema", "dura.wakes", "dura.x"]
)
def test_the_engines_own_namespaces_are_refused_to_writers(
    engine: DurableEngine, path: Path, namespace: str
) -> None:
    engine.spawn_task(name="job", params=None)
    before = dump(path)
    for write in (
        lambda: engine.set_state(namespace=namespace, key="k", value=1),
        lambda: engine.set_state_many(namespace=namespace, items={}),
        lambda: engine.delete_state(namespace=namespace, key="version"),
        lambda: engine.update_state(namespace=namespace, key="k", fn=lambda _: 1),
    ):
        with pytest.raises(InvalidValue, match="reserved"):
            write()
    assert dump(path) == before
    assert engine.get_state(namespace="dura.counts", key='["default","job","pending"]') == 1


@pytest.mark.parametrize("namespace", ["dura", "durable", "Dura.x", "x.dura.", " dura.x"])
def test_other_namespaces_are_the_users(engine: DurableEngine, namespace: str) -> None:
    engine.set_state(namespace=namespace, key="k", value=1)
    assert engine.list_state(namespace) == {"k": 1}


@pytest.mark.parametrize("wrong", ["", None, 5, b"n", "\ud800"], ids=repr)
def test_namespaces_and_keys_are_text(engine: DurableEngine, path: Path, wrong: Any) -> None:
    before = dump(path)
    for write in (
        lambda: engine.set_state(namespace=wrong, key="k", value=1),
        lambda: engine.set_state(namespace="n", key=wrong, value=1),
        lambda: engine.update_state(namespace=wrong, key="k", fn=lambda _: 1),
        lambda: engine.update_state(namespace="n", key=wrong, fn=lambda _: 1),
        lambda: engine.delete_state(namespace=wrong, key="k"),
    ):
        with pytest.raises(InvalidValue):
            write()
    assert dump(path) == before


# --- update ----------------------------------------------------------------------------------------------------------


def test_update_reads_changes_and_writes(engine: DurableEngine) -> None:
    assert engine.update_state(namespace="n", key="k", fn=lambda seen: [*seen, 1], default=[]) == [1]
    assert engine.update_state(namespace="n", key="k", fn=lambda seen: (*seen, 2)) == [1, 2]
    assert engine.get_state(namespace="n", key="k") == [1, 2]


def test_a_function_that_raises_changes_nothing(engine: DurableEngine, path: Path) -> None:
    engine.set_state(namespace="n", key="k", value=1)
    before = dump(path)
    for error in (RuntimeError("no"), KeyboardInterrupt(), SystemExit(1)):

        def fails(_: object, error: BaseException = error) -> None:
            engine.set_state(namespace="n", key="other", value=2)
            engine.spawn_task(name="job", params=None)
            raise error

        with pytest.raises(type(error)):
            engine.update_state(namespace="n", key="k", fn=fails)
        assert dump(path) == before
    with pytest.raises(NotStorable, match="n/k"):
        engine.update_state(namespace="n", key="k", fn=lambda _: object())
    assert dump(path) == before
    engine.set_state(namespace="n", key="k", value="the store is usable")


def test_nested_calls_join_and_are_committed_together(engine: DurableEngine, path: Path) -> None:
    beside = DurableEngine(path)

    def change(seen: Any) -> int:
        ref = engine.spawn_task(name="job", params=None)
        task = claim(engine)
        assert task.task_id == ref.task_id
        engine.checkpoint(task_id=task.task_id, step_name="s", fn=lambda: 1, owner_run_id=task.run_id)
        engine.set_state(namespace="n", key="nested", value=1)
        assert engine.update_state(namespace="n", key="deep", fn=lambda _: 2) == 2
        engine.emit_event(event_name="e", actor="ana")
        engine.complete_run(run_id=task.run_id, result="done")
        assert engine.get_task(task.task_id).state == "completed"
        assert beside.task_counts_by_state() == {}
        return 5

    assert engine.update_state(namespace="n", key="k", fn=change) == 5
    assert beside.task_counts_by_state() == {"completed": 1}
    assert beside.list_state("n") == {"deep": 2, "k": 5, "nested": 1}
    beside.close()


def test_a_check_inside_an_update_looks_at_what_it_has_changed_and_leaves_it(engine: DurableEngine) -> None:
    def spawn_and_check(value: object) -> list[str]:
        engine.spawn_task(name="job", params=None)
        return [finding.rule for finding in engine.check()]

    assert engine.update_state(namespace="n", key="k", fn=spawn_and_check) == []
    assert engine.task_counts_by_state() == {"pending": 1}


def test_a_nested_call_that_fails_undoes_itself_alone(engine: DurableEngine) -> None:
    def change(_: object) -> str:
        engine.set_state(namespace="n", key="before", value=1)
        with pytest.raises(InvalidRunState):
            engine.complete_run(run_id=engine.spawn_task(name="job", params=None).run_id)
        with pytest.raises(RuntimeError):
            engine.update_state(namespace="n", key="nested", fn=raises)
        engine.set_state(namespace="n", key="after", value=2)
        return "done"

    def raises(_: object) -> None:
        engine.set_state(namespace="n", key="lost", value=1)
        raise RuntimeError

    engine.update_state(namespace="n", key="k", fn=change)
    assert engine.list_state("n") == {"after": 2, "before": 1, "k": "done"}
    assert engine.task_counts_by_state() == {"pending": 1}


def test_a_wait_inside_an_update_is_refused_since_its_parking_would_be_undone(
    engine: DurableEngine, path: Path
) -> None:
    task = started(engine)
    before = dump(path)

    def waits(_: object) -> object:
        return engine.wait_for_event(run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e")

    def sleeps(_: object) -> None:
        engine.sleep(run_id=task.run_id, task_id=task.task_id, step_name="s", seconds=5)

    with holding(engine, task) as current:
        for fn in (waits, sleeps):
            with pytest.raises(InvalidRunState, match="update_state"):
                engine.update_state(namespace="n", key="k", fn=fn)
            assert dump(path) == before
            assert not current.ended, "the worker would leave a running run alone"


def test_the_clock_is_read_anew_for_each_nested_call(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    def change(_: object) -> int:
        engine.set_state(namespace="n", key="first", value=1)
        clock.advance(5)
        engine.set_state(namespace="n", key="second", value=1)
        return 1

    engine.update_state(namespace="n", key="k", fn=change)
    stamps = dict(rows(path, "SELECT key, substr(updated_at, 18, 2) FROM state WHERE namespace = 'n'"))
    assert (stamps["first"], stamps["second"]) == ("00", "05")


def test_threads_that_count_lose_nothing(engine: DurableEngine) -> None:
    def count() -> None:
        for _ in range(50):
            engine.update_state(namespace="n", key="count", fn=lambda seen: seen + 1, default=0)
            engine.set_state(namespace="n", key="noise", value=1)
        engine.close()

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert engine.get_state(namespace="n", key="count") == 400


def test_an_update_sees_no_other_writer_between_its_read_and_its_write(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    other = DurableEngine(path, clock=clock, busy_timeout_ms=0)
    refused: list[BaseException] = []

    def change(_: object) -> int:
        try:
            other.set_state(namespace="n", key="k", value="mine")
        except Exception as error:  # noqa: BLE001 - looked at below
            refused.append(error)
        return 1

    engine.update_state(namespace="n", key="k", fn=change)
    assert [type(error).__name__ for error in refused] == ["StoreBusy"]
    assert engine.get_state(namespace="n", key="k") == 1
    other.close()
