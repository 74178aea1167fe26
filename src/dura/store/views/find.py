"""Tasks by a part of their id, as somebody types or pastes it."""

from __future__ import annotations

from typing import Final

from dura.records import TaskRow
from dura.store.views.look import Look
from dura.store.views.progress import Progress
from dura.store.views.taskrows import task_rows

_LONGEST: Final = 1_000


def find_tasks(look: Look, part: str, limit: int, progress: Progress) -> tuple[TaskRow, ...]:
    """The task with this id, or of the run with this id; else tasks whose ids hold the part, the latest ids first."""
    if not part or len(part) > _LONGEST:
        return ()
    exact = look.rows(
        """
        SELECT rowid FROM tasks WHERE task_id = ?
        UNION ALL SELECT t.rowid FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id WHERE r.run_id = ?
        """,
        (part, part),
    )
    rows = exact or look.rows(
        "SELECT rowid FROM tasks WHERE task_id >= '' AND instr(task_id, ?) > 0 ORDER BY task_id DESC LIMIT ?",
        (part, limit),
    )
    look.more_time()
    return task_rows(look, [row[0] for row in rows], progress)
