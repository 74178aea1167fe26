"""Claiming: one transaction that makes due what is due and hands out the best pending run.

    expired lease ──▶ pending (same attempt, reclaims + 1), or failed once reclaims exceed max_reclaims
    due sleeper   ──▶ pending
    best pending  ──▶ running, with a lease and a claim token one higher than before

Each step is a range read of a partial index that LIMIT ends, so that a claim costs the same whatever else is parked in
the store. What is pending is claimable whatever its time says: a clock that steps back delays sleepers, never work that
was already due. Whether there is anything to do is asked by a read first (`anything_due`), so that an idle pool takes no
write lock.

The best pending run is the one with the highest priority, then the earliest `available_at`, then the first inserted.
Queues are merged by taking the top of each. While there is pending work, what is due is looked after every 50 ms only,
by which a due sleeper of a higher priority may be passed over.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dura.clock import later
from dura.errors import EngineError
from dura.records import ClaimedTask
from dura.store.connections import Transaction
from dura.store.events import finish_wakes
from dura.store.settle import NO_LONGER_HELD, Held, Settlement, fail_held, settle

_BATCH: Final = 200
"""Expired leases and due sleepers that one claim makes pending, each."""

_LOOKOUT_SECONDS: Final = 0.05
"""While there is pending work, expired leases and due sleepers are looked after this often, in seconds."""

_NO_CEILING: Final = 2**63 - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Who claims, for how long, and which runs may be had."""

    worker_id: str
    lease_seconds: float
    queues: tuple[str, ...] | None
    """None: any queue."""
    max_priority: int | None
    """None: any priority."""


def anything_due(connection: sqlite3.Connection, now: str, claim: Claim) -> bool:
    """Whether a claim would find something to do, by reads alone."""
    due = connection.execute(
        """
        SELECT EXISTS (SELECT 1 FROM runs WHERE state = 'running' AND claim_expires_at <= ?)
            OR EXISTS (SELECT 1 FROM runs WHERE state = 'sleeping' AND available_at <= ?)
            OR EXISTS (SELECT 1 FROM state WHERE namespace = 'dura.wakes')
        """,
        (now, now),
    ).fetchone()[0]
    return bool(due) or _anything_pending(connection, claim)


def _anything_pending(connection: sqlite3.Connection, claim: Claim) -> bool:
    if claim.queues is not None or claim.max_priority is not None:
        return _best_pending(connection, claim.queues, claim.max_priority) is not None
    found = connection.execute("SELECT EXISTS (SELECT 1 FROM runs WHERE state = 'pending')").fetchone()[0]
    return bool(found)


def next_due(connection: sqlite3.Connection) -> str | None:
    """When the next sleeper is due or the next lease runs out; None if there is neither."""
    row = connection.execute(
        """
        SELECT min(at) FROM (SELECT (SELECT min(claim_expires_at) FROM runs WHERE state = 'running') AS at
                             UNION ALL SELECT (SELECT min(available_at) FROM runs WHERE state = 'sleeping'))
        """
    ).fetchone()
    return row[0]  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Granted:
    """A claim that was made."""

    task: ClaimedTask
    """Without its params."""
    params: str
    """JSON, which the caller reads: outside the transaction, so that what cannot be read stops no other claim."""


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


def settle_and_claim(
    tx: Transaction, settlement: Settlement, wanted: Claim, lookout: Lookout
) -> tuple[EngineError | None, Granted | None]:
    """Settle a run and claim the next. A claim that was lost does not keep the next from being made: it is returned."""
    lost: EngineError | None = None
    try:
        settle(tx, settlement)
    except NO_LONGER_HELD as error:
        lost = error
    return lost, claim(tx, wanted, lookout)


def claim(tx: Transaction, wanted: Claim, lookout: Lookout) -> Granted | None:
    """Claim the best pending run, having made due what is due."""
    looked = lookout.is_due(tx.now)
    if looked:
        _make_due(tx, lookout)
    run_id = _best_pending(tx.connection, wanted.queues, wanted.max_priority)
    if run_id is None and not looked:
        _make_due(tx, lookout)
        run_id = _best_pending(tx.connection, wanted.queues, wanted.max_priority)
    if run_id is None:
        return None
    task_id, attempt, token, queue, reclaims, deferrals = tx.execute(
        """
        UPDATE runs SET state = 'running', claimed_by = ?, claim_expires_at = ?, claim_token = claim_token + 1,
                        started_at = COALESCE(started_at, ?)
        WHERE run_id = ? RETURNING task_id, attempt, claim_token, queue, reclaims, deferrals
        """,
        (wanted.worker_id, later(tx.now, wanted.lease_seconds), tx.now, run_id),
    ).fetchone()
    name, params = tx.execute(
        """
        UPDATE tasks SET state = 'running', first_started_at = COALESCE(first_started_at, ?)
        WHERE task_id = ? RETURNING task_name, params
        """,
        (tx.now, task_id),
    ).fetchone()
    task = ClaimedTask(
        run_id=run_id, task_id=task_id, attempt=attempt, name=name, params=None, claim_token=token,
        queue=queue, reclaims=reclaims, deferrals=deferrals,
    )  # fmt: skip
    return Granted(task, params)


def _make_due(tx: Transaction, lookout: Lookout) -> None:
    reclaim_expired(tx)
    promote_due(tx)
    finish_wakes(tx)
    lookout.note(tx.now)


def reclaim_expired(tx: Transaction) -> None:
    """Take back runs whose leases have run out, earliest first; fail those that have been taken back too often."""
    expired = tx.execute(
        """
        SELECT r.run_id, r.task_id, r.attempt, r.priority, r.queue, r.deferrals, r.reclaims, r.claimed_by,
               t.max_reclaims
        FROM runs r INDEXED BY runs_running JOIN tasks t ON t.task_id = r.task_id
        WHERE r.state = 'running' AND r.claim_expires_at <= ? ORDER BY r.claim_expires_at LIMIT ?
        """,
        (tx.now, _BATCH),
    ).fetchall()
    for *facts, reclaims, worker, max_reclaims in expired:
        run = Held(*facts)
        tx.execute("UPDATE runs SET reclaims = reclaims + 1 WHERE run_id = ?", (run.run_id,))
        if max_reclaims is not None and reclaims >= max_reclaims:
            fail_held(tx, run, _poison_reason(reclaims + 1, max_reclaims, worker), retryable=False)
        else:
            _make_pending(tx, run.run_id, run.task_id)


def promote_due(tx: Transaction) -> None:
    """Make sleepers pending that are due, earliest first."""
    due = tx.execute(
        """
        SELECT run_id, task_id FROM runs INDEXED BY runs_sleeping
        WHERE state = 'sleeping' AND available_at <= ? ORDER BY available_at LIMIT ?
        """,
        (tx.now, _BATCH),
    ).fetchall()
    for run_id, task_id in due:
        _make_pending(tx, run_id, task_id)


def _make_pending(tx: Transaction, run_id: str, task_id: str) -> None:
    tx.execute(
        "UPDATE runs SET state = 'pending', sleep_cause = NULL, wake_event = NULL, claimed_by = NULL, "
        "claim_expires_at = NULL WHERE run_id = ?",
        (run_id,),
    )
    tx.execute("UPDATE tasks SET state = 'pending' WHERE task_id = ?", (task_id,))
    tx.announces = True


def _best_pending(
    connection: sqlite3.Connection, queues: Sequence[str] | None, max_priority: int | None
) -> str | None:
    ceiling = _NO_CEILING if max_priority is None else max_priority
    tops = []
    for queue in _pending_queues(connection) if queues is None else queues:
        top = connection.execute(
            """
            SELECT -priority, available_at, rowid, run_id FROM runs INDEXED BY runs_pending
            WHERE state = 'pending' AND queue = ? AND priority <= ?
            ORDER BY priority DESC, available_at, rowid LIMIT 1
            """,
            (queue, ceiling),
        ).fetchone()
        if top is not None:
            tops.append(top)
    return min(tops)[3] if tops else None


def _pending_queues(connection: sqlite3.Connection) -> list[str]:
    """The queues that have pending runs, found by skipping from one to the next in the index."""
    first, last = connection.execute(
        """
        SELECT (SELECT min(queue) FROM runs INDEXED BY runs_pending WHERE state = 'pending'),
               (SELECT max(queue) FROM runs INDEXED BY runs_pending WHERE state = 'pending')
        """
    ).fetchone()
    queues = [] if first is None else [first]
    while queues and queues[-1] != last:
        queues += connection.execute(
            "SELECT min(queue) FROM runs INDEXED BY runs_pending WHERE state = 'pending' AND queue > ?",
            queues[-1:],
        ).fetchone()
    return queues


def _poison_reason(reclaims: int, max_reclaims: int, worker: str) -> str:
    return json.dumps(
        {
            "type": "PoisonRun",
            "message": f"the lease of this attempt ran out {reclaims} time(s), more than max_reclaims={max_reclaims} "
            f"allows; the last worker to hold it was {worker}. Its process was killed or hung each time: look for "
            "out-of-memory kills and crashes there, then requeue the task.",
        }
    )
