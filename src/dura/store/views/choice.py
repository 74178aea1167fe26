"""What an operator is told before an action on much at once: the chosen tasks as they are now, and what it would mean."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from dura.clock import to_text
from dura.records import Removable, StepCount, TaskRow
from dura.states import TERMINAL, State
from dura.store.retention import OLDEST_LIVE
from dura.store.views.look import Look
from dura.store.views.progress import Progress
from dura.store.views.taskrows import task_rows

_MOST_STEPS: Final = 50
"""Steps that are told apart."""

_MOST_COUNTED: Final = 100_000
"""Tasks of one state, and events, that are counted."""

_ENDED: Final = """
    SELECT 1 FROM tasks INDEXED BY tasks_terminal
    WHERE state = ? AND terminal_at IS NOT NULL AND terminal_at < ?
"""

_NEEDLESS: Final = """
    SELECT 1 FROM events INDEXED BY events_emitted
    WHERE emitted_at < ? AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.event_name = events.event_name)
"""


def chosen(look: Look, ids: Sequence[str], progress: Progress) -> tuple[TaskRow, ...]:
    """The tasks of these ids that are there, in their order."""
    found = {
        row["task_id"]: row["rowid"]
        for row in look.rows(
            "SELECT t.task_id, t.rowid FROM json_each(?) pick CROSS JOIN tasks t ON t.task_id = pick.value",
            (json.dumps(ids),),
        )
    }
    return task_rows(look, [found[identifier] for identifier in ids if identifier in found], progress)


def finished_steps(look: Look, ids: Sequence[str]) -> tuple[StepCount, ...]:
    """Steps that any of these tasks has finished, in the order in which they were first finished."""
    rows = look.rows(
        """
        SELECT c.checkpoint_name, COUNT(*), MIN(c.updated_at) AS first
        FROM json_each(?) pick CROSS JOIN checkpoints c ON c.task_id = pick.value
        GROUP BY c.checkpoint_name ORDER BY first, c.checkpoint_name LIMIT ?
        """,
        (json.dumps(ids), _MOST_STEPS),
    )
    return tuple(StepCount(name=row[0], tasks=row[1]) for row in rows)


def removable(look: Look, before: datetime) -> Removable:
    """What a cleanup of all that ended before then would remove; nothing is counted on a file without its indexes."""
    cutoff = to_text(before)
    ours = {"tasks_terminal", "tasks_live", "events_emitted"} <= look.indexes
    oldest = look.first(OLDEST_LIVE) if ours else None
    needless = min(cutoff, oldest[0]) if oldest and oldest[0] else cutoff
    counts = {state: _counted(look, _ENDED, (state, cutoff)) if ours else 0 for state in TERMINAL}
    events = _counted(look, _NEEDLESS, (needless,)) if ours else 0
    return Removable(
        before=before,
        completed=counts[State.COMPLETED],
        failed=counts[State.FAILED],
        cancelled=counts[State.CANCELLED],
        events=events,
        capped=not ours or look.cut or max(*counts.values(), events) >= _MOST_COUNTED,
    )


def _counted(look: Look, rows: str, values: Sequence[str]) -> int:
    row = look.first(f"SELECT COUNT(*) FROM ({rows} LIMIT {_MOST_COUNTED})", values)  # noqa: S608 - constants
    return int(row[0]) if row else 0
