"""Making due: runs whose leases have run out and sleepers whose time has come become pending.

    expired lease ──▶ pending (same attempt, reclaims + 1), or failed once reclaims exceed max_reclaims
    due sleeper   ──▶ pending

Both are range reads of a partial index that LIMIT ends. While there is pending work, they are done every 50 ms only, by
which a due sleeper of a higher priority may be passed over.
"""

from __future__ import annotations

import json
from typing import Final

from dura.clock import later
from dura.states import State
from dura.store.events import finish_wakes
from dura.store.settle import Held, fail_held
from dura.store.transaction import Transaction

_BATCH: Final = 200
"""Expired leases and due sleepers that are made pending at once, each."""

_LOOKOUT_SECONDS: Final = 0.05
"""While there is pending work, expired leases and due sleepers are looked after this often, in seconds."""


class Lookout:
    """When expired leases and due sleepers were last looked after, so that a busy pool need not at every claim."""

    def __init__(self) -> None:
        self._last = self._next = ""

    def is_due(self, now: str) -> bool:
        """Whether it is time again, or the clock has stepped back."""
        return not self._last <= now < self._next

    def note(self, now: str) -> None:
        """Note that it was done."""
        self._last, self._next = now, later(now, _LOOKOUT_SECONDS)


def make_due(tx: Transaction, lookout: Lookout) -> bool:
    """Reclaim, promote, and finish the wakes of emitters that died. Returns whether more of it may be left to do."""
    reclaimed, promoted = reclaim_expired(tx), promote_due(tx)
    woken = finish_wakes(tx)
    lookout.note(tx.now)
    return reclaimed == _BATCH or promoted == _BATCH or woken


def reclaim_expired(tx: Transaction) -> int:
    """Take back runs whose leases have run out, earliest first; fail those that have been taken back too often.

    Returns how many.
    """
    expired = tx.execute(
        """
        SELECT r.run_id, r.task_id, r.attempt, r.priority, r.queue, r.deferrals, t.task_name, r.reclaims,
               r.claimed_by, t.max_reclaims
        FROM runs r INDEXED BY runs_running JOIN tasks t ON t.task_id = r.task_id
        WHERE r.state = 'running' AND r.claim_expires_at <= ? ORDER BY r.claim_expires_at LIMIT ?
        """,
        (tx.now, _BATCH),
    ).fetchall()
    tx.disturbs |= bool(expired)
    for *facts, reclaims, worker, max_reclaims in expired:
        run = Held(*facts)
        tx.execute("UPDATE runs SET reclaims = reclaims + 1 WHERE run_id = ?", (run.run_id,))
        if max_reclaims is not None and reclaims >= max_reclaims:
            fail_held(tx, run, _poison_reason(reclaims + 1, max_reclaims, worker), retryable=False)
        else:
            _make_pending(tx, run.run_id, run.task_id)
            tx.moved(run.queue, run.name, State.RUNNING, State.PENDING)
    return len(expired)


def promote_due(tx: Transaction) -> int:
    """Make sleepers pending that are due, earliest first. Returns how many."""
    due = tx.execute(
        """
        SELECT r.run_id, r.task_id, r.queue, t.task_name
        FROM runs r INDEXED BY runs_sleeping CROSS JOIN tasks t ON t.task_id = r.task_id
        WHERE r.state = 'sleeping' AND r.available_at <= ? ORDER BY r.available_at LIMIT ?
        """,
        (tx.now, _BATCH),
    ).fetchall()
    for run_id, task_id, queue, name in due:
        _make_pending(tx, run_id, task_id)
        tx.moved(queue, name, State.SLEEPING, State.PENDING)
    return len(due)


def _make_pending(tx: Transaction, run_id: str, task_id: str) -> None:
    tx.execute(
        "UPDATE runs SET state = 'pending', sleep_cause = NULL, wake_event = NULL, claimed_by = NULL, "
        "claim_expires_at = NULL WHERE run_id = ?",
        (run_id,),
    )
    tx.execute("UPDATE tasks SET state = 'pending' WHERE task_id = ?", (task_id,))
    tx.announces += 1


def _poison_reason(reclaims: int, max_reclaims: int, worker: str) -> str:
    return json.dumps(
        {
            "type": "PoisonRun",
            "message": f"the lease of this attempt ran out {reclaims} time(s), more than max_reclaims={max_reclaims} "
            f"allows; the last worker to hold it was {worker}. Its process was killed or hung each time: look for "
            "out-of-memory kills and crashes there, then requeue the task.",
        }
    )
