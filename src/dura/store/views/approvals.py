"""Who waits for somebody: runs that sleep on an event, and what the answer may look like.

The engine does not know which events people emit and which programs do, so every such run is listed. A payload to begin
with is taken from the state namespace `templates` (the key is the event's name, or its beginning up to the last `:` or
`/`), else from the latest event of the same beginning.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Final

from dura.records import Approval, Condition, PayloadTemplate
from dura.store.events import SLEEP_EVENT
from dura.store.views.conditions import matches
from dura.store.views.look import Look, like, moment_of, shown
from dura.store.views.progress import declared_steps

NAMESPACE: Final = "templates"
"""Where templates are kept: by an event's name, or by its beginning."""

_MOST_COUNTED: Final = 1_000
"""Waits that are looked through on either side of the engine's own, by name; so many sleepers too, if there are more."""

_PARAMS_LIMIT: Final = 2_000
_RECENT: Final = 500
"""Newest events among which one of the same beginning is looked for."""

_LAST: Final = "~"
"""Sorts after every time."""


def approvals(
    look: Look, limit: int, part: str | None, where: Sequence[Condition] = ()
) -> tuple[tuple[Approval, ...], int, bool]:
    """Runs that sleep on an event, the soonest timeout first, those without one last.

    With more than 1,000 such waits in the store the list is made of those found first by name and of those with the soonest
    deadlines.

    Args:
        look: The look.
        limit: How many at most; 0 only counts.
        part: A part of the event's name, in any case of ASCII letters; None for all. The count knows nothing of it.
        where: What must hold of their tasks; nor of that.

    Returns:
        The runs, how many there are in all, and whether counting stopped at that number.
    """
    found, capped = _waiting(look, None)
    count = len(found)
    if not limit:
        return (), count, capped
    pattern = None if part is None else like(part)
    if pattern is not None:
        found, capped_here = _waiting(look, pattern)
    else:
        capped_here = capped
    if capped_here:
        look.shorten()
        found.update(_soonest(look, pattern))
    runs = sorted(found, key=lambda run_id: (found[run_id], run_id))
    return _rows(look, runs, where)[:limit] if where else _rows(look, runs[:limit], ()), count, capped


def _waiting(look: Look, pattern: str | None) -> tuple[dict[str, str], bool]:
    """Deadlines by run, of runs that sleep on an event; and whether there may be more."""
    found: dict[str, str] = {}
    capped = False
    for side in ("<", ">"):
        rows = look.rows(
            rf"""
            SELECT w.run_id, w.timeout_at, r.state = 'sleeping' AND r.wake_event = w.event_name AS waiting
            FROM (SELECT run_id, event_name, timeout_at FROM waits
                  WHERE event_name {side} ? AND (? IS NULL OR event_name LIKE ? ESCAPE '\')
                  ORDER BY event_name LIMIT ?) w
            CROSS JOIN runs r ON r.run_id = w.run_id
            """,  # noqa: S608 - one of two constants
            (SLEEP_EVENT, pattern, pattern, _MOST_COUNTED),
        )
        capped = capped or look.cut or len(rows) == _MOST_COUNTED
        found.update((row["run_id"], row["timeout_at"] or _LAST) for row in rows if row["waiting"])
    return found, capped


def _soonest(look: Look, pattern: str | None) -> dict[str, str]:
    rows = look.rows(
        r"""
        SELECT run_id, available_at
        FROM (SELECT run_id, available_at, wake_event FROM runs WHERE state = 'sleeping'
              AND (? IS NULL OR wake_event LIKE ? ESCAPE '\') ORDER BY available_at, rowid LIMIT ?)
        WHERE wake_event IS NOT NULL AND wake_event != ?
        """,
        (pattern, pattern, _MOST_COUNTED, SLEEP_EVENT),
    )
    return {row["run_id"]: row["available_at"] for row in rows}


def _rows(look: Look, runs: list[str], where: Sequence[Condition]) -> tuple[Approval, ...]:
    asked = matches(look, where)
    rows = look.rows(
        f"""
        SELECT r.run_id, r.task_id, t.task_name, r.queue, r.attempt, t.enqueue_at, w.step_name, w.event_name, w.timeout_at,
               substr(t.params, 1, :params) AS params, t.steps
        FROM json_each(:runs) pick CROSS JOIN runs r ON r.run_id = pick.value
        CROSS JOIN waits w ON w.run_id = r.run_id AND +w.event_name = r.wake_event
        CROSS JOIN tasks t ON t.task_id = r.task_id WHERE {asked.sql}
        """,  # noqa: S608 - the conditions bind their values
        asked.values | {"params": _PARAMS_LIMIT + 1, "runs": json.dumps(runs)},
    )
    return tuple(
        Approval(
            run_id=row["run_id"],
            task_id=row["task_id"],
            name=row["task_name"],
            queue=row["queue"],
            attempt=row["attempt"],
            step_name=row["step_name"],
            event_name=row["event_name"],
            timeout_at=moment_of(row["timeout_at"]),
            enqueued_at=moment_of(row["enqueue_at"]),
            params=shown(row["params"], _PARAMS_LIMIT),
            steps_after=_after(row["step_name"], declared_steps(row["steps"])),
        )
        for row in rows
    )


def _after(step: str, declared: tuple[str, ...] | None) -> tuple[str, ...]:
    if declared is None or step not in declared:
        return ()
    return declared[declared.index(step) + 1 :]


# --- templates --------------------------------------------------------------------------------------------------------


def beginning(event_name: str) -> str:
    """What events of one kind have in common: the name up to its last `:` or `/`, or all of it without one."""
    found = re.match(r".*[:/]", event_name, re.DOTALL)
    return found[0] if found else event_name


def template(look: Look, event_name: str) -> PayloadTemplate | None:
    """What a payload of this event may look like; None if nothing is known."""
    start = beginning(event_name)
    for key in dict.fromkeys((event_name, start, start[:-1])):
        row = look.first(
            "SELECT value, updated_at FROM state WHERE namespace = ? AND key = ?", (NAMESPACE, key)
        )
        if row:
            return PayloadTemplate(
                event_name=event_name,
                source="state",
                taken_from=key,
                payload=shown(row["value"]),
                at=moment_of(row["updated_at"]),
            )
    row = _latest(look, start, event_name)
    if row is None:
        return None
    return PayloadTemplate(
        event_name=event_name,
        source="event",
        taken_from=row["event_name"],
        payload=shown(row["payload"] or "null"),
        at=moment_of(row["emitted_at"]),
    )


def _latest(look: Look, start: str, but: str) -> sqlite3.Row | None:
    if start == but:
        return None
    newest = look.rows(
        "SELECT event_name FROM events WHERE rowid < ? ORDER BY rowid DESC LIMIT ?", (2**63 - 1, _RECENT)
    )
    name = next((row[0] for row in newest if row[0].startswith(start) and row[0] != but), None)
    if name is None:
        last = look.first(
            "SELECT event_name FROM events WHERE event_name >= ? AND event_name < ? AND event_name != ? "
            "ORDER BY event_name DESC LIMIT 1",
            (start, start + chr(0x10FFFF), but),
        )
        name = last[0] if last else None
    return look.first("SELECT event_name, payload, emitted_at FROM events WHERE event_name = ?", (name,))
