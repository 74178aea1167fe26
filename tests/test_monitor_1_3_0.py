"""A store that the 1.3.0 release wrote, shown as it is: every object in it, and not a byte of it changed."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dura import DurableEngine
from dura.monitor import Monitor
from dura.records import Snapshot, TaskDetail, TaskQuery, TaskRow, Want

FIXTURE = Path(__file__).parent / "fixtures" / "store-1.3.0.db"

NOW = datetime(2026, 1, 5, 9, 12, tzinfo=UTC)
"""A moment after the fixture's story: `lost-lease` has run out, `delayed-and-due` is due."""

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
def path(tmp_path: Path) -> Iterator[Path]:
    """A copy of the fixture, which has to be the same afterwards."""
    path = tmp_path / "store.db"
    shutil.copyfile(FIXTURE, path)
    yield path
    assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(FIXTURE.read_bytes()).digest()
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


@pytest.fixture
def monitor(path: Path) -> Iterator[Monitor]:
    with Monitor(path, clock=lambda: NOW) as monitor:
        yield monitor


@pytest.fixture
def snapshot(monitor: Monitor) -> Snapshot:
    return monitor.snapshot(EVERYTHING)


def tasks(snapshot: Snapshot) -> dict[str, TaskRow]:
    assert snapshot.tasks is not None
    return {str(task.idempotency_key): task for task in snapshot.tasks.tasks}


def detail(monitor: Monitor, snapshot: Snapshot, key: str) -> TaskDetail:
    found = monitor.snapshot(Want(task_id=tasks(snapshot)[key].task_id)).task
    assert found is not None
    return found


def key_of(snapshot: Snapshot, task_id: str) -> str:
    return next(key for key, task in tasks(snapshot).items() if task.task_id == task_id)


def test_counts_are_exact_and_equal_the_list(snapshot: Snapshot) -> None:
    assert snapshot.file.origin == "1.3.0"
    assert snapshot.counts_exact
    assert snapshot.truncated == ()
    assert {row.queue for row in snapshot.counts} == {"default"}
    assert snapshot.totals() == {
        "cancelled": 2,
        "completed": 6,
        "failed": 2,
        "pending": 6,
        "running": 3,
        "sleeping": 10,
    }
    assert len(tasks(snapshot)) == sum(snapshot.totals().values())
    assert snapshot.ready == 7 + 2, "pending runs, and the sleepers that are due"


def test_leases_are_shown_the_lost_one_first(snapshot: Snapshot) -> None:
    lost, live = snapshot.leases
    assert (key_of(snapshot, lost.task_id), lost.worker_id) == ("lost-lease", "worker_1")
    assert lost.expires_at is not None
    assert lost.expires_at < NOW
    assert (key_of(snapshot, live.task_id), live.claim_token, live.reclaims) == ("running", 0, 0)
    assert live.expires_at is not None
    assert live.expires_at > NOW


def test_sleepers_have_their_causes_and_strays_are_told(snapshot: Snapshot) -> None:
    causes = {
        (key_of(snapshot, sleeper.task_id), sleeper.attempt): (sleeper.cause, sleeper.stray)
        for sleeper in snapshot.sleepers
    }
    assert causes == {
        ("waiting", 1): ("event", False),
        ("waiting-with-timeout", 1): ("event", False),
        ("waiting-together-1", 1): ("event", False),
        ("waiting-together-2", 1): ("event", False),
        ("backing-off", 2): ("backoff", False),
        ("delayed", 1): ("delay", False),
        ("delayed-and-due", 1): ("delay", False),
        ("cancelled-yet-waiting", 1): ("event", True),
        ("completed-yet-waiting", 1): ("event", True),
        ("two-waits", 1): ("event", True),
        ("two-waits", 2): ("event", False),
    }


def test_waits_are_grouped_by_event(snapshot: Snapshot) -> None:
    assert {event.event_name: event.waiter_count for event in snapshot.awaited} == {
        "approved:waiting": 1,
        "approved:waiting-with-timeout": 1,
        "market-open": 2,
        "approved:cancelled-yet-waiting": 1,
        "approved:completed-yet-waiting": 1,
        "approved:two-waits": 2,
    }


def test_events_are_shown_with_their_payloads(snapshot: Snapshot) -> None:
    assert [(event.event_name, event.payload) for event in snapshot.events] == [
        ("approved:woken", '["ana", 7]'),
        ("approved:cancelled-yet-woken", '{"by": "ana"}'),
        ("nightly-done", "null"),
        ("approved:early", '{"by": "ana"}'),
    ]


def test_failures_are_shown_newest_first(snapshot: Snapshot) -> None:
    reasons = [
        (key_of(snapshot, failure.task_id), failure.failure_reason["type"]) for failure in snapshot.failures
    ]
    assert reasons[0] == ("backing-off", "ConnectionError")
    assert reasons[-2:] == [("failed-thrice", "TimeoutError"), ("failed-thrice", "ConnectionError")]
    assert len(reasons) == 5


def test_memory_is_shown(snapshot: Snapshot) -> None:
    assert [(space.namespace, space.keys) for space in snapshot.namespaces] == [("poller", 2), ("seen", 3)]
    assert [(row.key, row.value) for row in snapshot.state] == [
        ("cursor", '{"since": "2026-01-05T08:55:00Z", "page": 3}'),
        ("polls", "42"),
    ]
    assert snapshot.audit == ()


def test_workers_and_throughput_come_from_what_was_settled(snapshot: Snapshot) -> None:
    workers = {row.worker_id: (row.leases, row.completed, row.failed) for row in snapshot.workers}
    assert workers == {"worker_0": (0, 6, 4), "worker_1": (1, 0, 1), "worker_2": (1, 0, 0)}
    assert snapshot.throughput is not None
    completed = snapshot.throughput.completed
    assert None not in completed
    assert sum(count or 0 for count in completed) == 4, "those that ended within the last ten minutes"


def test_progress_is_told_by_completed_tasks_of_the_name(snapshot: Snapshot) -> None:
    found = tasks(snapshot)
    assert (found["running"].steps_done, found["running"].steps_total) == (2, 3)
    assert found["failed-at-once"].steps_total is None
    assert not any(task.steps_declared for task in found.values())


def test_task_that_was_over_and_lives_again_has_no_end(snapshot: Snapshot) -> None:
    for key in ("cancelled-yet-waiting", "completed-yet-waiting", "cancelled-yet-woken"):
        assert tasks(snapshot)[key].ended_at is None


def test_detail_of_a_failed_task_has_all_attempts(monitor: Monitor, snapshot: Snapshot) -> None:
    found = detail(monitor, snapshot, "failed-thrice")
    assert [(attempt.attempt, attempt.state, attempt.worker_id) for attempt in found.attempts] == [
        (1, "failed", "worker_0"),
        (2, "failed", "worker_0"),
        (3, "failed", "worker_1"),
    ]
    assert found.task.error == "ValueError: [/bold] row 17: not a number: 'abc'"
    assert [(step.name, step.value, step.seconds) for step in found.checkpoints] == [
        ("download", '{"bytes": 123456}', 1.0)
    ]
    assert found.params == '{"rows": 10000}'


def test_detail_of_a_task_with_two_waits_shows_both(monitor: Monitor, snapshot: Snapshot) -> None:
    found = detail(monitor, snapshot, "two-waits")
    assert [(wait.step_name, wait.waiting) for wait in found.waits] == [("approval", True)] * 2
    assert [attempt.state for attempt in found.attempts] == ["sleeping", "sleeping"]


def test_results_and_parameters_are_shown_as_stored(monitor: Monitor, snapshot: Snapshot) -> None:
    found = detail(monitor, snapshot, "completed-2")
    assert found.result == '{"charged": 2}'
    assert [step.name for step in found.checkpoints] == ["reserve", "charge", "receipt"]
    assert detail(monitor, snapshot, "completed-after-event").result == "null"
    assert detail(monitor, snapshot, "pending-idle").params == '[1, "two", null]'


def test_lists_have_the_filters_and_orders_of_a_file_of_ours(monitor: Monitor) -> None:
    def keys(**query: str) -> list[str | None]:
        page = monitor.snapshot(Want(tasks=TaskQuery(**query))).tasks  # type: ignore[arg-type]
        assert page is not None
        return [task.idempotency_key for task in page.tasks]

    assert keys(state="failed") == ["failed-at-once", "failed-thrice"]
    assert keys(state="running", sort="due") == ["lost-lease", "running", "taken-back-and-pending"]
    assert keys(state="pending", sort="priority")[0] == "pending-urgent"
    assert keys(state="pending", sort="priority")[-1] == "pending-idle"
    assert keys(text="SNOWMAN") == ["running"]
    assert keys(name="imp*", sort="attempts")[0] == "failed-thrice"
    assert keys(queue="other") == []
    assert keys(sort="due")[:2] == ["lost-lease", "delayed-and-due"]


def test_task_is_found_by_a_part_of_its_id(monitor: Monitor, snapshot: Snapshot) -> None:
    task = tasks(snapshot)["waiting"]
    assert [found.task_id for found in monitor.find_tasks(task.task_id[7:20])] == [task.task_id]


def test_upgrade_under_the_monitor_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "upgraded" / "store.db"
    path.parent.mkdir()
    shutil.copyfile(FIXTURE, path)
    with Monitor(path, clock=lambda: NOW) as monitor:
        assert monitor.snapshot(EVERYTHING).file.origin == "1.3.0"
        engine = DurableEngine(path, clock=lambda: NOW)
        assert monitor.changed()
        snapshot = monitor.snapshot(EVERYTHING)
        assert (snapshot.file.origin, snapshot.file.reading) == ("dura", "live")
        assert not any(sleeper.stray for sleeper in snapshot.sleepers)
        assert snapshot.totals() == engine.task_counts_by_state()
        engine.close()


def test_file_stays_still_between_looks(monitor: Monitor, snapshot: Snapshot) -> None:
    assert snapshot.file.reading == "still"
