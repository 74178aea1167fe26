"""Claiming: one transaction that makes due what is due (`due`) and hands out the best pending runs.

    best pending  ──▶ running, with a lease and a claim token one higher than before

It is a range read of a partial index that LIMIT ends, so that a claim costs the same whatever else is parked in the store.
What is pending is claimable whatever its time says: a clock that steps back delays sleepers, never work that was already
due. Whether there is anything to do is asked by a read first (`anything_due`), so that an idle pool takes no write lock.

The best pending run is the one with the highest priority, then the earliest `available_at`, then the first inserted.
Queues are merged by taking the top of each. Workers that ask at once are served at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, NamedTuple

from dura.clock import later
from dura.states import State
from dura.store.due import Lookout, make_due
from dura.store.transaction import Transaction

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

    def lane(self) -> tuple[tuple[str, ...] | None, int | None]:
        """Claims of the same lane may be granted the same runs."""
        return self.queues, self.max_priority


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
        return bool(_best_pending(connection, claim, 1))
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


class Granted(NamedTuple):
    """A claim that was made: the run as it is now."""

    run_id: str
    task_id: str
    attempt: int
    name: str
    params: str
    """JSON, which the caller reads: outside the transaction, so that what cannot be read stops no other claim."""
    claim_token: int
    queue: str
    reclaims: int
    deferrals: int
    fresh: bool
    """Whether none of the task's steps has finished or waits."""


def claim(tx: Transaction, claims: Sequence[Claim], lookout: Lookout) -> tuple[list[Granted | None], bool]:
    """Claim a run for each who asks, the best first, having made due what is due.

    Returns:
        The claims, None where there is no run; and whether more may be due than one call makes pending.
    """
    looked, more = lookout.is_due(tx.now), False
    if looked:
        more = make_due(tx, lookout)
    granted = claim_pending(tx, claims)
    if not looked and None in granted:
        more = make_due(tx, lookout)
        late = [place for place, run in enumerate(granted) if run is None]
        for place, run in zip(late, claim_pending(tx, [claims[place] for place in late]), strict=True):
            granted[place] = run
    return granted, more


def claim_pending(tx: Transaction, claims: Sequence[Claim]) -> list[Granted | None]:
    """Claim a run that is pending already for each who asks, the best first."""
    if len(claims) == 1:
        return [*_take(tx, claims)] or [None]
    granted: list[Granted | None] = [None] * len(claims)
    for places in _places(claims):
        for place, run in zip(places, _take(tx, [claims[place] for place in places]), strict=False):
            granted[place] = run
    return granted


def _places(claims: Sequence[Claim]) -> Collection[Sequence[int]]:
    """The places of the claims, those together that may be granted the same runs."""
    places: dict[tuple[tuple[str, ...] | None, int | None], list[int]] = {}
    for place, wanted in enumerate(claims):
        places.setdefault(wanted.lane(), []).append(place)
    return places.values()


def _take(tx: Transaction, claims: Sequence[Claim]) -> list[Granted]:
    """Claim the best pending runs for those who may have the same ones, as far as there are any."""
    now, run_rows, task_rows, granted = tx.now, [], [], []
    best = _best_pending(tx.connection, claims[0], len(claims))
    seconds, ends = 0.0, ""
    for wanted, row in zip(claims, best, strict=False):
        if seconds != wanted.lease_seconds:
            seconds = wanted.lease_seconds
            ends = later(now, seconds)
        granted.append(run := Granted._make(row[2:_PLACE]))
        run_rows.append((wanted.worker_id, ends, now, row[0]))
        task_rows.append((now, row[1]))
        tx.moved(run.queue, run.name, State.PENDING, State.RUNNING)
    if granted:
        tx.executemany(
            """
            UPDATE runs SET state = 'running', claimed_by = ?, claim_expires_at = ?, claim_token = claim_token + 1,
                            started_at = COALESCE(started_at, ?)
            WHERE rowid = ?
            """,
            run_rows,
        )
        tx.executemany(
            "UPDATE tasks SET state = 'running', first_started_at = COALESCE(first_started_at, ?) WHERE rowid = ?",
            task_rows,
        )
    return granted


def _pending(place: str, which: str, order: str) -> str:
    """The statement that reads pending runs: their rowids, those of their tasks, what is granted with them, and their place."""
    return f"""
        SELECT r.rowid, t.rowid, r.run_id, r.task_id, r.attempt, t.task_name, t.params, r.claim_token + 1,
               r.queue, r.reclaims, r.deferrals,
               NOT EXISTS (SELECT 1 FROM checkpoints WHERE task_id = r.task_id)
               AND NOT EXISTS (SELECT 1 FROM waits WHERE task_id = r.task_id),
               {place}
        FROM runs r INDEXED BY runs_pending CROSS JOIN tasks t ON t.task_id = r.task_id
        WHERE r.state = 'pending' AND {which} ORDER BY {order} r.priority DESC, r.available_at, r.rowid LIMIT ?
        """  # noqa: S608 - of constants, below


_OF_THE_FIRST_QUEUE: Final = _pending(
    "r.queue = (SELECT max(queue) FROM runs INDEXED BY runs_pending WHERE state = 'pending')",
    "r.queue >= ''",
    "r.queue,",
)
"""The place: whether the queue is the last one too, so that all is told."""

_OF_A_QUEUE: Final = _pending("-r.priority, r.available_at, r.rowid", "r.queue = ? AND r.priority <= ?", "")

_PLACE: Final = 2 + len(Granted._fields)
"""From which column on a row tells its place."""


def _best_pending(connection: sqlite3.Connection, wanted: Claim, count: int) -> list[tuple[Any, ...]]:
    """The best pending runs that the claim may have; see `_pending`."""
    if wanted.queues is None and wanted.max_priority is None:
        first = connection.execute(_OF_THE_FIRST_QUEUE, (count,)).fetchall()
        if not first or first[0][_PLACE]:
            return first
    queues = _pending_queues(connection) if wanted.queues is None else wanted.queues
    ceiling = _NO_CEILING if wanted.max_priority is None else wanted.max_priority
    best: list[tuple[Any, ...]] = []
    for queue in queues:
        best += connection.execute(_OF_A_QUEUE, (queue, ceiling, count))
    return best if len(queues) == 1 else sorted(best, key=itemgetter(slice(_PLACE, None)))[:count]


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
        (following,) = connection.execute(
            "SELECT min(queue) FROM runs INDEXED BY runs_pending WHERE state = 'pending' AND queue > ?",
            queues[-1:],
        ).fetchone()
        if following is None:
            break  # a look beside the writers: the last queue has been emptied since
        queues.append(following)
    return queues
