"""What the engine has written, read back from the file into the model's own objects."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from datetime import datetime

from model.rows import NEVER, TIMED_OUT, Checkpoint, Event, Run, Store, Task, Value, Wait

_NEVER = "9999-12-31T23:59:59.999999+00:00"


def read(connection: sqlite3.Connection) -> Store:
    """The whole store, seen in one transaction. Nothing in it may be without a home: a row of no task is an error."""
    connection.execute("BEGIN")
    try:
        return _read(connection)
    finally:
        connection.execute("ROLLBACK")


def _read(connection: sqlite3.Connection) -> Store:
    tasks: dict[str, Task] = {}
    for row in connection.execute(
        """
        SELECT rowid, task_id, task_name, params, queue, enqueue_at, idempotency_key, retry_strategy, max_attempts,
               max_reclaims, steps, first_started_at, terminal_at, completed_payload FROM tasks ORDER BY rowid
        """
    ):
        (
            born,
            task_id,
            name,
            params,
            queue,
            spawned_at,
            key,
            retry,
            most,
            reclaims,
            steps,
            started,
            ended,
            result,
        ) = row
        tasks[task_id] = Task(
            task_id=task_id, name=name, params=params, queue=queue, spawned_at=_at(spawned_at), born=born, key=key,
            retry=json.loads(retry) if retry else None, max_attempts=most, max_reclaims=reclaims,
            steps=json.loads(steps) if steps else None, started_at=_maybe(started), ended_at=_maybe(ended), result=result,
        )  # fmt: skip
    for row in connection.execute(
        """
        SELECT task_id, attempt, rowid, priority, queue, state, available_at, run_id, claim_token, reclaims, deferrals,
               claimed_by, claim_expires_at, started_at, completed_at, failed_at, result, failure_reason, sleep_cause,
               wake_event FROM runs ORDER BY attempt
        """
    ):
        (
            task_id,
            attempt,
            born,
            priority,
            queue,
            state,
            due,
            run_id,
            token,
            reclaims,
            deferrals,
            worker,
            *rest,
        ) = row
        lease_ends, started, completed, failed, result, reason, cause, event = rest
        tasks[task_id].runs.append(
            Run(
                attempt=attempt, born=born, priority=priority, queue=queue, state=state, run_id=run_id, token=token,
                available_at=NEVER if due == _NEVER else _at(due), reclaims=reclaims, deferrals=deferrals,
                worker=worker, lease_ends=_maybe(lease_ends), started_at=_maybe(started), result=result,
                completed_at=_maybe(completed), failed_at=_maybe(failed), reason=_reason(reason), cause=cause, event=event,
            )
        )  # fmt: skip
    for task_id, step, value, run_id, at in connection.execute(
        "SELECT task_id, checkpoint_name, state, owner_run_id, updated_at FROM checkpoints ORDER BY rowid"
    ):
        outcome = TIMED_OUT if value is None else value
        tasks[task_id].checkpoints[step] = Checkpoint(outcome, run_id, _at(at))
    for task_id, run_id, step, event, deadline, born in connection.execute(
        "SELECT task_id, run_id, step_name, event_name, timeout_at, rowid FROM waits ORDER BY rowid"
    ):
        assert run_id == tasks[task_id].latest.run_id, f"the wait of step {step} is not the latest run's"
        tasks[task_id].waits[step] = Wait(event, _maybe(deadline), born)
    events = {
        name: Event("null" if payload is None else payload, _at(at), by, born)
        for name, payload, at, by, born in connection.execute(
            "SELECT event_name, payload, emitted_at, emitted_by, rowid FROM events"
        )
    }
    memory, audit = _memory(connection)
    store = Store(tasks=tasks, events=events, memory=memory, audit=audit)
    _check_mirror(connection, store)
    return store


def _memory(connection: sqlite3.Connection) -> tuple[dict[tuple[str, str], Value], list[dict[str, object]]]:
    memory: dict[tuple[str, str], Value] = {}
    audit: list[dict[str, object]] = []
    for namespace, key, value, at in connection.execute(
        "SELECT namespace, key, value, updated_at FROM state ORDER BY namespace, key"
    ):
        if namespace == "dura.audit":
            entry = json.loads(value)
            audit.append({**entry, "at": _at(entry["at"]), "run": entry.pop("run_id")})
            del audit[-1]["run_id"]
        elif not namespace.startswith("dura."):
            memory[namespace, key] = Value(value, _at(at))
    return memory, audit


def _check_mirror(connection: sqlite3.Connection, store: Store) -> None:
    """What the file says twice agrees: a task's latest run, attempts and state, and the counters."""
    for task_id, latest, attempts, state in connection.execute(
        "SELECT task_id, last_attempt_run, attempts, state FROM tasks"
    ):
        run = store.tasks[task_id].latest
        assert (latest, attempts, state) == (run.run_id, run.attempt, run.state), (
            f"task {task_id} and its run disagree"
        )
    counted = {
        tuple(json.loads(key)): int(value)
        for key, value in connection.execute(
            "SELECT key, value FROM state WHERE namespace = 'dura.counts' AND value != '0'"
        )
    }
    found = Counter((task.queue, task.name, task.state) for task in store.tasks.values())
    assert counted == found, f"the counters say {counted}, there are {found}"
    assert connection.execute("SELECT key FROM state WHERE namespace = 'dura.wakes'").fetchall() == []


def _at(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    assert moment.isoformat(timespec="microseconds") == text, f"{text} is not in the store's format"
    return moment


def _maybe(text: str | None) -> datetime | None:
    return None if text is None else _at(text)


def _reason(text: str | None) -> str | None:
    """A failure's reason; of a poison run's, whose words are the engine's, only its type."""
    if text is not None and '"PoisonRun"' in text:
        return json.dumps(json.loads(text)["type"])
    return text
