"""Illegal states cannot be written to a new store, by anyone, with any tool; what an upgraded store lacks, `check` finds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import ManualClock, dump, plain, started
from dura import DurableEngine


@pytest.fixture
def store(path: Path, clock: ManualClock) -> Iterator[sqlite3.Connection]:
    """A store with one task in each state, and a plain connection to it."""
    engine = DurableEngine(path, clock=clock)
    engine.complete_run(run_id=started(engine, name="completed", idempotency_key="k").run_id, result=1)
    failed = started(engine, name="failed", max_attempts=2)
    engine.fail_run(run_id=failed.run_id, reason={"a": 1}, retryable=False)
    engine.cancel_task(started(engine, name="cancelled").task_id)
    waiting = started(engine, name="waiting")
    engine.await_event(run_id=waiting.run_id, task_id=waiting.task_id, step_name="s", event_name="e")
    engine.checkpoint(task_id=waiting.task_id, step_name="done", fn=lambda: 1)
    engine.spawn_task(name="delayed", params=None, available_after=timedelta(hours=1))
    started(engine, name="running")
    engine.spawn_task(name="pending", params=None)
    engine.emit_event(event_name="happened")
    engine.close()
    with plain(path) as connection:
        yield connection


def of(name: str) -> str:
    """The run of the task of a name."""
    return f"WHERE task_id = (SELECT task_id FROM tasks WHERE task_name = '{name}')"


ILLEGAL = {
    # tasks
    "a task state that is none": "UPDATE tasks SET state = 'paused' WHERE task_name = 'pending'",
    "a live task with an end": "UPDATE tasks SET terminal_at = '2026' WHERE task_name = 'pending'",
    "a terminal task without an end": "UPDATE tasks SET terminal_at = NULL WHERE task_name = 'failed'",
    "a completed task without a result": "UPDATE tasks SET completed_payload = NULL WHERE task_name = 'completed'",
    "a live task with a result": "UPDATE tasks SET completed_payload = '1' WHERE task_name = 'running'",
    "a failed task with a result": "UPDATE tasks SET completed_payload = '1' WHERE task_name = 'failed'",
    "a task back to life with its end": "UPDATE tasks SET state = 'pending' WHERE task_name = 'completed'",
    "a task without attempts": "UPDATE tasks SET attempts = 0 WHERE task_name = 'pending'",
    "more attempts than granted": "UPDATE tasks SET attempts = 3 WHERE task_name = 'failed'",
    "fewer granted than used": "UPDATE tasks SET max_attempts = 0 WHERE task_name = 'failed'",
    "fewer than no reclaims": "UPDATE tasks SET max_reclaims = -1",
    "two tasks of one key": "UPDATE tasks SET idempotency_key = 'k'",
    "a task without a name": "UPDATE tasks SET task_name = NULL",
    "a task without params": "UPDATE tasks SET params = NULL",
    "a task without a queue": "UPDATE tasks SET queue = NULL",
    "attempts that are no number": "UPDATE tasks SET attempts = 'one'",
    "a BLOB as state": "UPDATE tasks SET state = x'00'",
    # runs
    "a run state that is none": f"UPDATE runs SET state = 'paused' {of('pending')}",
    "a pending run with a lease": f"UPDATE runs SET claim_expires_at = '2026' {of('pending')}",
    "a completed run with a lease": f"UPDATE runs SET claim_expires_at = '2026' {of('completed')}",
    "a running run without a lease": f"UPDATE runs SET claim_expires_at = NULL {of('running')}",
    "a running run without a worker": f"UPDATE runs SET claimed_by = NULL {of('running')}",
    "a running run without a token": f"UPDATE runs SET claim_token = 0 {of('running')}",
    "a running run that never started": f"UPDATE runs SET started_at = NULL {of('running')}",
    "a sleeper without a cause": f"UPDATE runs SET sleep_cause = NULL {of('delayed')}",
    "a cause that is none": f"UPDATE runs SET sleep_cause = 'boredom' {of('delayed')}",
    "a cause without sleep": f"UPDATE runs SET sleep_cause = 'delay' {of('pending')}",
    "an event without the cause": f"UPDATE runs SET wake_event = 'e' {of('delayed')}",
    "the cause without an event": f"UPDATE runs SET sleep_cause = 'event' {of('delayed')}",
    "a sleep without its event": f"UPDATE runs SET wake_event = NULL, sleep_cause = 'sleep' {of('waiting')}",
    "an event of a run that is awake": f"UPDATE runs SET wake_event = 'e' {of('running')}",
    "a sleeper that just becomes pending": f"UPDATE runs SET state = 'pending' {of('waiting')}",
    "a payload where 1.3.0 kept it": "UPDATE runs SET event_payload = '1'",
    "a completed run without its time": f"UPDATE runs SET completed_at = NULL {of('completed')}",
    "a running run with a time of completion": f"UPDATE runs SET completed_at = '2026' {of('running')}",
    "a completed run without a result": f"UPDATE runs SET result = NULL {of('completed')}",
    "a running run with a result": f"UPDATE runs SET result = '1' {of('running')}",
    "a failed run without its time": f"UPDATE runs SET failed_at = NULL {of('failed')}",
    "a failed run without a reason": f"UPDATE runs SET failure_reason = NULL {of('failed')}",
    "a live run with a reason": f"UPDATE runs SET failure_reason = '1' {of('pending')}",
    "a completed run that failed": f"UPDATE runs SET failed_at = '2026' {of('completed')}",
    "an attempt before the first": f"UPDATE runs SET attempt = 0 {of('pending')}",
    "fewer than no reclaims of a run": "UPDATE runs SET reclaims = -1",
    "fewer than no deferrals": "UPDATE runs SET deferrals = -1",
    "one attempt twice": f"INSERT INTO runs SELECT 'twice', task_id, attempt, state, claimed_by, claim_expires_at, "
    "available_at, wake_event, event_payload, started_at, completed_at, failed_at, result, failure_reason, priority, "
    f"queue, claim_token, reclaims, sleep_cause, deferrals FROM runs {of('pending')}",
    "a claim that does not raise the token": f"UPDATE runs SET state = 'running', claimed_by = 'old', claim_expires_at = "
    f"'2027', started_at = '2026' {of('pending')}",
    # the rest
    "two outcomes of one step": "INSERT INTO checkpoints SELECT * FROM checkpoints",
    "two waits of one step": "INSERT INTO waits SELECT 'other', step_name, task_id, 'f', NULL FROM waits",
    "one event twice": "INSERT INTO events SELECT * FROM events",
    "an event without its time": "UPDATE events SET emitted_at = NULL",
    "a wait for nothing": "UPDATE waits SET event_name = NULL",
    "a key twice": "INSERT INTO state SELECT * FROM state",
    "a state without a value": "UPDATE state SET value = NULL",
}  # fmt: skip


@pytest.mark.parametrize("statement", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_an_illegal_state_is_refused(store: sqlite3.Connection, path: Path, statement: str) -> None:
    before = dump(path)
    with pytest.raises(sqlite3.IntegrityError):
        store.execute(statement)
    assert dump(path) == before


def test_the_states_that_the_engine_writes_are_legal(store: sqlite3.Connection) -> None:
    assert store.execute("SELECT COUNT(DISTINCT state) FROM tasks").fetchone() == (6,)


BREACHES = {
    "every task has the state of its latest run": [
        "UPDATE tasks SET state = 'running' WHERE task_name = 'pending'",
        "UPDATE tasks SET last_attempt_run = 'no such run' WHERE task_name = 'pending'",
        f"DELETE FROM runs {of('pending')}",
    ],
    "the latest run is the one with the highest attempt": [
        f"UPDATE runs SET attempt = 5 {of('pending')}",
        "INSERT INTO runs (run_id, task_id, attempt, state, available_at) "
        "SELECT 'next', task_id, 2, 'cancelled', '2026' FROM tasks WHERE task_name = 'pending'",
    ],
    "only a task's latest run is live": [
        "INSERT INTO runs (run_id, task_id, attempt, state, available_at) "
        "SELECT 'second', task_id, 2, 'pending', '2026' FROM tasks WHERE task_name = 'pending'",
    ],
    "every sleeping run has a due time or a live wait": ["DELETE FROM waits"],
    "no run sleeps on an event that was emitted in time": [
        "INSERT INTO events (event_name, emitted_at) VALUES ('e', '2026')",
    ],
    "every wait belongs to its task's latest run": ["UPDATE waits SET run_id = 'other'"],
    "no wait outlives its task's end": [
        "INSERT INTO waits SELECT last_attempt_run, 's', task_id, 'e', NULL FROM tasks WHERE task_name = 'failed'",
    ],
    "a step that has its outcome waits no more": [
        "INSERT INTO checkpoints SELECT task_id, 's', '1', NULL, '2026' FROM tasks WHERE task_name = 'waiting'",
    ],
    "every run and checkpoint belongs to a task": [
        "INSERT INTO checkpoints VALUES ('ghost', 's', '1', NULL, '2026')",
        "INSERT INTO runs (run_id, task_id, attempt, state, available_at) "
        "VALUES ('r', 'ghost', 1, 'cancelled', '2026')",
    ],
}


@pytest.mark.parametrize(
    ("rule", "statement"), [(rule, each) for rule, found in BREACHES.items() for each in found]
)
def test_check_finds_what_no_constraint_can_see(
    store: sqlite3.Connection, path: Path, rule: str, statement: str
) -> None:
    store.execute(statement)
    engine = DurableEngine(path)
    findings = {finding.rule: finding.breaches for finding in engine.check()}
    engine.close()
    assert findings[rule]
