"""Making a task and its runs agree, where dura 1.3.0 let them part: the latest run is the one that counts.

That release let a holder whose claim was lost settle or park the run of an earlier attempt, and so a task can end up with
a latest run that is not its highest attempt, or that is in another state than the task.
"""

from __future__ import annotations

from dataclasses import dataclass

from dura.ids import new_id
from dura.states import LIVE, State
from dura.store.transaction import Transaction

_DISAGREEING = """
    SELECT t.task_id, t.state FROM tasks t LEFT JOIN runs r ON r.run_id = t.last_attempt_run
    WHERE r.run_id IS NULL OR r.state != t.state OR r.attempt != t.attempts OR EXISTS (
        SELECT 1 FROM runs o WHERE o.task_id = t.task_id AND o.run_id != r.run_id AND o.attempt >= r.attempt)
"""


@dataclass(frozen=True, slots=True)
class _Run:
    run_id: str
    attempt: int
    state: str
    completed: bool


def reconcile(tx: Transaction) -> int:
    """Make every task agree with its latest run. Returns how many did not.

    A final task keeps its state, and the run that brought it there counts as its latest. A live task goes on with the run
    that can, or with a new one if none can. The latest run gets the highest attempt if another has it.
    """
    tasks = tx.execute(_DISAGREEING).fetchall()
    for task_id, state in tasks:
        runs = [
            _Run(*row)
            for row in tx.execute(
                "SELECT run_id, attempt, state, completed_at IS NOT NULL FROM runs WHERE task_id = ? "
                "ORDER BY attempt, rowid",
                (task_id,),
            )
        ]
        latest = _latest(runs, state)
        if latest is None:
            latest = _Run(new_id(), 1, State.PENDING if state in LIVE else state, completed=False)
            _insert(tx, task_id, latest)
        attempt = max([latest.attempt, *(run.attempt + 1 for run in runs if run is not latest)])
        _take(tx, task_id, state, latest, attempt)
    return len(tasks)


def _latest(runs: list[_Run], state: str) -> _Run | None:
    """The run that counts: for a live task one that is live, for a final one that which brought it there."""
    if state in LIVE:
        runs = [run for run in runs if run.state in LIVE]
    return max(
        runs,
        key=lambda run: (run.state == state, run.completed and state == State.COMPLETED, run.attempt),
        default=None,
    )


def _insert(tx: Transaction, task_id: str, run: _Run) -> None:
    tx.execute(
        "INSERT INTO runs (run_id, task_id, attempt, state, available_at) VALUES (?, ?, ?, ?, ?)",
        (run.run_id, task_id, run.attempt, run.state, tx.now),
    )


def _take(tx: Transaction, task_id: str, state: str, latest: _Run, attempt: int) -> None:
    state = latest.state if state in LIVE else state
    tx.execute(
        """
        UPDATE runs SET attempt = :attempt, state = :state,
            completed_at = CASE WHEN :state = 'completed' THEN COALESCE(completed_at, :now) ELSE completed_at END,
            result = CASE WHEN :state = 'completed' THEN
                COALESCE(result, (SELECT completed_payload FROM tasks WHERE task_id = :task), 'null') ELSE result END,
            failed_at = CASE WHEN :state = 'failed' THEN COALESCE(failed_at, :now) ELSE failed_at END,
            failure_reason = CASE WHEN :state = 'failed' THEN COALESCE(failure_reason, 'null') ELSE failure_reason END
        WHERE run_id = :run
        """,
        {"attempt": attempt, "state": state, "now": tx.now, "task": task_id, "run": latest.run_id},
    )
    tx.execute(
        "UPDATE tasks SET state = ?, attempts = ?, last_attempt_run = ? WHERE task_id = ?",
        (state, attempt, latest.run_id, task_id),
    )
