"""Retention: old terminal tasks and events go.

They go in transactions so short that no writer notices, and the pages they held go back to the file system a few at a
time. Never VACUUM: it rewrites the whole file under the write lock.

A task goes once it has been terminal for longer than the retention. An event goes once it is older than the retention
*and* than every live task, and no wait names it: what a task may still ask for is kept.
"""

from __future__ import annotations

from typing import Final

from dura.states import TERMINAL
from dura.store.connections import Transaction

TASKS_A_BATCH: Final = 100
"""Tasks that one transaction removes with all that belongs to them."""

_EVENTS_A_BATCH: Final = 500

_PAGES_A_BATCH: Final = 256
"""Free pages that one transaction gives back."""

_REMOVALS: Final = (
    "DELETE FROM waits WHERE task_id = ?",
    "DELETE FROM checkpoints WHERE task_id = ?",
    "DELETE FROM runs WHERE task_id = ?",
    "DELETE FROM tasks WHERE task_id = ?",
)


def remove_tasks(tx: Transaction, cutoff: str) -> int:
    """Remove a batch of tasks that became terminal before `cutoff`. Returns how many; none: no more."""
    ids: list[tuple[str]] = []
    for state in TERMINAL:
        ids += tx.execute(
            """
            SELECT task_id FROM tasks INDEXED BY tasks_terminal
            WHERE state = ? AND state IN ('completed', 'failed', 'cancelled') AND terminal_at < ?
            ORDER BY terminal_at LIMIT ?
            """,
            (state, cutoff, TASKS_A_BATCH - len(ids)),
        ).fetchall()
    removed = 0
    for statement in _REMOVALS:
        removed = tx.connection.executemany(statement, ids).rowcount
    # Not how many were found: a damaged index finds rows that cannot be removed, again and again.
    return removed


def remove_events(tx: Transaction, cutoff: str) -> int:
    """Remove a batch of events that nobody can need any more. Returns how many."""
    oldest_live = _oldest_live_task(tx)
    if oldest_live is not None:
        cutoff = min(cutoff, oldest_live)
    return tx.changes(
        """
        DELETE FROM events WHERE event_name IN (
            SELECT event_name FROM events INDEXED BY events_emitted WHERE emitted_at < ?
            AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.event_name = events.event_name)
            AND NOT EXISTS (SELECT 1 FROM state s WHERE s.namespace = 'dura.wakes' AND s.key = events.event_name)
            ORDER BY emitted_at LIMIT ?)
        """,
        (cutoff, _EVENTS_A_BATCH),
    )


def _oldest_live_task(tx: Transaction) -> str | None:
    """When the oldest live task was spawned, skipping from name to name in the index."""
    row = tx.execute(
        """
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
    ).fetchone()
    return row[0]  # type: ignore[no-any-return]


def free_pages(tx: Transaction) -> bool:
    """Give a batch of free pages back to the file system. Returns whether there are more (never on upgraded files)."""
    tx.execute(f"PRAGMA incremental_vacuum({_PAGES_A_BATCH})").fetchall()
    incremental = tx.execute("PRAGMA auto_vacuum").fetchone()[0] == 2
    return incremental and bool(tx.execute("PRAGMA freelist_count").fetchone()[0])
