"""Events and waits: a step parks its run until a named event or its deadline, and either outcome becomes its checkpoint.

A wait belongs to the task's step, not to an attempt. Its deadline is set once, when the step first waits; a retry moves
the row to the new run. The row goes when the step's outcome is checkpointed or the task ends, and counts as waiting only
while its run sleeps on its event.

An event emitted at or before the deadline wins, one emitted after it loses, whoever looks when: emitting wakes only runs
whose deadline has not passed, and a resumed step compares the event's time with its own deadline. A payload of None and a
timeout are told apart in the checkpoint: JSON null against SQL NULL.

Emitting wakes a bounded number of waiters in its own transaction. If there are more, it leaves a note in the state
namespace `dura.wakes`; the emitter goes on in short transactions, and, should it die, every claim does too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from dura.clock import FOREVER, later
from dura.errors import ActionRefused, InvalidValue, StepConflict
from dura.states import SleepCause, State
from dura.store.checkpoints import Stored, peek, write
from dura.store.settle import held
from dura.store.transaction import Transaction

SLEEP_EVENT: Final = "dura.sleep"
"""The reserved name on which durable sleeps wait; nothing emits it."""

_WAKE_BATCH: Final = 500
"""Waiters that one transaction wakes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """A step that wants to wait, and whose call it is."""

    run_id: str
    token: int | None
    task_id: str
    step: str
    event: str
    timeout_seconds: float | None


def wait(tx: Transaction, wanted: Wait) -> Stored | None:
    """The step's outcome if it has one; else None, and the run is parked.

    Raises:
        TaskNotFound, TaskCancelledError, LeaseLost, InvalidRunState: The caller may not park this run (`held`).
        StepConflict: The step already waits for another event.
    """
    run = held(tx, wanted.run_id, wanted.token)
    if run.task_id != wanted.task_id:
        raise InvalidValue(f"run {wanted.run_id} belongs to task {run.task_id}, not to {wanted.task_id}")
    known = peek(tx.connection, wanted.task_id, wanted.step)
    if known is not None:
        return known
    registered = tx.execute(
        "SELECT event_name, timeout_at FROM waits WHERE task_id = ? AND step_name = ?",
        (wanted.task_id, wanted.step),
    ).fetchone()
    if registered is not None and registered[0] != wanted.event:
        raise StepConflict(
            f"step {wanted.step!r} of task {wanted.task_id} waits for event {registered[0]!r}; it cannot also wait for "
            f"{wanted.event!r}. Give each wait a step name of its own."
        )
    if registered is not None:
        deadline = registered[1]
    else:
        deadline = None if wanted.timeout_seconds is None else later(tx.now, wanted.timeout_seconds)
    event = tx.execute(
        "SELECT payload, emitted_at FROM events WHERE event_name = ?", (wanted.event,)
    ).fetchone()
    if event is not None and (registered is None or deadline is None or event[1] <= deadline):
        return _resolve(tx, wanted, Stored("null" if event[0] is None else event[0]))
    if deadline is not None and (tx.now >= deadline or event is not None):
        return _resolve(tx, wanted, Stored("null" if wanted.event == SLEEP_EVENT else None))
    _park(tx, wanted, deadline)
    tx.moved(run.queue, run.name, State.RUNNING, State.SLEEPING)
    return None


def _resolve(tx: Transaction, wanted: Wait, outcome: Stored) -> Stored:
    write(tx, wanted.task_id, wanted.step, outcome.value, wanted.run_id)
    tx.execute("DELETE FROM waits WHERE task_id = ? AND step_name = ?", (wanted.task_id, wanted.step))
    return outcome


def _park(tx: Transaction, wanted: Wait, deadline: str | None) -> None:
    tx.execute(
        "INSERT INTO waits (run_id, step_name, task_id, event_name, timeout_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (task_id, step_name) DO NOTHING",
        (wanted.run_id, wanted.step, wanted.task_id, wanted.event, deadline),
    )
    cause = SleepCause.SLEEP if wanted.event == SLEEP_EVENT else SleepCause.EVENT
    tx.execute(
        "UPDATE runs SET state = 'sleeping', sleep_cause = ?, wake_event = ?, available_at = ?, claimed_by = NULL, "
        "claim_expires_at = NULL WHERE run_id = ?",
        (cause, wanted.event, deadline or FOREVER, wanted.run_id),
    )
    tx.execute("UPDATE tasks SET state = 'sleeping' WHERE task_id = ?", (wanted.task_id,))
    tx.announces += deadline is not None


@dataclass(frozen=True, slots=True)
class Emission:
    """What an emit, or a continuation of it, did."""

    first: bool
    woken: tuple[str, ...]
    """Ids of the tasks made pending."""
    more: bool
    """Whether waiters are left for `finish_wake`."""


def emit(tx: Transaction, name: str, payload: str, emitted_by: str | None) -> Emission:
    """Record the event unless it exists, and wake the first of its waiters."""
    written = tx.changes(
        "INSERT INTO events (event_name, payload, emitted_at, emitted_by) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (event_name) DO NOTHING",
        (name, payload, tx.now, emitted_by),
    )
    if not written:
        return Emission(first=False, woken=(), more=False)
    return _wake(tx, name, tx.now, after=0)


def finish_wake(tx: Transaction, name: str) -> Emission:
    """Wake the next of an emitted event's waiters."""
    note = tx.execute(
        "SELECT value FROM state WHERE namespace = 'dura.wakes' AND key = ?", (name,)
    ).fetchone()
    if note is None:
        return Emission(first=True, woken=(), more=False)
    emitted_at, after = json.loads(note[0])
    return _wake(tx, name, emitted_at, after=after)


def finish_wakes(tx: Transaction) -> bool:
    """Go on with an emit whose emitter may have died, if there is one. Returns whether there was."""
    note = tx.execute("SELECT key FROM state WHERE namespace = 'dura.wakes' LIMIT 1").fetchone()
    if note is not None:
        finish_wake(tx, note[0])
    return note is not None


def require_parked(tx: Transaction, run_id: str, name: str) -> None:
    """Refuse unless the run sleeps on the event and its deadline has not passed.

    Raises:
        ActionRefused: It does not.
    """
    row = tx.execute(
        """
        SELECT r.state, EXISTS (
            SELECT 1 FROM waits w WHERE w.run_id = r.run_id AND w.event_name = ?
            AND r.state = 'sleeping' AND r.wake_event = w.event_name AND (w.timeout_at IS NULL OR w.timeout_at >= ?))
        FROM runs r WHERE r.run_id = ?
        """,
        (name, tx.now, run_id),
    ).fetchone()
    if row is None:
        raise ActionRefused(
            f"cannot emit {name!r} to run {run_id}: there is no such run any more. Look again."
        )
    state, parked = row
    if not parked:
        raise ActionRefused(
            f"cannot emit {name!r} to run {run_id}: it is {state} and does not wait for that event any more. Look again.",
            present=state,
        )


def _wake(tx: Transaction, name: str, emitted_at: str, *, after: int) -> Emission:
    waiters = tx.execute(
        """
        SELECT w.rowid, w.run_id, w.task_id, w.timeout_at, r.state = 'sleeping' AND r.wake_event = w.event_name,
               r.queue, t.task_name
        FROM waits w INDEXED BY waits_event_name CROSS JOIN runs r ON r.run_id = w.run_id
        CROSS JOIN tasks t ON t.task_id = w.task_id
        WHERE w.event_name = ? AND w.rowid > ? ORDER BY w.rowid LIMIT ?
        """,
        (name, after, _WAKE_BATCH),
    ).fetchall()
    woken: dict[str, None] = {}
    for _, run_id, task_id, timeout_at, parked, queue, task_name in waiters:
        # A task may wait for one event in two steps; it is woken once.
        if parked and task_id not in woken and (timeout_at is None or timeout_at >= emitted_at):
            tx.execute(
                "UPDATE runs SET state = 'pending', available_at = ?, sleep_cause = NULL, wake_event = NULL "
                "WHERE run_id = ?",
                (tx.now, run_id),
            )
            tx.execute("UPDATE tasks SET state = 'pending' WHERE task_id = ?", (task_id,))
            tx.moved(queue, task_name, State.SLEEPING, State.PENDING)
            woken[task_id] = None
    more = len(waiters) == _WAKE_BATCH
    if more:
        tx.execute(
            "INSERT INTO state (namespace, key, value, updated_at) VALUES ('dura.wakes', ?, ?, ?) "
            "ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
            (name, json.dumps([emitted_at, waiters[-1][0]]), tx.now),
        )
    elif after:
        tx.execute("DELETE FROM state WHERE namespace = 'dura.wakes' AND key = ?", (name,))
    tx.announces += len(woken)
    return Emission(first=True, woken=tuple(woken), more=more)
