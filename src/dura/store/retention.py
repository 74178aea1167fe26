"""Retention: old terminal tasks and events go.

They go in transactions so short that no writer notices (`dura.engine.pace` says how much each may take), a statement a
table, and the pages they held go back to the file system a few at a time. Never VACUUM: it rewrites the whole file under
the write lock.

A task goes once it has been terminal for longer than the retention, with what belongs to it. Where that is very much, the
task itself goes first, so that nobody sees or requeues what is half gone; a note in the state namespace `dura.removals`
names it until the rest is gone too. Whoever cleans up next goes on from the note.

    whole task ──remove_tasks──▶ nothing, or a note and up to so many rows ──remove_rest──▶ nothing

An event goes once it is older than the retention *and* than every live task, and no wait names it: what a task may still
ask for is kept.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Final

from dura.states import TERMINAL
from dura.store.transaction import Transaction

_BELONGINGS: Final = ("checkpoints", "runs")

_MOST_BELONGINGS: Final = 1_000
"""Rows of each of them that go in one transaction with their tasks."""

_MOST_PAGES: Final = 64
"""Free pages that go back in one transaction: one whose place a page in use has to take costs ten times as much."""

_MOST_COPIES: Final = 4
"""Attempts to copy the log to its end while others write to it."""


OLDEST_LIVE: Final = """
    WITH RECURSIVE names (name) AS (
        SELECT min(task_name) FROM tasks INDEXED BY tasks_live WHERE terminal_at IS NULL
        UNION ALL
        SELECT (SELECT min(task_name) FROM tasks INDEXED BY tasks_live
                WHERE terminal_at IS NULL AND task_name > names.name)
        FROM names WHERE names.name IS NOT NULL
    )
    SELECT min((SELECT min(enqueue_at) FROM tasks INDEXED BY tasks_live
                WHERE terminal_at IS NULL AND task_name = names.name))
    FROM names WHERE names.name IS NOT NULL
"""
"""When the oldest live task was spawned, NULL if there is none: a walk from name to name along the index."""


def remove_tasks(tx: Transaction, most: int, *, cutoff: str) -> int:
    """Remove up to `most` tasks that became terminal before `cutoff`, the oldest first.

    Returns:
        How many; none: no more.
    """
    ended = _ended(tx, cutoff, most)
    if not ended:
        return 0
    chosen = json.dumps(ended)
    tx.execute("DELETE FROM waits WHERE task_id IN (SELECT value FROM json_each(?))", (chosen,))
    for table in _BELONGINGS:
        if _remove_of(tx, table, chosen, _MOST_BELONGINGS) == _MOST_BELONGINGS:
            _note_rest(tx, table, chosen)
    # Not those that were found: a damaged index finds rows that cannot be removed, again and again.
    removed = tx.execute(
        """
        DELETE FROM tasks WHERE task_id IN (SELECT value FROM json_each(?)) RETURNING queue, task_name, state
        """,
        (chosen,),
    ).fetchall()
    for queue, name, state in removed:
        tx.moved(queue, name, state, None)
    return len(removed)


def _ended(tx: Transaction, cutoff: str, most: int) -> list[str]:
    """Ids of tasks that became terminal before `cutoff`, the oldest first."""
    ended: list[str] = []
    for state in TERMINAL:
        found = tx.execute(
            """
            SELECT task_id FROM tasks INDEXED BY tasks_terminal
            WHERE state = ? AND state IN ('completed', 'failed', 'cancelled') AND terminal_at < ?
            ORDER BY terminal_at LIMIT ?
            """,
            (state, cutoff, most - len(ended)),
        )
        ended += [task_id for (task_id,) in found]
    return ended


def _remove_of(tx: Transaction, table: str, chosen: str, most: int) -> int:
    """Remove up to `most` rows of the table that belong to the chosen tasks (a JSON list of ids)."""
    return tx.changes(
        f"""
        DELETE FROM {table} WHERE rowid IN (
            SELECT own.rowid FROM json_each(?) pick CROSS JOIN {table} own ON own.task_id = pick.value LIMIT ?)
        """,  # noqa: S608 - constants
        (chosen, most),
    )


def _note_rest(tx: Transaction, table: str, chosen: str) -> None:
    tx.execute(
        f"""
        INSERT INTO state (namespace, key, value, updated_at)
        SELECT 'dura.removals', pick.value, 'true', ? FROM json_each(?) pick
        WHERE EXISTS (SELECT 1 FROM {table} own WHERE own.task_id = pick.value)
        ON CONFLICT (namespace, key) DO NOTHING
        """,  # noqa: S608 - constants
        (tx.now, chosen),
    )


def remove_rest(tx: Transaction, most: int) -> int:
    """Remove up to `most` rows of what a noted task has left, and the note with the last.

    Returns:
        How many; none: no more.
    """
    row = tx.execute("SELECT key FROM state WHERE namespace = 'dura.removals' LIMIT 1").fetchone()
    if row is None:
        return 0
    removed = 0
    for table in _BELONGINGS:
        removed += _remove_of(tx, table, json.dumps(row), most - removed)
    if removed < most:
        removed += tx.changes("DELETE FROM state WHERE namespace = 'dura.removals' AND key = ?", row)
    return removed


def needless_before(connection: sqlite3.Connection, cutoff: str) -> str:
    """Before when an event must have been emitted so that neither the retention nor a live task keeps it.

    Asked without the write lock. A task that is requeued meanwhile comes as late as one that is requeued afterwards.
    """
    row = connection.execute(OLDEST_LIVE).fetchone()
    return cutoff if row[0] is None else min(cutoff, row[0])


def remove_events(tx: Transaction, most: int, *, before: str) -> int:
    """Remove up to `most` events emitted before then that no wait names. Returns how many; none: no more."""
    return tx.changes(
        """
        DELETE FROM events WHERE event_name IN (
            SELECT event_name FROM events INDEXED BY events_emitted WHERE emitted_at < ?
            AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.event_name = events.event_name)
            AND NOT EXISTS (SELECT 1 FROM state s WHERE s.namespace = 'dura.wakes' AND s.key = events.event_name)
            ORDER BY emitted_at LIMIT ?)
        """,
        (before, most),
    )


def free_pages(tx: Transaction, most: int) -> int:
    """Give up to `most` free pages back to the file system. Returns how many; none: no more, or an upgraded file."""
    if tx.execute("PRAGMA auto_vacuum").fetchone()[0] != 2:
        return 0
    free = _free(tx)
    for _ in range(min(free, most, _MOST_PAGES)):
        # One at a time: the older of the Pythons in use take the first of several only.
        tx.execute("PRAGMA incremental_vacuum(1)").fetchall()
    return free - _free(tx)


def _free(tx: Transaction) -> int:
    return int(tx.execute("PRAGMA freelist_count").fetchone()[0])


def empty_log(connection: sqlite3.Connection) -> None:
    """Copy the write-ahead log into the file, outside any transaction, so that no writer has to at its commit.

    Again for what others have written meanwhile: only a log that is copied to its end begins anew.
    """
    copied = -1
    for _ in range(_MOST_COPIES):
        _, length, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if length == copied:
            return
        copied = length
