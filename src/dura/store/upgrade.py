"""From a dura 1.3.0 file to one of this version, in one transaction, with what that release left behind put right.

Columns are added with defaults, never CHECKs: an upgraded file keeps its tables as they are, and the same invariants are
asked as queries (`invariants`). Every repair is reported.
"""

from __future__ import annotations

import json
from typing import Final

from dura.store.counts import rebuild
from dura.store.reconcile import reconcile
from dura.store.scripts import statements
from dura.store.transaction import Transaction

_NEW_COLUMNS: Final = (
    "ALTER TABLE tasks ADD COLUMN queue TEXT NOT NULL DEFAULT 'default'",
    "ALTER TABLE tasks ADD COLUMN steps TEXT",
    "ALTER TABLE tasks ADD COLUMN max_reclaims INTEGER",
    "ALTER TABLE runs ADD COLUMN queue TEXT NOT NULL DEFAULT 'default'",
    "ALTER TABLE runs ADD COLUMN claim_token INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN reclaims INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN sleep_cause TEXT",
    "ALTER TABLE runs ADD COLUMN deferrals INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE events ADD COLUMN emitted_by TEXT",
)

_OLD_INDEXES: Final = ("runs_state_available", "tasks_state")
"""Indexes over everything, which no query needs now. `runs_claimable` stays: a 1.3.0 worker that is still running names
it, and must get as far as the fence, whose message tells its operator what to do."""

_REPAIRS: Final = (
    (
        "moved {n} state key(s) out of the namespaces that begin with 'dura.', which are the engine's own now: "
        "look under 'was.dura.'",
        "UPDATE state SET namespace = 'was.' || namespace WHERE namespace >= 'dura.' AND namespace < 'dura/'",
    ),
    (
        "renamed {n} event(s) that begin with 'dura.', which are the engine's own now: look for 'was.dura.'",
        "UPDATE events SET event_name = 'was.' || event_name WHERE event_name >= 'dura.' AND event_name < 'dura/'",
    ),
    (
        "removed {n} wait(s) for events that begin with 'dura.': rename them in the handlers, which run again",
        "DELETE FROM waits WHERE event_name >= 'dura.' AND event_name < 'dura/'",
    ),
    (
        "removed {n} run(s) of tasks that are gone",
        "DELETE FROM runs WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.task_id = runs.task_id)",
    ),
    (
        "removed {n} checkpoint(s) of tasks that are gone",
        "DELETE FROM checkpoints WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.task_id = checkpoints.task_id)",
    ),
    (
        "ended {n} task(s) that had come back to life after they were final",
        """UPDATE tasks SET state = CASE
               WHEN completed_payload IS NOT NULL THEN 'completed'
               WHEN EXISTS (SELECT 1 FROM runs r WHERE r.run_id = last_attempt_run AND r.failed_at IS NOT NULL) THEN 'failed'
               ELSE 'cancelled' END
           WHERE terminal_at IS NOT NULL AND state NOT IN ('completed', 'failed', 'cancelled')""",
    ),
    (
        "ended {n} run(s) of tasks that are final or at a later attempt",
        """UPDATE runs SET claimed_by = NULL, state = CASE
               WHEN completed_at IS NOT NULL THEN 'completed' WHEN failed_at IS NOT NULL THEN 'failed' ELSE 'cancelled' END
           WHERE state IN ('pending', 'running', 'sleeping') AND NOT EXISTS (
               SELECT 1 FROM tasks t WHERE t.task_id = runs.task_id AND t.last_attempt_run = runs.run_id
                                       AND t.state IN ('pending', 'running', 'sleeping'))""",
    ),
    (
        "removed {n} wait(s) of runs that have ended",
        """DELETE FROM waits WHERE NOT EXISTS (
               SELECT 1 FROM runs r WHERE r.run_id = waits.run_id AND r.state IN ('pending', 'running', 'sleeping'))""",
    ),
    (
        "removed {n} wait(s) of steps that have their outcome",
        """DELETE FROM waits WHERE EXISTS (
               SELECT 1 FROM checkpoints c WHERE c.task_id = waits.task_id AND c.checkpoint_name = waits.step_name)""",
    ),
    (
        "removed {n} second wait(s) of one step",
        "DELETE FROM waits WHERE rowid NOT IN (SELECT max(rowid) FROM waits GROUP BY task_id, step_name)",
    ),
    (
        "made {n} sleeping run(s) pending that nothing would have woken",
        """UPDATE runs SET state = 'pending'
            WHERE state = 'sleeping' AND (wake_event IS NOT NULL OR available_at >= '9999-12-31T23:59:59.999999+00:00')
              AND NOT EXISTS (
                SELECT 1 FROM waits w WHERE w.run_id = runs.run_id AND w.event_name = runs.wake_event)""",
    ),
    (
        "gave {n} run(s) without a lease back to the queue",
        """UPDATE runs SET state = 'pending', claimed_by = NULL
           WHERE state = 'running' AND (claim_expires_at IS NULL OR claimed_by IS NULL)""",
    ),
)
"""What 1.3.0 can leave behind, in the order in which it is put right: the report's line and the change."""

_OVERRUN: Final = (
    "raised max_attempts of {n} task(s) to what they have already used",
    "UPDATE tasks SET max_attempts = max(attempts, 1) WHERE max_attempts < attempts OR max_attempts < 1",
)

_DERIVED: Final = (
    "UPDATE runs SET event_payload = NULL WHERE event_payload IS NOT NULL",
    "UPDATE runs SET wake_event = NULL WHERE wake_event IS NOT NULL AND state != 'sleeping'",
    "UPDATE runs SET claim_expires_at = NULL WHERE claim_expires_at IS NOT NULL AND state != 'running'",
    # A claim that 1.3.0 made is the run's first: its holder knows no token, and the next claim hands out the second.
    "UPDATE runs SET claim_token = 1, started_at = COALESCE(started_at, available_at) WHERE state = 'running'",
    """UPDATE runs SET sleep_cause = CASE WHEN wake_event IS NOT NULL THEN 'event' WHEN attempt > 1 THEN 'backoff'
           ELSE 'delay' END WHERE state = 'sleeping'""",
    # 1.3.0 leaves a task `running` when it takes an expired lease back.
    """UPDATE tasks SET state = (SELECT r.state FROM runs r WHERE r.run_id = tasks.last_attempt_run)
       WHERE state IN ('pending', 'running', 'sleeping') AND EXISTS (
           SELECT 1 FROM runs r WHERE r.run_id = tasks.last_attempt_run AND r.state != tasks.state
           AND r.state IN ('pending', 'running', 'sleeping'))""",
)
"""What follows from the old columns and needs no report: a woken step finds its payload among the events."""


def upgrade_1_3_0(tx: Transaction) -> tuple[str, ...]:
    """Upgrade a 1.3.0 file inside the open transaction.

    Returns:
        The report: a line a repair, after a first line that names the upgrade itself.
    """
    for statement in _NEW_COLUMNS:
        tx.execute(statement)
    done = [(line, tx.changes(statement)) for line, statement in _REPAIRS]
    for statement in _DERIVED:
        tx.execute(statement)
    done.append(("made {n} task(s) agree with their latest run", reconcile(tx)))
    done.append((_OVERRUN[0], tx.changes(_OVERRUN[1])))
    report = ["upgraded the store from dura 1.3.0"]
    report += [line.format(n=count) for line, count in done if count]
    for index in _OLD_INDEXES:
        tx.execute(f"DROP INDEX IF EXISTS {index}")
    for statement in (*statements("indexes.sql"), *statements("triggers.sql")):
        tx.execute(statement)
    rebuild(tx)
    tx.execute(
        "INSERT INTO state (namespace, key, value, updated_at) VALUES ('dura.schema', 'upgrade', ?, ?)",
        (json.dumps({"from": "1.3.0", "report": report}), tx.now),
    )
    return tuple(report)
