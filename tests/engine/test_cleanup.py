"""Retention: what is old and over goes, in short transactions; what a task may still ask for, and state, stays."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, at_once, claim, plain, rows, started, trace
from dura import ClaimedTask, DurableEngine, InvalidValue, TaskNotFound
from dura.store import retention

DAY = timedelta(days=1)


def finish(engine: DurableEngine, **spawn: Any) -> ClaimedTask:
    task = started(engine, **spawn)
    engine.checkpoint(task_id=task.task_id, step_name="s", fn=lambda: "x" * 100, owner_run_id=task.run_id)
    engine.complete_run(run_id=task.run_id)
    return task


def count(path: Path, table: str) -> int:
    ((found,),) = rows(path, f"SELECT COUNT(*) FROM {table}")
    return int(found)


def events(path: Path) -> set[str]:
    return {name for (name,) in rows(path, "SELECT event_name FROM events")}


def test_old_terminal_tasks_go_with_all_that_belongs_to_them(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    finish(engine)
    failed = started(engine)
    engine.fail_run(run_id=failed.run_id, reason={})
    engine.fail_run(run_id=claim(engine).run_id, reason={}, retryable=False)
    cancelled = started(engine)
    engine.await_event(run_id=cancelled.run_id, task_id=cancelled.task_id, step_name="s", event_name="e")
    engine.cancel_task(cancelled.task_id)
    clock.advance(86_401)
    live = started(engine)
    recent = finish(engine)
    assert engine.cleanup(DAY) == 3
    assert {row[0] for row in rows(path, "SELECT task_id FROM tasks")} == {live.task_id, recent.task_id}
    assert {row[0] for row in rows(path, "SELECT task_id FROM runs")} == {live.task_id, recent.task_id}
    assert count(path, "checkpoints") == 1
    assert count(path, "waits") == 0


def test_retention_counts_from_the_end_of_a_task_to_the_microsecond(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = started(engine)
    clock.advance(10 * 86_400)
    engine.complete_run(run_id=task.run_id)
    clock.advance(86_400)
    assert engine.cleanup(DAY) == 0
    clock.advance(0.000001)
    assert engine.cleanup(DAY) == 1


def test_live_tasks_stay_however_old(engine: DurableEngine, clock: ManualClock) -> None:
    engine.spawn_task(name="job", params=None)
    engine.spawn_task(name="job", params=None, available_after=timedelta(days=9000))
    engine.defer_run(run_id=claim(engine).run_id)
    clock.advance(86_400 * 5000)
    assert engine.cleanup(timedelta(0)) == 0


def test_state_and_audit_stay(engine: DurableEngine, clock: ManualClock) -> None:
    engine.set_state(namespace="n", key="k", value=1)
    engine.cancel_task(engine.spawn_task(name="job", params=None).task_id, actor="ana")
    clock.advance(10**8)
    assert engine.cleanup() == 1
    assert engine.get_state(namespace="n", key="k") == 1
    assert len(engine.list_state("dura.audit")) == 1


def test_more_than_a_batch_goes_in_one_call(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    at_once(engine, lambda: [finish(engine) for _ in range(250)])
    at_once(engine, lambda: [engine.emit_event(event_name=f"e{n}") for n in range(1100)])
    clock.advance(86_401)
    assert engine.cleanup(DAY) == 250
    assert (count(path, "tasks"), count(path, "runs"), count(path, "events")) == (0, 0, 0)


def transactions(statements: list[str]) -> list[list[str]]:
    """The statements of each transaction."""
    found: list[list[str]] = [[]]
    for statement in statements:
        if statement.startswith("BEGIN"):
            found.append([])
        found[-1].append(statement.strip())
    return found


def of_kind(statements: list[str], beginning: str) -> list[str]:
    return [statement for statement in statements if statement.startswith(beginning)]


def test_a_batch_removes_its_tasks_with_a_statement_a_table_and_never_by_vacuum(
    engine: DurableEngine, clock: ManualClock
) -> None:
    at_once(engine, lambda: [finish(engine) for _ in range(450)])
    clock.advance(86_401)
    statements: list[str] = []
    trace(engine, statements.append)
    assert engine.cleanup(DAY) == 450
    trace(engine, None)
    # A statement is traced again with each trigger that it fires.
    deletes = [set(of_kind(each, "DELETE FROM")) for each in transactions(statements)]
    assert max(map(len, deletes)) == 4
    assert max(len(of_kind(list(each), "DELETE FROM tasks")) for each in deletes) == 1
    assert not of_kind(statements, "VACUUM")


def test_the_file_shrinks(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    engine.database.write(lambda tx: None)
    for _ in range(40):
        task = started(engine, params="x" * 50_000)
        engine.complete_run(run_id=task.run_id, result="y" * 50_000)
    engine.close()
    full = path.stat().st_size
    clock.advance(86_401)
    engine.cleanup(DAY)
    engine.close()
    assert path.stat().st_size < full / 10
    with plain(path) as other:
        assert other.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert other.execute("PRAGMA freelist_count").fetchone() == (0,)


def test_free_pages_go_back_several_in_a_transaction(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    at_once(engine, lambda: [finish(engine, params="x" * 50_000) for _ in range(20)])
    clock.advance(86_401)
    statements: list[str] = []
    trace(engine, statements.append)
    engine.cleanup(DAY)
    trace(engine, None)
    freed = [len(of_kind(each, "PRAGMA incremental_vacuum")) for each in transactions(statements)]
    freed = [pages for pages in freed if pages]
    assert sum(freed) > 200
    assert min(freed[:-1]) >= 5


# --- a task with very much that belongs to it ------------------------------------------------------------------------


def large(engine: DurableEngine, path: Path, *, checkpoints: int, runs: int) -> str:
    """A cancelled task with so many checkpoints and failed runs."""
    task_id = engine.spawn_task(name="large", params=None).task_id
    engine.cancel_task(task_id)
    with plain(path) as other:
        other.execute("BEGIN")
        other.executemany(
            "INSERT INTO checkpoints (task_id, checkpoint_name, state, updated_at) VALUES (?, ?, '1', '2026')",
            [(task_id, f"s{number}") for number in range(checkpoints)],
        )
        other.executemany(
            "INSERT INTO runs (run_id, task_id, attempt, state, available_at, failed_at, failure_reason) "
            "VALUES (?, ?, ?, 'failed', '2026', '2026', '{}')",
            [(f"r{number}", task_id, number) for number in range(2, runs + 1)],
        )
        other.execute(
            "UPDATE runs SET attempt = ? WHERE task_id = ? AND state = 'cancelled'", (runs + 1, task_id)
        )
        other.execute("UPDATE tasks SET attempts = ? WHERE task_id = ?", (runs + 1, task_id))
        other.execute("COMMIT")
    return task_id


def test_a_task_with_very_much_goes_first_and_the_rest_in_transactions_of_its_own(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task_id = large(engine, path, checkpoints=5000, runs=3000)
    small = [finish(engine).task_id for _ in range(3)]
    clock.advance(86_401)
    left: list[tuple[int, int, int]] = []

    def look(statement: str) -> None:
        if statement.startswith("COMMIT"):
            left.append((count(path, "tasks"), count(path, "checkpoints"), count(path, "runs")))

    trace(engine, look)
    assert engine.cleanup(DAY) == 4
    trace(engine, None)
    assert {tasks for tasks, _, _ in left[1:]} == {4, 0}
    assert max(earlier[1] - now[1] for earlier, now in pairwise(left)) <= 2000
    assert max(earlier[2] - now[2] for earlier, now in pairwise(left)) <= 2000
    assert left[-1] == (0, 0, 0)
    assert engine.list_state("dura.removals") == {}
    assert task_id not in small


def test_what_a_stopped_cleanup_leaves_of_a_task_is_sound_and_out_of_sight(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task_id = large(engine, path, checkpoints=2500, runs=2500)
    clock.advance(86_401)
    removed = engine.database.write(lambda tx: retention.remove_tasks(tx, 100, cutoff=tx.now))
    assert removed == 1
    assert (count(path, "tasks"), count(path, "checkpoints"), count(path, "runs")) == (0, 1500, 1500)
    assert engine.list_state("dura.removals") == {task_id: True}
    assert engine.check() == ()
    assert engine.recent_failures() == []
    assert engine.task_counts_by_state() == {}
    for call in (engine.get_task, engine.requeue_task, engine.cancel_task):
        with pytest.raises(TaskNotFound):
            call(task_id)
    with pytest.raises(TaskNotFound):
        engine.checkpoint(task_id=task_id, step_name="s2400", fn=lambda: 1)
    assert engine.cleanup(timedelta.max) == 0
    assert (count(path, "checkpoints"), count(path, "runs")) == (0, 0)
    assert engine.list_state("dura.removals") == {}


def test_a_task_that_leaves_exactly_a_batch_leaves_no_note(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    large(engine, path, checkpoints=1000, runs=1000)
    clock.advance(86_401)
    assert engine.database.write(lambda tx: retention.remove_tasks(tx, 100, cutoff=tx.now)) == 1
    assert engine.list_state("dura.removals") == {}
    assert (count(path, "checkpoints"), count(path, "runs")) == (0, 0)


# --- events ----------------------------------------------------------------------------------------------------------


def test_an_event_goes_once_it_is_older_than_the_retention(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    engine.emit_event(event_name="old")
    clock.advance(86_400)
    engine.emit_event(event_name="new")
    engine.cleanup(DAY)
    assert events(path) == {"old", "new"}
    clock.advance(0.000001)
    engine.cleanup(DAY)
    assert events(path) == {"new"}


def test_an_event_stays_while_a_live_task_is_as_old(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    engine.emit_event(event_name="before")
    clock.advance(1)
    task = started(engine, name="b", lease=10**9)
    engine.spawn_task(name="c", params=None, available_after=timedelta(days=2))
    clock.advance(1)
    engine.emit_event(event_name="after")
    clock.advance(86_400 * 100)
    engine.spawn_task(name="a", params=None, available_after=DAY)
    engine.cleanup(DAY)
    assert events(path) == {"after"}
    engine.complete_run(run_id=task.run_id)
    engine.cleanup(DAY)
    assert events(path) == {"after"}, "a sleeping task may still ask for it"
    engine.complete_run(run_id=claim(engine).run_id)
    engine.cleanup(DAY)
    assert events(path) == set()


def test_an_event_stays_while_a_wait_names_it(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    engine.emit_event(event_name="needed")
    clock.advance(86_400 * 100)
    task = started(engine)
    with plain(path) as other:
        other.execute(
            "INSERT INTO waits (run_id, step_name, task_id, event_name) VALUES (?, 's', ?, 'needed')",
            (task.run_id, task.task_id),
        )
    engine.cleanup(DAY)
    assert events(path) == {"needed"}
    engine.complete_run(run_id=task.run_id)
    engine.cleanup(DAY)
    assert events(path) == set()


def test_a_removed_event_may_be_emitted_again(engine: DurableEngine, clock: ManualClock) -> None:
    engine.emit_event(event_name="e", payload=1)
    clock.advance(86_401)
    engine.cleanup(DAY)
    assert engine.emit_event(event_name="e", payload=2).first


# --- around it -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ttl", [timedelta(microseconds=-1), timedelta.min, 30, "30d", None], ids=repr)
def test_the_retention_is_a_timedelta_of_zero_or_more(engine: DurableEngine, ttl: Any) -> None:
    with pytest.raises(InvalidValue, match="ttl"):
        engine.cleanup(ttl)


def test_a_retention_longer_than_the_calendar_removes_nothing(engine: DurableEngine) -> None:
    finish(engine)
    assert engine.cleanup(timedelta.max) == 0


def test_another_writer_comes_in_between(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    at_once(engine, lambda: [finish(engine) for _ in range(250)])
    clock.advance(86_401)
    beside = sqlite3.connect(path, isolation_level=None, timeout=0)
    written = 0

    def write(statement: str) -> None:
        nonlocal written
        if statement.startswith("COMMIT"):
            return
        if statement.startswith("BEGIN"):
            beside.execute("BEGIN IMMEDIATE")
            beside.execute("INSERT INTO state VALUES ('beside', ?, '1', '')", (written,))
            beside.execute("COMMIT")
            written += 1

    trace(engine, write)
    assert engine.cleanup(DAY) == 250
    trace(engine, None)
    beside.close()
    assert written >= 4
    assert len(engine.list_state("beside")) == written


def test_cleanup_ends_on_a_file_whose_index_names_a_task_that_cannot_be_found(
    clock: ManualClock, path: Path
) -> None:
    engine = DurableEngine(path, clock=clock)
    finished = started(engine)
    engine.complete_run(run_id=finished.run_id, claim_token=finished.claim_token)
    engine.close()
    ((page, size),) = rows(
        path,
        "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = 'sqlite_autoindex_tasks_1'",
    )
    content = bytearray(path.read_bytes())
    content[content.index(finished.task_id.encode(), (page - 1) * size)] = ord("z")
    path.write_bytes(content)
    clock.advance(10)
    engine = DurableEngine(path, clock=clock)
    assert engine.cleanup(timedelta(seconds=1)) == 0
    assert engine.check() != ()
    engine.close()
