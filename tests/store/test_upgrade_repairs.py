"""What 1.3.0 can leave behind, one by one: each is put right, reported, and leaves a sound store that drains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ManualClock, plain, rows
from dura import DurableEngine
from store.conftest import runs_of, task_of

FOREVER = "9999-12-31T23:59:59.999999+00:00"


def edited(path: Path, *statements: str) -> None:
    """Bring the old store into a state; `{key}` is the id of the task that an idempotency key names."""
    keys = dict(
        rows(
            path,
            "SELECT replace(idempotency_key, '-', '_'), task_id FROM tasks WHERE idempotency_key NOT NULL",
        )
    )
    with plain(path) as other:
        for statement in statements:
            other.execute(statement.format(**keys, forever=FOREVER))


def upgraded(path: Path, clock: ManualClock) -> tuple[str, ...]:
    """Upgrade, check and drain. Returns the report without the lines of the fixture's own story."""
    engine = DurableEngine(path, clock=clock)
    report = engine.upgrade_report
    assert engine.check() == ()
    engine.close()
    return report[1:]


def drained(path: Path, clock: ManualClock) -> set[str]:
    """Run everything that can be run, having emitted all that is waited for. Returns the states left."""
    engine = DurableEngine(path, clock=clock)
    for (event,) in rows(path, "SELECT DISTINCT event_name FROM waits"):
        engine.emit_event(event_name=event)
    for _ in range(30):
        while (task := engine.claim_task(worker_id="w")) is not None:
            engine.complete_run(run_id=task.run_id)
        clock.advance(3600)
    assert engine.check() == ()
    states = set(engine.task_counts_by_state())
    engine.close()
    return states


RUN = "INSERT INTO runs (run_id, task_id, attempt, state, available_at) VALUES "

CASES: dict[str, tuple[list[str], list[str], Callable[[Path], object], object]] = {
    "a key in a namespace that is ours now": (
        ["INSERT INTO state VALUES ('dura.mine', 'k', '5', '2026')", "INSERT INTO state VALUES ('durable', 'k', '6', '2026')"],
        ["moved 1 state key(s)"],
        lambda path: rows(path, "SELECT namespace, value FROM state WHERE key = 'k' ORDER BY 1"),
        [("durable", "6"), ("was.dura.mine", "5")],
    ),
    "an event whose name is ours now": (
        ["INSERT INTO events VALUES ('dura.sleep', 'null', '2026')"],
        ["renamed 1 event(s)"],
        lambda path: rows(path, "SELECT event_name FROM events WHERE event_name LIKE '%dura.%'"),
        [("was.dura.sleep",)],
    ),
    "a run that waits for an event whose name is ours now": (
        [
            "UPDATE waits SET event_name = 'dura.mine' WHERE event_name = 'approved:waiting-with-timeout'",
            "UPDATE runs SET wake_event = 'dura.mine' WHERE wake_event = 'approved:waiting-with-timeout'",
        ],
        ["removed 1 wait(s) for events that begin with 'dura.'", "made 1 sleeping run(s) pending"],
        lambda path: rows(path, "SELECT * FROM waits WHERE event_name LIKE 'dura.%'"),
        [],
    ),
    "a run whose task is gone": (
        [RUN + "('orphan', 'gone', 1, 'pending', '2026')"],
        ["removed 1 run(s) of tasks that are gone"],
        lambda path: rows(path, "SELECT * FROM runs WHERE run_id = 'orphan'"),
        [],
    ),
    "a step whose task is gone": (
        ["INSERT INTO checkpoints VALUES ('gone', 's', '1', 'r', '2026')"],
        ["removed 1 checkpoint(s) of tasks that are gone"],
        lambda path: rows(path, "SELECT * FROM checkpoints WHERE task_id = 'gone'"),
        [],
    ),
    "a wait whose task is gone": (
        ["INSERT INTO waits VALUES ('orphan', 's', 'gone', 'e', NULL)"],
        ["removed 4 wait(s) of runs that have ended"],
        lambda path: rows(path, "SELECT * FROM waits WHERE task_id = 'gone'"),
        [],
    ),
    "a failed task that came back to life": (
        [
            "UPDATE tasks SET state = 'sleeping' WHERE task_id = '{failed_thrice}'",
            "UPDATE runs SET state = 'sleeping', wake_event = 'e' WHERE task_id = '{failed_thrice}' AND attempt = 3",
            "INSERT INTO waits SELECT run_id, 's', task_id, 'e', NULL FROM runs WHERE wake_event = 'e'",
        ],
        ["ended 4 task(s)", "ended 5 run(s)", "removed 4 wait(s) of runs that have ended"],
        lambda path: runs_of(path, "failed-thrice"),
        [(1, "failed"), (2, "failed"), (3, "failed")],
    ),
    "a completed task whose next attempt sleeps": (
        [
            "UPDATE runs SET state = 'failed', failed_at = '2026', failure_reason = '1' WHERE task_id = '{completed_1}'",
            RUN + "('next', '{completed_1}', 2, 'sleeping', '2026')",
            "UPDATE tasks SET state = 'sleeping', attempts = 2, last_attempt_run = 'next' WHERE task_id = '{completed_1}'",
        ],
        ["ended 4 task(s)", "ended 5 run(s)", "made 1 task(s) agree with their latest run"],
        lambda path: (
            runs_of(path, "completed-1"),
            rows(path, "SELECT state, attempts, completed_payload FROM tasks WHERE idempotency_key = 'completed-1'"),
        ),
        ([(2, "cancelled"), (3, "completed")], [("completed", 3, '{"charged": 1}')]),
    ),
    "an earlier attempt that runs again": (
        ["UPDATE runs SET state = 'pending' WHERE task_id = '{backing_off}' AND attempt = 1"],
        ["ended 5 run(s)"],
        lambda path: runs_of(path, "backing-off"),
        [(1, "failed"), (2, "sleeping")],
    ),
    "a latest run that is not the highest attempt": (
        [
            "UPDATE tasks SET last_attempt_run = (SELECT run_id FROM runs WHERE task_id = '{backing_off}' AND attempt = 1), "
            "state = 'pending' WHERE task_id = '{backing_off}'",
            "UPDATE runs SET state = 'pending' WHERE task_id = '{backing_off}' AND attempt = 1",
        ],
        ["ended 5 run(s)", "made 1 task(s) agree with their latest run"],
        lambda path: (
            runs_of(path, "backing-off"),
            rows(path, "SELECT attempts, state FROM tasks WHERE idempotency_key = 'backing-off'"),
        ),
        ([(2, "cancelled"), (3, "pending")], [(3, "pending")]),
    ),
    "one attempt twice": (
        [
            RUN + "('twin', '{pending}', 1, 'failed', '2026')",
            "UPDATE runs SET failed_at = '2026', failure_reason = '1' WHERE run_id = 'twin'",
        ],
        ["made 1 task(s) agree with their latest run"],
        lambda path: runs_of(path, "pending"),
        [(1, "failed"), (2, "pending")],
    ),
    "a live task whose run is gone": (
        ["DELETE FROM runs WHERE task_id = '{pending}'"],
        ["made 1 task(s) agree with their latest run"],
        lambda path: runs_of(path, "pending"),
        [(1, "pending")],
    ),
    "a live task whose latest run has failed": (
        [
            "UPDATE runs SET state = 'failed', failed_at = '2026', failure_reason = '1' WHERE task_id = '{pending}'",
        ],
        ["made 1 task(s) agree with their latest run"],
        lambda path: runs_of(path, "pending"),
        [(1, "failed"), (2, "pending")],
    ),
    "a step that waits and has its outcome": (
        ["INSERT INTO checkpoints SELECT task_id, 'approval', '1', NULL, '2026' FROM tasks WHERE task_id = '{waiting}'"],
        ["removed 1 wait(s) of steps that have their outcome", "made 1 sleeping run(s) pending"],
        lambda path: (runs_of(path, "waiting"), rows(path, "SELECT * FROM waits WHERE task_id = ?", task_of(path, "waiting"))),
        ([(1, "pending")], []),
    ),
    "a sleeper without a wait": (
        ["DELETE FROM waits WHERE task_id = '{waiting}'"],
        ["made 1 sleeping run(s) pending that nothing would have woken"],
        lambda path: runs_of(path, "waiting"),
        [(1, "pending")],
    ),
    "a sleeper with a deadline and without a wait": (
        ["DELETE FROM waits WHERE task_id = '{waiting_with_timeout}'"],
        ["made 1 sleeping run(s) pending that nothing would have woken"],
        lambda path: runs_of(path, "waiting-with-timeout"),
        [(1, "pending")],
    ),
    "a sleeper without a time": (
        ["UPDATE runs SET available_at = '{forever}' WHERE task_id = '{delayed}'"],
        ["made 1 sleeping run(s) pending that nothing would have woken"],
        lambda path: runs_of(path, "delayed"),
        [(1, "pending")],
    ),
    "a running run without a lease": (
        ["UPDATE runs SET claim_expires_at = NULL WHERE task_id = '{running}'"],
        ["gave 1 run(s) without a lease back to the queue"],
        lambda path: runs_of(path, "running"),
        [(1, "pending")],
    ),
    "a running run without a worker": (
        ["UPDATE runs SET claimed_by = NULL WHERE task_id = '{running}'"],
        ["gave 1 run(s) without a lease back to the queue"],
        lambda path: rows(path, "SELECT claim_expires_at FROM runs WHERE task_id = ?", task_of(path, "running")),
        [(None,)],
    ),
    "more attempts than granted": (
        ["UPDATE tasks SET max_attempts = 1 WHERE task_id = '{backing_off}'"],
        ["raised max_attempts of 1 task(s)"],
        lambda path: rows(path, "SELECT max_attempts FROM tasks WHERE idempotency_key = 'backing-off'"),
        [(2,)],
    ),
    "no attempt granted": (
        ["UPDATE tasks SET max_attempts = 0 WHERE task_id = '{pending}'"],
        ["raised max_attempts of 1 task(s)"],
        lambda path: rows(path, "SELECT max_attempts FROM tasks WHERE idempotency_key = 'pending'"),
        [(1,)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "lines", "look", "expected"), CASES.values(), ids=CASES.keys())
def test_it_is_put_right_and_reported(
    old: Path,
    story: ManualClock,
    damage: list[str],
    lines: list[str],
    look: Callable[[Path], object],
    expected: object,
) -> None:
    edited(old, *damage)
    report = upgraded(old, story)
    for line in lines:
        assert [each for each in report if each.startswith(line)], report
    assert look(old) == expected
    assert drained(old, story) <= {"completed", "failed", "cancelled"}


def test_two_waits_of_one_step_become_that_of_the_latest_attempt(old: Path, story: ManualClock) -> None:
    upgraded(old, story)
    assert rows(old, "SELECT timeout_at FROM waits WHERE event_name = 'approved:two-waits'") == [
        ("2026-01-05T11:07:22.000000+00:00",)
    ]


def test_two_waits_of_one_step_on_one_live_run_become_one(old: Path, story: ManualClock) -> None:
    edited(
        old,
        "INSERT INTO waits SELECT 'x' || run_id, step_name, task_id, event_name, NULL FROM waits WHERE task_id = '{waiting}'",
        "UPDATE runs SET state = 'sleeping', wake_event = 'approved:waiting', run_id = 'x' || run_id WHERE task_id = '{waiting}'",
        "UPDATE tasks SET last_attempt_run = 'x' || last_attempt_run WHERE task_id = '{waiting}'",
    )
    upgraded(old, story)
    assert rows(old, "SELECT COUNT(*) FROM waits WHERE event_name = 'approved:waiting'") == [(1,)]


def test_a_lease_of_a_run_that_ended_is_history_that_goes(old: Path, story: ManualClock) -> None:
    assert rows(old, "SELECT 1 FROM runs WHERE state != 'running' AND claim_expires_at NOT NULL") != []
    upgraded(old, story)
    assert rows(old, "SELECT 1 FROM runs WHERE state != 'running' AND claim_expires_at NOT NULL") == []


def test_what_was_upgraded_would_fit_a_new_store(old: Path, story: ManualClock, tmp_path: Path) -> None:
    """The CHECKs that an upgraded file lacks hold of its rows all the same."""
    upgraded(old, story)
    new = tmp_path / "new.db"
    DurableEngine(new, clock=story).close()
    with plain(new) as other:
        other.execute("ATTACH ? AS old", (str(old),))
        other.execute("DELETE FROM main.state")
        for table in ("tasks", "runs", "checkpoints", "events", "waits"):
            columns = ", ".join(row[1] for row in other.execute(f"PRAGMA main.table_info({table})"))
            other.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM old.{table}")
    engine = DurableEngine(new, clock=story)
    assert [finding.rule for finding in engine.check(repair=True)] == ["the counters agree with the tasks"]
    assert engine.check() == ()
    engine.close()
