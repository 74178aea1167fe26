"""The monitor beside a real engine: one look is consistent, says what there is, and changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from conftest import ManualClock, claim, plain, started, wait_until
from dura import DurableEngine, RetryStrategy, WorkflowSuspended
from dura.errors import NotADuraStore, StoreNotFound, StoreTooNew
from dura.monitor import Monitor
from dura.records import ClaimedTask, Snapshot, TaskQuery, Want

EVERYTHING = Want(
    leases=100,
    sleepers=100,
    awaited=100,
    events=100,
    failures=100,
    workers=True,
    throughput=True,
    tasks=TaskQuery(),
    namespaces=True,
    namespace="poller",
    audit=100,
)


@pytest.fixture
def monitor(path: Path, clock: ManualClock, engine: DurableEngine) -> Iterator[Monitor]:
    with Monitor(path, clock=clock) as monitor:
        yield monitor


def park(engine: DurableEngine, task: ClaimedTask, event: str, timeout: float | None = None) -> None:
    with suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=task.run_id,
            task_id=task.task_id,
            step_name="approval",
            event_name=event,
            timeout_secs=timeout,
            claim_token=task.claim_token,
        )
        raise AssertionError("the event was there already")


def after(clock: ManualClock, seconds: float) -> datetime:
    return clock() + timedelta(seconds=seconds)


# --- the parts --------------------------------------------------------------------------------------------------------


def test_new_store_is_empty(monitor: Monitor, clock: ManualClock, path: Path) -> None:
    snapshot = monitor.snapshot(EVERYTHING)
    assert snapshot.counts == ()
    assert snapshot.counts_exact
    assert snapshot.ready == 0
    assert snapshot.oldest_due is None
    assert snapshot.taken_at == clock()
    assert snapshot.file.path == str(path)
    assert snapshot.file.origin == "dura"
    assert snapshot.file.reading == "live"
    assert snapshot.file.wal_size > 0
    assert snapshot.tasks is not None
    assert snapshot.tasks.tasks == ()
    assert snapshot.truncated == ()


def test_counts_are_by_queue_name_and_state(engine: DurableEngine, monitor: Monitor) -> None:
    started(engine, name="mail", queue="slow")
    for name in ("mail", "mail", "report"):
        engine.spawn_task(name=name, params=None)
    counts = [(row.queue, row.name, row.state, row.count) for row in monitor.snapshot().counts]
    assert counts == [
        ("default", "mail", "pending", 2),
        ("default", "report", "pending", 1),
        ("slow", "mail", "running", 1),
    ]
    assert monitor.snapshot().totals() == {"pending": 3, "running": 1}


def test_ready_is_what_is_pending_and_sleepers_that_are_due(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    engine.spawn_task(name="job", params=None, available_after=timedelta(seconds=10))
    clock.advance(5)
    spawned_at = clock()
    engine.spawn_task(name="job", params=None, priority=-3)
    engine.spawn_task(name="job", params=None, queue="mail", priority=7)
    assert monitor.snapshot().ready == engine.ready_run_count() == 2
    assert monitor.snapshot().oldest_due == spawned_at
    clock.advance(20)
    engine.spawn_task(name="job", params=None, priority=9)
    assert monitor.snapshot().ready == engine.ready_run_count() == 4
    assert monitor.snapshot().oldest_due == spawned_at
    assert monitor.snapshot(Want(tasks=TaskQuery(state="pending", limit=1))).oldest_due == spawned_at


def test_oldest_due_looks_at_every_priority_of_every_queue(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    first = clock()
    for queue, priority in ((queue, priority) for queue in ("b", "a") for priority in (-5, 5, 0)):
        engine.spawn_task(name="job", params=None, queue=queue, priority=priority)
        clock.advance(1)
    assert monitor.snapshot().oldest_due == first


def test_leases_are_sorted_by_expiry_and_say_what_happens_then(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    late = started(engine, name="late", lease=500, max_attempts=3)
    soon = started(engine, name="soon", lease=60, max_reclaims=0)
    leases = monitor.snapshot(Want(leases=10)).leases
    assert [lease.name for lease in leases] == ["soon", "late"]
    assert [lease.expires_at for lease in leases] == [after(clock, 60), after(clock, 500)]
    assert [lease.fails_at_expiry for lease in leases] == [True, False]
    assert leases[0].claim_token == soon.claim_token == 1
    assert (leases[1].run_id, leases[1].max_attempts, leases[1].worker_id) == (late.run_id, 3, "w1")
    assert len(monitor.snapshot(Want(leases=1)).leases) == 1


def test_sleepers_say_what_ends_their_sleep(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    park(engine, started(engine, name="waits"), "approved", timeout=40)
    park(engine, started(engine, name="waits-for-ever"), "approved")
    with suppress(WorkflowSuspended):
        task = started(engine, name="naps")
        engine.sleep(
            run_id=task.run_id,
            task_id=task.task_id,
            step_name="nap",
            seconds=30,
            claim_token=task.claim_token,
        )
    task = started(
        engine, name="backs-off", retry=RetryStrategy(kind="fixed", base_seconds=20, jitter_factor=0)
    )
    engine.fail_run(run_id=task.run_id, reason={"type": "Oops"}, claim_token=task.claim_token)
    task = started(engine, name="unknown")
    engine.defer_run(run_id=task.run_id, claim_token=task.claim_token)
    engine.spawn_task(name="later", params=None, available_after=timedelta(seconds=10))

    found = {sleeper.name: sleeper for sleeper in monitor.snapshot(Want(sleepers=10)).sleepers}
    assert {name: sleeper.cause for name, sleeper in found.items()} == {
        "waits": "event",
        "waits-for-ever": "event",
        "naps": "sleep",
        "backs-off": "backoff",
        "unknown": "deferred",
        "later": "delay",
    }
    assert found["waits"].due_at == after(clock, 40)
    assert (found["waits"].event_name, found["waits"].step_name) == ("approved", "approval")
    assert found["waits-for-ever"].due_at is None
    assert found["naps"].event_name is None
    assert (found["naps"].due_at, found["naps"].step_name) == (after(clock, 30), "nap")
    assert (found["backs-off"].due_at, found["backs-off"].attempt) == (after(clock, 20), 2)
    assert found["unknown"].deferrals == 1
    order = [sleeper.name for sleeper in monitor.snapshot(Want(sleepers=10)).sleepers]
    assert order[1:] == ["later", "backs-off", "naps", "waits", "waits-for-ever"]
    assert not any(sleeper.stray for sleeper in found.values())


def test_waits_are_grouped_by_event_with_the_soonest_deadline_first(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    park(engine, started(engine, name="never"), "b-never")
    park(engine, started(engine, name="late"), "a-together", timeout=100)
    park(engine, started(engine, name="soon"), "a-together", timeout=50)
    park(engine, started(engine, name="alone"), "c-alone", timeout=70)
    awaited = monitor.snapshot(Want(awaited=10)).awaited
    assert [(event.event_name, event.waiter_count) for event in awaited] == [
        ("a-together", 2),
        ("c-alone", 1),
        ("b-never", 1),
    ]
    assert [waiter.name for waiter in awaited[0].waiters] == ["soon", "late"]
    assert awaited[0].soonest_timeout == after(clock, 50)
    assert awaited[2].soonest_timeout is None
    assert not any(event.capped for event in awaited)
    assert [event.event_name for event in monitor.snapshot(Want(awaited=1)).awaited] == ["a-together"]


def test_wait_whose_run_was_woken_waits_no_more(engine: DurableEngine, monitor: Monitor) -> None:
    task = started(engine)
    park(engine, task, "approved")
    engine.emit_event(event_name="approved", payload=1)
    snapshot = monitor.snapshot(Want(awaited=10, task_id=task.task_id))
    assert snapshot.awaited == ()
    assert snapshot.task is not None
    assert [(wait.event_name, wait.waiting) for wait in snapshot.task.waits] == [("approved", False)]


def test_more_waiters_of_one_event_than_are_shown_are_counted(
    engine: DurableEngine, monitor: Monitor
) -> None:
    for _ in range(60):
        park(engine, started(engine), "approved")
    (event,) = monitor.snapshot(Want(awaited=10)).awaited
    assert (event.waiter_count, len(event.waiters)) == (60, 50)


def test_one_event_is_found_by_its_exact_name_however_many_others_there_are(
    engine: DurableEngine, monitor: Monitor
) -> None:
    for number in range(3):
        park(engine, started(engine, name=f"task{number}"), f"approved:{number}", timeout=50 + number)
    engine.emit_event(event_name="shipped", payload=1)
    engine.emit_event(event_name="shipped:2", payload=2)
    waited = monitor.snapshot(Want(awaited=1, event="approved:2"))
    assert [event.event_name for event in waited.awaited] == ["approved:0"]
    assert waited.event is None
    assert waited.event_waits is not None
    assert [waiter.name for waiter in waited.event_waits.waiters] == ["task2"]
    emitted = monitor.snapshot(Want(events=1, event="shipped"))
    assert emitted.event is not None
    assert (emitted.event.payload, emitted.event_waits) == ("1", None)
    assert monitor.snapshot(Want(event="SHIPPED")).event is None


def test_awaited_events_are_found_by_a_part_of_their_name(engine: DurableEngine, monitor: Monitor) -> None:
    for number in range(3):
        park(engine, started(engine), f"approved:{number}", timeout=50 + number)
    for part, found in (("D:2", ["approved:2"]), ("approved", ["approved:0"]), ("_", [])):
        awaited = monitor.snapshot(Want(awaited=1, events_like=part)).awaited
        assert [event.event_name for event in awaited] == found


def test_events_are_listed_latest_first_and_found_by_a_part_of_their_name(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    engine.emit_event(event_name="approved:1", payload={"by": "ana"}, actor="ana", reason="fine")
    clock.advance(5)
    engine.emit_event(event_name="50%_off")
    events = monitor.snapshot(Want(events=10)).events
    assert [(event.event_name, event.payload, event.emitted_by) for event in events] == [
        ("50%_off", "null", None),
        ("approved:1", '{"by": "ana"}', "ana"),
    ]
    assert events[0].emitted_at == clock()
    for part, found in (("APPR", ["approved:1"]), ("%", ["50%_off"]), ("_", ["50%_off"]), ("x", [])):
        assert [
            event.event_name for event in monitor.snapshot(Want(events=10, events_like=part)).events
        ] == found


def test_memory_is_shown_by_namespace_and_the_audit_latest_first(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    engine.set_state_many(namespace="poller", items={"b": 2, "a": [1]})
    engine.set_state(namespace="seen", key="x", value=True)
    for event in ("one", "two"):
        engine.emit_event(event_name=event, actor="ana", reason="because")
    snapshot = monitor.snapshot(EVERYTHING)
    keys = {row.namespace: row.keys for row in snapshot.namespaces if not row.namespace.startswith("dura.")}
    assert keys == {"poller": 2, "seen": 1}
    assert [(row.key, row.value, row.updated_at) for row in snapshot.state] == [
        ("a", "[1]", clock()),
        ("b", "2", clock()),
    ]
    entries = [json.loads(row.value) for row in snapshot.audit]
    assert [(entry["target"], entry["actor"], entry["reason"]) for entry in entries] == [
        ("two", "ana", "because"),
        ("one", "ana", "because"),
    ]


def test_value_that_is_too_long_for_a_list_is_cut_with_a_mark(
    engine: DurableEngine, monitor: Monitor
) -> None:
    engine.set_state(namespace="poller", key="big", value="x" * 100_000)
    (row,) = monitor.snapshot(Want(namespace="poller")).state
    assert len(row.value) < 70_000
    assert row.value.endswith("x…")


def test_failures_are_newest_first(engine: DurableEngine, monitor: Monitor, clock: ManualClock) -> None:
    for number in range(3):
        task = started(engine, name=f"job{number}", max_attempts=1)
        engine.fail_run(
            run_id=task.run_id, reason={"type": "Oops", "n": number}, claim_token=task.claim_token
        )
        clock.advance(1)
    failures = monitor.snapshot(Want(failures=2)).failures
    assert [failure.failure_reason["n"] for failure in failures] == [2, 1]
    assert failures == tuple(engine.recent_failures(limit=2))


def test_throughput_counts_what_was_settled_in_each_stretch(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    for seconds in (0, 0, 25):
        clock.advance(seconds)
        task = started(engine)
        engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
    task = started(engine, max_attempts=1)
    engine.fail_run(run_id=task.run_id, reason={}, claim_token=task.claim_token)
    clock.advance(15)
    throughput = monitor.snapshot(Want(throughput=True)).throughput
    assert throughput is not None
    assert (throughput.bucket_seconds, throughput.ends_at) == (10.0, clock())
    assert throughput.completed == (0,) * 55 + (2, 0, 0, 1, 0)
    assert throughput.failed == (0,) * 55 + (0, 0, 0, 1, 0)
    clock.advance(590)
    throughput = monitor.snapshot(Want(throughput=True)).throughput
    assert throughput is not None
    assert throughput.completed == (0,) * 60, "the earliest stretch begins after them"


# --- workers ----------------------------------------------------------------------------------------------------------


def test_workers_hold_leases_or_settled_within_the_hour(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    def settle(worker: str, *, well: bool) -> None:
        engine.spawn_task(name="job", params=None, max_attempts=1)
        task = claim(engine, worker_id=worker)
        if well:
            engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
        else:
            engine.fail_run(run_id=task.run_id, reason={}, claim_token=task.claim_token)

    settle("long-gone", well=True)
    clock.advance(3601)
    settle("busy", well=True)
    settle("busy", well=False)
    settle("idle", well=True)
    clock.advance(10)
    engine.spawn_task(name="job", params=None)
    claim(engine, worker_id="busy")
    workers = monitor.snapshot(Want(workers=True)).workers
    assert [(row.worker_id, row.leases, row.completed, row.failed) for row in workers] == [
        ("busy", 1, 1, 1),
        ("idle", 0, 1, 0),
    ]
    assert [row.last_seen for row in workers] == [clock(), after(clock, -10)]
    assert {row.presence for row in workers} == {"unknown"}
    assert not any(row.sampled for row in workers)


def test_worker_of_this_host_is_alive_or_gone(engine: DurableEngine, monitor: Monitor) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    host = socket.gethostname()
    expected = {
        f"{host}:{os.getpid()}:w1": "alive",
        f"{host}:1:w1": "alive",
        f"{host}:{done.pid}:w1": "gone",
        f"{host}:w1": "unknown",
        f"{host}:0:w1": "unknown",
        f"{host}:{'9' * 30}:w1": "unknown",
        f"elsewhere:{done.pid}:w1": "unknown",
        "worker_0": "unknown",
    }
    for worker in expected:
        engine.spawn_task(name="job", params=None)
        claim(engine, worker_id=worker)
    found = {row.worker_id: row.presence for row in monitor.snapshot(Want(workers=True)).workers}
    assert found == expected


def test_a_killed_worker_that_nobody_has_reaped_is_gone(engine: DurableEngine, monitor: Monitor) -> None:
    victim = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    engine.spawn_task(name="job", params=None)
    claim(engine, worker_id=f"{socket.gethostname()}:{victim.pid}:w1")
    assert monitor.snapshot(Want(workers=True)).workers[0].presence == "alive"
    victim.kill()
    wait_until(lambda: monitor.snapshot(Want(workers=True)).workers[0].presence == "gone")
    victim.communicate()


# --- one look ---------------------------------------------------------------------------------------------------------


def test_header_counts_equal_the_lists_of_the_same_look(engine: DurableEngine, monitor: Monitor) -> None:
    def write() -> None:
        for number in range(150):
            engine.spawn_task(name="job", params=None, max_attempts=1)
            task = claim(engine, worker_id="w")
            if number % 3 == 0:
                park(engine, task, f"event{number}")
            elif number % 3 == 1:
                engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
        engine.close()

    def check(snapshot: Snapshot) -> None:
        totals = snapshot.totals()
        assert snapshot.tasks is not None
        assert Counter(task.state for task in snapshot.tasks.tasks) == +Counter(totals)
        assert len(snapshot.leases) == totals.get("running", 0)
        assert len(snapshot.sleepers) == totals.get("sleeping", 0)
        assert sum(event.waiter_count for event in snapshot.awaited) == totals.get("sleeping", 0)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        want = Want(leases=1000, sleepers=1000, awaited=1000, tasks=TaskQuery(limit=1000))
        while writer.is_alive():
            check(monitor.snapshot(want))
    finally:
        writer.join()
    assert monitor.snapshot().totals() == {"completed": 50, "running": 50, "sleeping": 50}


def test_unchanged_store_needs_no_new_look(engine: DurableEngine, monitor: Monitor) -> None:
    assert monitor.changed(), "nothing was looked at yet"
    monitor.snapshot()
    assert not monitor.changed()
    engine.spawn_task(name="job", params=None)
    assert monitor.changed()
    monitor.snapshot(EVERYTHING)
    assert not monitor.changed()


def test_look_that_fails_half_way_holds_nothing(engine: DurableEngine, monitor: Monitor, path: Path) -> None:
    engine.spawn_task(name="job", params=None)
    with pytest.raises(ValueError, match="sort must be one of"):
        monitor.snapshot(Want(tasks=TaskQuery(sort="sideways")))
    with plain(path) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
    assert monitor.snapshot().totals() == {"pending": 1}


def test_monitor_leaves_a_closed_store_as_it_was(path: Path, clock: ManualClock) -> None:
    engine = DurableEngine(path, clock=clock)
    engine.spawn_task(name="job", params=None)
    engine.close()
    before = hashlib.sha256(path.read_bytes()).digest()
    with Monitor(path, clock=clock) as monitor:
        assert monitor.snapshot(EVERYTHING).file.reading == "still"
        assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert hashlib.sha256(path.read_bytes()).digest() == before


def test_closed_monitor_opens_again(engine: DurableEngine, monitor: Monitor) -> None:
    engine.spawn_task(name="job", params=None)
    monitor.snapshot()
    monitor.close()
    assert monitor.changed()
    assert monitor.snapshot().totals() == {"pending": 1}


def test_path_may_be_relative_and_stays_the_same_file(
    path: Path, engine: DurableEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    with Monitor(path.name) as monitor:
        monkeypatch.chdir("/")
        assert monitor.snapshot().file.path == str(path)


def test_child_of_a_fork_looks_for_itself(engine: DurableEngine, monitor: Monitor) -> None:
    engine.spawn_task(name="job", params=None)
    monitor.snapshot()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if monitor.snapshot().totals() == {"pending": 1} else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert monitor.snapshot().totals() == {"pending": 1}


# --- what is no store -------------------------------------------------------------------------------------------------


def test_missing_file_is_never_made(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound, match="there is no such file"):
        Monitor(tmp_path / "no.db").snapshot()
    assert list(tmp_path.iterdir()) == []


def test_other_sqlite_file_is_told_by_what_it_lacks(path: Path) -> None:
    with plain(path) as connection:
        connection.execute("CREATE TABLE tasks (id INTEGER PRIMARY KEY)")
    with pytest.raises(NotADuraStore, match=r"store\.db.*'tasks' has no column 'task_id'"):
        Monitor(path).snapshot()


def test_empty_file_is_no_store_until_it_is_one(path: Path, clock: ManualClock) -> None:
    path.touch()
    with Monitor(path) as monitor:
        with pytest.raises(NotADuraStore, match="has no tables"):
            monitor.snapshot()
        engine = DurableEngine(path, clock=clock)
        assert monitor.snapshot().counts == ()
        engine.close()


@pytest.mark.parametrize(
    "change", ["PRAGMA user_version=3", "UPDATE state SET value = '3' WHERE namespace = 'dura.schema'"]
)
def test_newer_store_is_refused_by_name(path: Path, clock: ManualClock, change: str) -> None:
    DurableEngine(path, clock=clock).close()
    with plain(path) as connection:
        connection.execute(change)
    with pytest.raises(StoreTooNew, match=r"store\.db.*newer dura"):
        Monitor(path).snapshot()


def test_store_inside_an_applications_database_is_read(path: Path, clock: ManualClock) -> None:
    with plain(path) as connection:
        connection.execute("PRAGMA user_version=57")
        connection.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY)")
        for statement in make_tables():
            connection.execute(statement)
    with Monitor(path) as monitor:
        assert monitor.snapshot(EVERYTHING).file.origin == "1.3.0"


def make_tables() -> list[str]:
    fixture = Path(__file__).parent / "fixtures" / "store-1.3.0.db"
    with sqlite3.connect(f"file:{fixture}?immutable=1", uri=True) as connection:
        found = [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    connection.close()
    return found


# --- odd data ---------------------------------------------------------------------------------------------------------


def test_odd_data_crashes_no_look(path: Path, clock: ManualClock) -> None:
    engine = DurableEngine(path, clock=clock)
    waiting = started(engine, name="waits")
    park(engine, waiting, "approved", timeout=50)
    held = started(engine, name="held", steps=["a", "b"])
    engine.checkpoint(task_id=held.task_id, step_name="a", fn=lambda: 1)
    failing = started(engine, name="fails", max_attempts=1)
    engine.fail_run(run_id=failing.run_id, reason={"type": "Oops"}, claim_token=failing.claim_token)
    engine.emit_event(event_name="other", payload=1)
    engine.set_state(namespace="poller", key="k", value=1)
    engine.close()
    with plain(path) as connection:
        connection.execute("PRAGMA ignore_check_constraints=1")
        for statement in (
            "UPDATE tasks SET enqueue_at = 'yesterday', first_started_at = '', steps = '{', retry_strategy = '['",
            "UPDATE tasks SET params = CAST(x'ff22' AS TEXT), terminal_at = '2026-13-45' WHERE task_name = 'fails'",
            "UPDATE runs SET failure_reason = 'not json' WHERE state = 'failed'",
            "UPDATE runs SET failed_at = NULL WHERE state = 'failed'",
            "UPDATE runs SET claim_expires_at = NULL, started_at = '2026-01-01 00:00', claimed_by = NULL WHERE state = 'running'",
            "UPDATE runs SET available_at = 'soon', sleep_cause = NULL WHERE state = 'sleeping'",
            "UPDATE waits SET timeout_at = '0000'",
            "UPDATE events SET emitted_at = '24:00', payload = '{'",
            "UPDATE checkpoints SET updated_at = 'x'",
            "UPDATE state SET updated_at = '' WHERE namespace = 'poller'",
            "UPDATE state SET key = key || '?' WHERE namespace = 'dura.counts' AND key LIKE '%fails%'",
        ):
            assert connection.execute(statement).rowcount > 0, statement
    with Monitor(path, clock=clock) as monitor:
        snapshot = monitor.snapshot(EVERYTHING)
        assert not snapshot.counts_exact
        assert snapshot.leases[0].expires_at is None
        assert snapshot.leases[0].worker_id == ""
        assert snapshot.sleepers[0].due_at is None
        assert snapshot.events[0].emitted_at is None
        assert snapshot.state[0].updated_at is None
        assert snapshot.tasks is not None
        assert {task.enqueued_at for task in snapshot.tasks.tasks} == {None}
        assert {task.error for task in snapshot.tasks.tasks} == {None, "not json"}
        for sort in ("newest", "oldest", "due", "priority", "attempts", "name"):
            for state in (None, "running", "sleeping", "failed"):
                monitor.snapshot(Want(tasks=TaskQuery(sort=sort, state=state)))
        for task in (waiting, held, failing):
            detail = monitor.snapshot(Want(task_id=task.task_id)).task
            assert detail is not None
            assert all(checkpoint.finished_at is None for checkpoint in detail.checkpoints)
