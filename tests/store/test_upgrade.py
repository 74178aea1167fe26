"""Opening a store of the 1.3.0 release: it is upgraded once, whole, and everything in it goes on."""

from __future__ import annotations

import logging
import multiprocessing
import sqlite3
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, dump, plain, rows
from dura import ActionRefused, DurableEngine, StoreNeedsUpgrade
from store.conftest import runs_of, task_of
from store.openers import open_at

UPGRADED = "upgraded the store from dura 1.3.0"


def test_an_upgraded_store_is_sound_and_says_what_was_put_right(
    old: Path, story: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "dura"):
        engine = DurableEngine(old, clock=story)
    assert engine.upgrade_report == (
        UPGRADED,
        "ended 3 task(s) that had come back to life after they were final",
        "ended 4 run(s) of tasks that are final or at a later attempt",
        "removed 3 wait(s) of runs that have ended",
    )
    assert [record.getMessage() for record in caplog.records] == [
        f"{old}: {line}" for line in engine.upgrade_report
    ]
    assert engine.check() == ()
    kept = engine.get_state(namespace="dura.schema", key="upgrade")
    assert kept == {"from": "1.3.0", "report": list(engine.upgrade_report)}
    engine.close()
    again = DurableEngine(old, clock=story)
    assert again.upgrade_report == ()
    again.close()


def test_every_task_is_in_the_state_that_its_story_says(old: Path, story: ManualClock) -> None:
    DurableEngine(old, clock=story).close()
    states = dict(
        rows(old, "SELECT idempotency_key, state FROM tasks WHERE idempotency_key IS NOT NULL ORDER BY rowid")
    )
    assert states == {
        "completed-1": "completed", "completed-2": "completed", "completed-3": "completed",
        "completed-after-event": "completed", "completed-after-timeout": "completed",
        "failed-thrice": "failed", "failed-at-once": "failed",
        "cancelled-pending": "cancelled", "cancelled-running": "cancelled",
        "cancelled-yet-waiting": "cancelled", "cancelled-yet-woken": "cancelled",
        "completed-yet-waiting": "completed",
        "two-waits": "sleeping", "waiting": "sleeping", "woken": "pending", "waiting-with-timeout": "sleeping",
        "waiting-together-1": "sleeping", "waiting-together-2": "sleeping", "backing-off": "sleeping",
        "delayed": "sleeping", "delayed-and-due": "sleeping", "lost-lease": "running", "taken-back": "completed",
        "taken-back-and-pending": "pending", "running": "running",
        "pending": "pending", "pending-urgent": "pending", "pending-idle": "pending",
    }  # fmt: skip
    causes = dict(
        rows(
            old,
            "SELECT t.idempotency_key, r.sleep_cause FROM runs r JOIN tasks t ON t.last_attempt_run = r.run_id "
            "WHERE r.state = 'sleeping' AND r.sleep_cause != 'event'",
        )
    )
    assert causes == {"backing-off": "backoff", "delayed": "delay", "delayed-and-due": "delay"}
    assert runs_of(old, "two-waits") == [(1, "failed"), (2, "sleeping")]
    assert rows(old, "SELECT DISTINCT queue FROM tasks UNION SELECT DISTINCT queue FROM runs") == [
        ("default",)
    ]


def test_nothing_that_was_stored_is_lost(old: Path, story: ManualClock) -> None:
    kept = {
        "checkpoints": "SELECT * FROM checkpoints ORDER BY rowid",
        "events": "SELECT event_name, payload, emitted_at FROM events ORDER BY rowid",
        "state": "SELECT * FROM state WHERE namespace NOT LIKE 'dura.%' ORDER BY rowid",
        "tasks": "SELECT task_id, task_name, params, attempts, max_attempts, retry_strategy, enqueue_at, "
        "first_started_at, last_attempt_run, completed_payload, terminal_at, idempotency_key FROM tasks ORDER BY rowid",
        "runs": "SELECT run_id, task_id, attempt, available_at, completed_at, failed_at, result, failure_reason, "
        "priority FROM runs ORDER BY rowid",
    }
    before = {table: rows(old, query) for table, query in kept.items()}
    assert all(before.values())
    DurableEngine(old, clock=story).close()
    assert {table: rows(old, query) for table, query in kept.items()} == before


def step_of(engine: DurableEngine, task: Any, event: str | None = None) -> Any:
    return engine.await_event(
        run_id=task.run_id, task_id=task.task_id, step_name="approval", event_name=event or "never",
        timeout_secs=3600, on_timeout="late",
    )  # fmt: skip


def test_an_upgraded_store_drains_completely(old: Path, story: ManualClock) -> None:
    engine = DurableEngine(old, clock=story)
    for event in ("approved:waiting", "approved:two-waits", "market-open"):
        engine.emit_event(event_name=event, payload=event)
    done = 0
    for _ in range(40):
        while (task := engine.claim_task(worker_id="w")) is not None:
            engine.complete_run(run_id=task.run_id, result="drained", claim_token=task.claim_token)
            done += 1
        story.advance(1800)
    assert done == 16
    assert set(engine.task_counts_by_state()) == {"completed", "failed", "cancelled"}
    assert rows(old, "SELECT * FROM waits") == []
    assert engine.check() == ()
    engine.close()


def test_a_woken_step_finds_its_payload_and_a_waiting_one_its_deadline(old: Path, story: ManualClock) -> None:
    engine = DurableEngine(old, clock=story)
    story.advance(7200)
    outcomes = {}
    while (task := engine.claim_task(worker_id="w")) is not None:
        ((key,),) = rows(old, "SELECT idempotency_key FROM tasks WHERE task_id = ?", task.task_id)
        event = {"woken": "approved:woken", "waiting-with-timeout": "approved:waiting-with-timeout"}.get(key)
        if event:
            outcomes[key] = step_of(engine, task, event)
        engine.complete_run(run_id=task.run_id)
    assert outcomes == {"woken": (False, ["ana", 7]), "waiting-with-timeout": (False, "late")}
    engine.close()


def test_the_lease_of_a_dead_worker_is_taken_back_with_the_same_attempt(
    old: Path, story: ManualClock
) -> None:
    engine = DurableEngine(old, clock=story)
    story.advance(3600)
    task = engine.claim_task(worker_id="w", max_priority=0)
    while task is not None and task.task_id != task_of(old, "lost-lease"):
        task = engine.claim_task(worker_id="w", max_priority=0)
    assert task is not None
    assert (task.attempt, task.reclaims, task.claim_token) == (1, 1, 2)
    engine.close()


def test_a_1_3_0_holder_settles_its_run_by_nobodys_call(old: Path, story: ManualClock) -> None:
    engine = DurableEngine(old, clock=story)
    ((run_id,),) = rows(old, "SELECT last_attempt_run FROM tasks WHERE idempotency_key = 'running'")
    engine.complete_run(run_id=run_id, result="by the old worker")
    assert engine.get_task(task_of(old, "running")).result == "by the old worker"
    engine.close()


# --- refusing, racing, failing ---------------------------------------------------------------------------------------


def test_a_1_3_0_store_is_left_as_it_is_unless_an_upgrade_is_allowed(old: Path) -> None:
    before = old.read_bytes()
    with pytest.raises(StoreNeedsUpgrade, match="dura upgrade") as error:
        DurableEngine(old, upgrade=False)
    assert error.value.path == str(old)
    assert old.read_bytes() == before


def test_of_processes_that_race_one_upgrades(old: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    moment = time.monotonic() + 1.5
    with ProcessPoolExecutor(max_workers=6, mp_context=spawn) as pool:
        outcomes = list(pool.map(open_at, [str(old)] * 6, [moment] * 6, "abcdef"))
    reports = [report for report, _ in outcomes if report]
    assert len(reports) == 1
    assert reports[0][0] == UPGRADED
    assert [created for _, created in outcomes] == [True] * 6
    engine = DurableEngine(old)
    assert engine.check() == ()
    engine.close()


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(old: Path, story: ManualClock) -> None:
    with plain(old) as other:
        other.execute(
            "CREATE TRIGGER in_the_way BEFORE INSERT ON state WHEN NEW.namespace = 'dura.schema' "
            "BEGIN SELECT RAISE(ABORT, 'the last step of the upgrade fails'); END"
        )
        schema = other.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
    before = dump(old)
    with pytest.raises(Exception, match="the last step"):
        DurableEngine(old, clock=story)
    assert dump(old) == before
    assert rows(old, "SELECT type, name, sql FROM sqlite_master ORDER BY name") == schema


# --- the fence against workers that still run 1.3.0 ------------------------------------------------------------------

CLAIM_OF_1_3_0 = """
    UPDATE runs SET state = 'running', claimed_by = 'old worker', claim_expires_at = '2026-01-05T10:00:00.000000+00:00',
                    started_at = COALESCE(started_at, '2026-01-05T09:08:00.000000+00:00')
    WHERE run_id = (SELECT run_id FROM runs INDEXED BY runs_claimable
                    WHERE state IN ('pending', 'sleeping') AND available_at <= '2026-01-05T09:08:00.000000+00:00'
                    ORDER BY priority DESC, available_at LIMIT 1)
"""
"""The claim that a worker of that release makes: it knows no token, and names an index of its own."""


def test_a_claim_of_a_1_3_0_worker_is_refused_with_advice_and_loses_nothing(
    old: Path, story: ManualClock
) -> None:
    engine = DurableEngine(old, clock=story)
    before = dump(old)
    with plain(old) as worker:
        worker.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.IntegrityError, match=r"upgraded.*Stop that worker"):
            worker.execute(CLAIM_OF_1_3_0)
        worker.execute("ROLLBACK")
    assert dump(old) == before
    assert engine.claim_task(worker_id="new") is not None
    engine.close()


NOW = "2026-01-05T09:08:00.000000+00:00"


def old_program(path: Path, *statements: str) -> None:
    """What a program of that release that was not stopped writes meanwhile, in one transaction."""
    with plain(path) as program:
        program.execute("BEGIN IMMEDIATE")
        for statement in statements:
            program.execute(statement.format(now=NOW))
        program.execute("COMMIT")


def test_what_a_1_3_0_program_spawns_is_ours_to_run(old: Path, story: ManualClock) -> None:
    engine = DurableEngine(old, clock=story)
    for name, state, due in (
        ("now", "pending", NOW),
        ("later", "sleeping", "2026-01-05T09:09:00.000000+00:00"),
    ):
        old_program(
            old,
            "INSERT INTO tasks (task_id, task_name, params, state, attempts, enqueue_at, last_attempt_run) "
            f"VALUES ('t-{name}', '{name}', '1', '{state}', 1, '{{now}}', 'r-{name}')",
            "INSERT INTO runs (run_id, task_id, attempt, state, available_at, priority) "
            f"VALUES ('r-{name}', 't-{name}', 1, '{state}', '{due}', 99)",
        )
    assert engine.check() == ()
    assert engine.task_counts_by_name_and_state()["later"] == {"sleeping": 1}
    for name in ("now", "later"):
        task = engine.claim_task(worker_id="new")
        assert task is not None
        assert (task.name, task.queue, task.claim_token) == (name, "default", 1)
        story.advance(60)
    engine.close()


def test_an_event_that_a_1_3_0_program_emits_wakes_our_waiter(old: Path, story: ManualClock) -> None:
    engine = DurableEngine(old, clock=story)
    ref = engine.spawn_task(name="ours", params=None, priority=99)
    task = engine.claim_task(worker_id="w")
    assert task is not None
    assert step_of(engine, task, "e") == (True, None)
    old_program(
        old,
        "INSERT INTO events (event_name, payload, emitted_at) VALUES ('e', '7', '{now}')",
        "UPDATE runs SET state = 'pending', wake_event = NULL, event_payload = '7', available_at = '{now}' "
        "WHERE wake_event = 'e'",
        f"UPDATE tasks SET state = 'pending' WHERE task_id = '{ref.task_id}'",
        "DELETE FROM waits WHERE event_name = 'e'",
    )
    assert engine.check() == ()
    again = engine.claim_task(worker_id="w")
    assert again is not None
    assert step_of(engine, again, "e") == (False, 7)
    engine.close()


def test_what_a_1_3_0_holder_parks_is_ours_to_wake(old: Path, story: ManualClock) -> None:
    engine = DurableEngine(old, clock=story)
    task_id = task_of(old, "running")
    old_program(
        old,
        f"INSERT INTO waits SELECT run_id, 's', task_id, 'e', NULL FROM runs WHERE task_id = '{task_id}'",
        "UPDATE runs SET state = 'sleeping', wake_event = 'e', available_at = '9999-12-31T23:59:59.999999+00:00', "
        f"claimed_by = NULL, claim_expires_at = NULL WHERE task_id = '{task_id}'",
        f"UPDATE tasks SET state = 'sleeping' WHERE task_id = '{task_id}'",
    )
    assert engine.check() == ()
    with pytest.raises(ActionRefused, match="waits for event 'e'"):
        engine.wake_task(task_id)
    assert engine.emit_event(event_name="e").woken == (task_id,)
    assert engine.check() == ()
    engine.close()


# --- a store inside an application's own database --------------------------------------------------------------------


def test_an_applications_own_tables_and_numbers_are_left_alone(old: Path, story: ManualClock) -> None:
    with plain(old) as other:
        other.executescript(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO users (name) VALUES ('ana');"
            "CREATE INDEX users_name ON users (name); CREATE VIEW names AS SELECT name FROM users;"
            "PRAGMA user_version = 77; PRAGMA application_id = 4711;"
        )
    engine = DurableEngine(old, clock=story)
    assert engine.upgrade_report[0] == UPGRADED
    assert engine.check() == ()
    engine.close()
    assert rows(old, "SELECT * FROM names") == [("ana",)]
    with plain(old) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (77,)
        assert other.execute("PRAGMA application_id").fetchone() == (4711,)
    again = DurableEngine(old, clock=story, upgrade=False)
    assert again.upgrade_report == ()
    again.cleanup(timedelta(0))
    again.close()
    assert rows(old, "SELECT * FROM users") == [(1, "ana")]


@pytest.mark.parametrize(("user_version", "application_id"), [(77, 0), (0, 4711)])
def test_either_number_is_the_applications(
    old: Path, story: ManualClock, user_version: int, application_id: int
) -> None:
    with plain(old) as other:
        other.execute(f"PRAGMA user_version = {user_version}")
        other.execute(f"PRAGMA application_id = {application_id}")
    DurableEngine(old, clock=story).close()
    with plain(old) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (user_version,)
        assert other.execute("PRAGMA application_id").fetchone() == (application_id,)
    DurableEngine(old, clock=story, upgrade=False).close()


def test_a_store_of_its_own_is_numbered_ours(old: Path, story: ManualClock) -> None:
    DurableEngine(old, clock=story).close()
    with plain(old) as other:
        assert other.execute("PRAGMA application_id").fetchone() == (0x64757261,)
        assert other.execute("PRAGMA user_version").fetchone() == (2,)


def test_cleanup_of_an_upgraded_store_works_without_giving_pages_back(old: Path, story: ManualClock) -> None:
    engine = DurableEngine(old, clock=story)
    story.advance(3600)
    assert engine.cleanup(timedelta(0)) == 13
    assert engine.check() == ()
    before, after = engine.compact()
    assert after <= before
    with plain(old) as other:
        assert other.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    engine.close()
