"""Connections and times: one connection a thread, none left behind, and a clock that is read once the lock is held."""

from __future__ import annotations

import gc
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ManualClock, plain, rows, wait_until
from dura import ClaimedTask, DurableEngine, EngineError
from dura.store import connections
from dura.store import database as database_module


def on_threads(count: int, call: Callable[[], object]) -> None:
    """Run the call on so many threads that end without closing anything."""
    threads = [threading.Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def open_files(path: Path) -> int:
    """How many descriptors this process has of the store and of the files beside it."""
    count = 0
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(path))
        except FileNotFoundError:
            continue
    return count


def test_connections_of_threads_that_ended_are_closed(path: Path) -> None:
    engine = DurableEngine(path)
    engine.spawn_task(name="job", params=None)
    gc.disable()
    try:
        for _ in range(12):
            on_threads(8, engine.task_counts_by_state)
        on_threads(1, engine.task_counts_by_state)
        # SQLite keeps a closed connection's descriptor of the database for the next one, while others are open.
        assert open_files(path) <= 3 * 9
        engine.close()
        assert open_files(path) == 0
    finally:
        gc.enable()


def test_an_engine_that_is_dropped_unclosed_leaves_nothing_open(path: Path) -> None:
    engine = DurableEngine(path)
    engine.spawn_task(name="job", params=None)
    on_threads(3, engine.ready_run_count)
    assert open_files(path) > 0
    del engine
    gc.collect()
    assert open_files(path) == 0
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]


def test_the_last_to_close_leaves_one_file(path: Path, tmp_path: Path) -> None:
    engine = DurableEngine(path)
    on_threads(4, lambda: engine.spawn_task(name="job", params=None))
    engine.close()
    assert [each.name for each in tmp_path.iterdir()] == ["store.db"]
    assert rows(path, "SELECT COUNT(*) FROM tasks") == [(4,)]


def test_of_threads_that_close_at_once_the_last_leaves_one_file(path: Path) -> None:
    """Unless they take turns, one round in twenty leaves the write-ahead log behind."""
    engine = DurableEngine(path)
    engine.close()
    for _ in range(150):
        together = threading.Barrier(3, timeout=60)

        def use_and_close(together: threading.Barrier = together) -> None:
            engine.ready_run_count()
            together.wait()
            engine.close()

        on_threads(3, use_and_close)
        assert sorted(file.name for file in path.parent.iterdir()) == [path.name]


def test_closing_twice_or_unused_does_no_harm(path: Path) -> None:
    engine = DurableEngine(path)
    engine.close()
    engine.close()
    on_threads(1, engine.close)
    assert engine.task_counts_by_state() == {}
    engine.close()


def test_closing_inside_an_update_waits_for_its_end(path: Path) -> None:
    engine = DurableEngine(path)

    def change(_: object) -> int:
        engine.close()
        engine.set_state(namespace="n", key="nested", value=1)
        return 2

    engine.update_state(namespace="n", key="k", fn=change)
    assert engine.list_state("n") == {"k": 2, "nested": 1}
    engine.close()


def test_a_wait_for_another_process_looks_often_at_first_and_ends_with_the_timeout(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DurableEngine(path).close()
    pauses: list[float] = []
    monkeypatch.setattr(connections, "sleep", pauses.append)
    monkeypatch.setattr(connections, "monotonic", lambda: sum(pauses))
    beside = connections.connect(str(path), mode="rw", busy_timeout_ms=0)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            connections.begin(beside, 3.0)
        other.execute("ROLLBACK")
    beside.close()
    assert pauses[0] == 0.0002
    assert max(pauses) <= 0.02
    assert sum(pauses) == pytest.approx(3.0)


def test_a_writer_that_waits_for_another_process_writes_once_the_lock_is_free(path: Path) -> None:
    engine = DurableEngine(path)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        spawner = threading.Thread(target=engine.spawn_task, kwargs={"name": "job", "params": None})
        spawner.start()
        wait_until(lambda: len(engine.database._door._line) == 1)
        assert rows(path, "SELECT count(*) FROM tasks") == [(0,)]
        other.execute("ROLLBACK")
    spawner.join(60)
    assert rows(path, "SELECT count(*) FROM tasks") == [(1,)]
    engine.close()


def test_a_lease_that_was_waited_for_begins_once_the_lock_is_held(path: Path, clock: ManualClock) -> None:
    engine = DurableEngine(path, clock=clock)
    engine.spawn_task(name="job", params=None)
    claimed: list[ClaimedTask | None] = []

    def claim() -> None:
        claimed.append(engine.claim_task(worker_id="w", timeout_secs=10))
        engine.close()

    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        claimer = threading.Thread(target=claim)
        claimer.start()
        wait_until(lambda: len(engine.database._door._line) == 1)
        clock.advance(3600)
        other.execute("ROLLBACK")
    claimer.join(60)
    assert rows(path, "SELECT claim_expires_at FROM runs") == [("2026-01-01T01:00:10.000000+00:00",)]
    assert engine.claim_task(worker_id="other") is None
    engine.close()


def test_an_event_that_waited_for_the_lock_is_stamped_when_it_is_stored(
    path: Path, clock: ManualClock
) -> None:
    """Else an event could be stored after a timeout with a time before it."""
    engine = DurableEngine(path, clock=clock)

    def emit() -> None:
        engine.emit_event(event_name="e")
        engine.close()

    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        emitter = threading.Thread(target=emit)
        emitter.start()
        wait_until(lambda: len(engine.database._door._line) == 1)
        clock.advance(60)
        other.execute("ROLLBACK")
    emitter.join(60)
    assert rows(path, "SELECT emitted_at FROM events") == [("2026-01-01T00:01:00.000000+00:00",)]
    engine.close()


def test_a_thread_that_has_forked_gives_back_nothing_of_another_that_is_about_to_fork(path: Path) -> None:
    engine = DurableEngine(path, busy_timeout_ms=5_000)
    ready, go_on = threading.Event(), threading.Event()

    def about_to_fork() -> None:
        database_module._before_fork()
        ready.set()
        go_on.wait(60)
        database_module._after_fork_in_parent()

    thread = threading.Thread(target=about_to_fork)
    thread.start()
    assert ready.wait(60)
    database_module._after_fork_in_parent()
    go_on.set()
    thread.join(60)
    engine.set_state(namespace="n", key="k", value=1)
    assert engine.get_state(namespace="n", key="k") == 1
    engine.close()


def test_an_applications_own_tables_may_live_beside_the_six(path: Path) -> None:
    DurableEngine(path).close()
    with plain(path) as application:
        application.executescript("CREATE TABLE users (name TEXT); INSERT INTO users VALUES ('ana')")
    engine = DurableEngine(path)
    engine.spawn_task(name="job", params=None)
    engine.compact()
    assert engine.check() == ()
    engine.close()
    assert rows(path, "SELECT * FROM users") == [("ana",)]


def test_an_error_that_is_kept_with_its_traceback_keeps_no_file_open(path: Path) -> None:
    engine = DurableEngine(path)
    task = engine.spawn_task(name="job", params=None)
    engine.claim_task(worker_id="w")
    calls: list[Callable[[], object]] = [
        lambda: engine.complete_run(run_id=task.run_id, claim_token=99),
        lambda: engine.requeue_task(task.task_id),
        lambda: engine.checkpoint(
            task_id=task.task_id, step_name="s", fn=list, owner_run_id=task.run_id, claim_token=99
        ),
    ]
    kept = []
    for call in calls:
        with pytest.raises(EngineError) as caught:
            call()
        kept.append(caught)
    engine.close()
    assert open_files(path) == 0
    assert os.listdir(path.parent) == [path.name]
    assert len(kept) == len(calls)
