"""How many tasks there are, by queue, name and state, and how much work is claimable now.

Our files have counters and reading them costs the same at any size. A 1.3.0 file is counted, state by state
along its index on states, and what is counted when the time is over is a lower bound.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import datetime
from typing import Final

from dura.records import CountRow
from dura.states import LIVE, State
from dura.store.views.look import Look, moment_of

_STRIDE: Final = 20_000
"""Tasks counted at a time on a file without counters, so that little is lost when the time is over."""

_COUNTING_ORDER: Final = (*LIVE, State.FAILED, State.CANCELLED, State.COMPLETED)
"""What matters most, and is fewest, first."""

_MOST_PRIORITIES: Final = 1_000
"""Different priorities of pending runs that are looked at for the oldest of them."""


def counts(look: Look) -> tuple[CountRow, ...]:
    """Tasks by queue, name and state, in that order."""
    found = _kept(look) if look.counted else _counted(look)
    return tuple(
        CountRow(queue=queue, name=name, state=state, count=count)
        for (queue, name, state), count in sorted(found.items())
        if count > 0
    )


def _kept(look: Look) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for key, value in look.rows("SELECT key, value FROM state WHERE namespace = 'dura.counts'"):
        try:
            queue, name, state = json.loads(key)
            found[(str(queue), str(name), str(state))] += int(value)
        except ValueError:
            look.shorten()
    return found


def _counted(look: Look) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for state in _COUNTING_ORDER:
        last: int | None = -(2**63)
        while last is not None and not look.cut:
            groups = look.rows(
                """
                SELECT queue, task_name, COUNT(*), max(seq)
                FROM (SELECT queue, task_name, rowid AS seq FROM tasks WHERE state = ? AND rowid > ?
                      ORDER BY rowid LIMIT ?)
                GROUP BY queue, task_name
                """,
                (state.value, last, _STRIDE),
            )
            if look.cut:
                return found
            for queue, name, count, _ in groups:
                found[(queue, name, state.value)] += count
            last = max((group[3] for group in groups), default=None)
    return found


def ready(look: Look, known: tuple[CountRow, ...]) -> int:
    """Runs claimable now: what is pending, and sleepers that are due.

    Args:
        look: The look.
        known: The counts of the same look.
    """
    if look.counted:
        pending = sum(row.count for row in known if row.state == State.PENDING)
    else:
        row = look.first("SELECT COUNT(*) FROM runs WHERE state = 'pending'")
        pending = row[0] if row else 0
    row = look.first("SELECT COUNT(*) FROM runs WHERE state = 'sleeping' AND available_at <= ?", (look.now,))
    return pending + (row[0] if row else 0)


def oldest_due(look: Look) -> datetime | None:
    """Since when the claimable run that waits longest could have been claimed; None if none is claimable."""
    row = look.first(
        "SELECT available_at FROM runs WHERE state = 'sleeping' AND available_at <= ? ORDER BY available_at LIMIT 1",
        (look.now,),
    )
    moments = [moment_of(row[0]) if row else None, *(moment for _, moment in oldest_pending(look))]
    return min((moment for moment in moments if moment is not None), default=None)


def oldest_pending(look: Look) -> list[tuple[str, datetime | None]]:
    """Queues, each as often as it has different priorities, with since when the oldest of their pending runs waits.

    On a 1.3.0 file, which knows no queues, once for all of them.
    """
    if "runs_pending" not in look.indexes:
        row = look.first("SELECT min(available_at) FROM runs WHERE state = 'pending'")
        return [("default", moment_of(row[0]))] if row else []
    oldest: list[tuple[str, datetime | None]] = []
    queue: str | None = ""
    while queue is not None and len(oldest) < _MOST_PRIORITIES:
        row = look.first(
            "SELECT queue FROM runs WHERE state = 'pending' AND queue > ? ORDER BY queue LIMIT 1", (queue,)
        )
        queue = row[0] if row else None
        priority: float | None = math.inf if queue is not None else None
        while queue is not None and priority is not None and len(oldest) < _MOST_PRIORITIES:
            row = look.first(
                """
                SELECT priority, available_at FROM runs WHERE state = 'pending' AND queue = ? AND priority < ?
                ORDER BY priority DESC, available_at LIMIT 1
                """,
                (queue, priority),
            )
            priority = row[0] if row else None
            if row:
                oldest.append((queue, moment_of(row[1])))
    return oldest
