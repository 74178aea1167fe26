"""How many steps a task takes: those it declares, else those that the latest completed tasks of its name took."""

from __future__ import annotations

from datetime import datetime, timedelta
from statistics import median_high
from typing import Final

from dura.store.views.look import Look, json_of

_SAMPLE: Final = 2_000
"""Newest completed tasks that are looked at, of any name."""

_OF_A_NAME: Final = 5
"""Completed tasks of one name whose steps are counted."""

_KEPT: Final = timedelta(seconds=30)
"""How long what was learnt of a name is kept."""


class Progress:
    """What was learnt of how many steps tasks of a name take. Kept between looks."""

    def __init__(self) -> None:
        self._totals: dict[str, int | None] = {}
        self._learnt_at: datetime | None = None

    def expected(self, name: str) -> int | None:
        """Steps of a task of this name; None if no completed one was found."""
        return self._totals.get(name)

    def learn(self, look: Look, names: set[str]) -> None:
        """Make sure that these names were looked up not long ago."""
        if self._learnt_at is None or not timedelta() <= look.moment - self._learnt_at < _KEPT:
            self._totals.clear()
            self._learnt_at = look.moment
        missing = names - self._totals.keys()
        if missing:
            self._totals.update(_took(look, missing))


def _took(look: Look, names: set[str]) -> dict[str, int | None]:
    if "tasks_terminal" in look.indexes:
        newest = """
            SELECT task_name, task_id FROM tasks
            WHERE state = 'completed' AND state IN ('completed', 'failed', 'cancelled') AND terminal_at IS NOT NULL
            ORDER BY terminal_at DESC LIMIT ?
        """
    else:
        newest = "SELECT task_name, task_id FROM tasks WHERE state = 'completed' ORDER BY rowid DESC LIMIT ?"
    counted: dict[str, list[int]] = {name: [] for name in names}
    for name, task_id in look.rows(newest, (_SAMPLE,)):
        if len(counted.get(name, range(_OF_A_NAME))) < _OF_A_NAME:
            row = look.first("SELECT COUNT(*) FROM checkpoints WHERE task_id = ?", (task_id,))
            counted[name].append(row[0] if row else 0)
    return {name: median_high(counts) or None if counts else None for name, counts in counted.items()}


def declared_steps(text: str | None) -> tuple[str, ...] | None:
    """A task's declared step names; None if it declares none, or no list of them."""
    steps = json_of(text)
    return tuple(map(str, steps)) if isinstance(steps, list) else None
