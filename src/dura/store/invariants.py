"""What is true of every store between transactions, as queries that find the exceptions.

New files also carry the row-wise ones as CHECKs; upgraded 1.3.0 files cannot, so `dura check` and the tests ask these of
both kinds.
"""

from __future__ import annotations

import sqlite3
from typing import Final

_EXCEPTIONS: Final = {
    "every task has the state of its latest run": """
        SELECT t.task_id FROM tasks t LEFT JOIN runs r ON r.run_id = t.last_attempt_run
        WHERE r.run_id IS NULL OR r.state != t.state""",
    "the latest run is the one with the highest attempt": """
        SELECT t.task_id FROM tasks t JOIN runs r ON r.run_id = t.last_attempt_run
        WHERE t.attempts != r.attempt
           OR EXISTS (SELECT 1 FROM runs o WHERE o.task_id = t.task_id AND o.attempt > r.attempt)""",
    "only a task's latest run is live": """
        SELECT r.run_id FROM runs r LEFT JOIN tasks t ON t.task_id = r.task_id
        WHERE r.state IN ('pending', 'running', 'sleeping') AND (t.task_id IS NULL OR t.last_attempt_run != r.run_id)""",
    "a task has an end exactly when it is terminal": """
        SELECT task_id FROM tasks WHERE (terminal_at IS NOT NULL) != (state IN ('completed', 'failed', 'cancelled'))""",
    "a completed task has a result": """
        SELECT task_id FROM tasks WHERE state = 'completed' AND completed_payload IS NULL""",
    "a state is one of the six": """
        SELECT task_id FROM tasks WHERE state NOT IN ('pending', 'running', 'sleeping', 'completed', 'failed', 'cancelled')
        UNION ALL
        SELECT run_id FROM runs WHERE state NOT IN ('pending', 'running', 'sleeping', 'completed', 'failed', 'cancelled')""",
    "a running run has a worker, a lease and a token": """
        SELECT run_id FROM runs WHERE state = 'running'
        AND (claimed_by IS NULL OR claim_expires_at IS NULL OR claim_token < 1 OR started_at IS NULL)""",
    "a run that does not run has no lease": """
        SELECT run_id FROM runs WHERE state IN ('pending', 'sleeping') AND claim_expires_at IS NOT NULL""",
    "a failed run says when and why": """
        SELECT run_id FROM runs WHERE state = 'failed' AND (failed_at IS NULL OR failure_reason IS NULL)""",
    "a run has an event exactly when it sleeps on one": """
        SELECT run_id FROM runs WHERE (wake_event IS NOT NULL) != (COALESCE(sleep_cause, '') IN ('event', 'sleep'))""",
    "attempts are counted from one": """
        SELECT task_id FROM tasks WHERE attempts < 1
        UNION ALL
        SELECT run_id FROM runs WHERE attempt < 1""",
    "a run has a sleep cause exactly when it sleeps": """
        SELECT run_id FROM runs WHERE (sleep_cause IS NOT NULL) != (state = 'sleeping')""",
    "every sleeping run has a due time or a live wait": """
        SELECT r.run_id FROM runs r WHERE r.state = 'sleeping' AND r.available_at >= '9999-12-31T23:59:59.999999+00:00' AND NOT EXISTS (
            SELECT 1 FROM waits w WHERE w.run_id = r.run_id AND w.event_name = r.wake_event)""",
    "no run sleeps on an event that was emitted in time": """
        SELECT r.run_id FROM waits w JOIN runs r ON r.run_id = w.run_id AND r.wake_event = w.event_name
        JOIN events e ON e.event_name = w.event_name
        WHERE r.state = 'sleeping' AND (w.timeout_at IS NULL OR e.emitted_at <= w.timeout_at)
          AND NOT EXISTS (SELECT 1 FROM state s WHERE s.namespace = 'dura.wakes' AND s.key = e.event_name)""",
    "every wait belongs to its task's latest run": """
        SELECT w.task_id || '/' || w.step_name FROM waits w LEFT JOIN tasks t ON t.task_id = w.task_id
        WHERE t.task_id IS NULL OR t.last_attempt_run != w.run_id""",
    "no wait outlives its task's end": """
        SELECT w.task_id || '/' || w.step_name FROM waits w JOIN tasks t ON t.task_id = w.task_id
        WHERE t.state IN ('completed', 'failed', 'cancelled')""",
    "a step that has its outcome waits no more": """
        SELECT w.task_id || '/' || w.step_name FROM waits w JOIN checkpoints c
        ON c.task_id = w.task_id AND c.checkpoint_name = w.step_name""",
    # Of a task with very many of them, cleanup removes the task first and notes it until the rest is gone too.
    "every run and checkpoint belongs to a task": """
        SELECT run_id FROM runs WHERE task_id NOT IN (SELECT task_id FROM tasks)
        AND task_id NOT IN (SELECT key FROM state WHERE namespace = 'dura.removals')
        UNION ALL
        SELECT DISTINCT task_id FROM checkpoints WHERE task_id NOT IN (SELECT task_id FROM tasks)
        AND task_id NOT IN (SELECT key FROM state WHERE namespace = 'dura.removals')""",
    "a task has used no more attempts than it was granted": """
        SELECT task_id FROM tasks WHERE attempts > max_attempts""",
}


def exceptions(connection: sqlite3.Connection) -> list[tuple[str, list[str]]]:
    """The invariants that do not hold, each with up to 20 of the ids that break it."""
    found = []
    for rule, query in _EXCEPTIONS.items():
        ids = [str(row[0]) for row in connection.execute(f"{query} LIMIT 20")]
        if ids:
            found.append((rule, ids))
    return found
