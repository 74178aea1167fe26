"""Queues: what is in each, since when its oldest run is due, and how fast tasks come and go."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing
from datetime import datetime
from typing import Final

from dura.clock import later
from dura.records import CountRow, QueueRow
from dura.states import TERMINAL, State
from dura.store.views.counts import oldest_pending
from dura.store.views.look import Look, OutOfTimeError, moment_of
from dura.store.views.workers import RATE_SECONDS, rate_window

_SAMPLE: Final = 2_000
"""Newest tasks, ends of each kind, and due sleepers that are looked at."""

_SPAWNED: Final = "SELECT queue, enqueue_at FROM tasks WHERE rowid < ? ORDER BY rowid DESC LIMIT ?"

_ENDED: Final = """
    SELECT queue, terminal_at FROM tasks
    WHERE state = ? AND state IN ('completed', 'failed', 'cancelled') AND terminal_at >= ?
    ORDER BY terminal_at DESC LIMIT ?
"""

_ENDED_1_3_0: Final = """
    SELECT queue, terminal_at FROM (SELECT queue, terminal_at, rowid AS seq FROM tasks WHERE state = ?
                                    ORDER BY rowid DESC LIMIT ?) WHERE terminal_at >= ?
"""


def queues(look: Look, known: tuple[CountRow, ...]) -> tuple[QueueRow, ...]:
    """Queues by name.

    Args:
        look: The look.
        known: The counts of the same look.
    """
    depth: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in known:
        depth[row.queue][row.state] += row.count
    oldest: dict[str, datetime] = {}
    due: Counter[str] = Counter()
    for queue, moment in [*oldest_pending(look), *_due_sleepers(look, due)]:
        if moment is not None:
            oldest[queue] = min(oldest.get(queue, moment), moment)
    spawned, ended = _spawned(look), _ended(look)
    names = sorted({*depth, *oldest, *due})
    return tuple(
        QueueRow(
            queue=name,
            **{state.value: depth[name][state] for state in State},
            ready=depth[name][State.PENDING] + due[name],
            oldest_due=oldest.get(name),
            in_per_minute=spawned.get(name, 0.0),
            out_per_minute=ended.get(name, 0.0),
        )
        for name in names
    )


def _due_sleepers(look: Look, due: Counter[str]) -> list[tuple[str, datetime | None]]:
    rows = look.rows(
        "SELECT queue, available_at FROM runs WHERE state = 'sleeping' AND available_at <= ? "
        "ORDER BY available_at LIMIT ?",
        (look.now, _SAMPLE),
    )
    due.update(row[0] for row in rows)
    return [(row[0], moment_of(row[1])) for row in rows]


def _spawned(look: Look) -> dict[str, float]:
    """Tasks spawned a minute, by queue."""
    since = later(look.now, -RATE_SECONDS)
    found: list[tuple[str, datetime | None]] = []
    with closing(look.stream(_SPAWNED, (2**63 - 1, _SAMPLE))) as rows:
        try:
            for queue, enqueued in rows:
                if enqueued < since:
                    break
                found.append((queue, moment_of(enqueued)))
        except OutOfTimeError:
            pass
    return _rates(look, found, sampled=len(found) == _SAMPLE)


def _ended(look: Look) -> dict[str, float]:
    """Tasks that ended a minute, by queue."""
    since = later(look.now, -RATE_SECONDS)
    total: Counter[str] = Counter()
    for state in TERMINAL:
        if "tasks_terminal" in look.indexes:
            rows = look.rows(_ENDED, (state.value, since, _SAMPLE))
        else:
            rows = look.rows(_ENDED_1_3_0, (state.value, _SAMPLE, since))
        found = [(row[0], moment_of(row[1])) for row in rows]
        total.update(_rates(look, found, sampled=len(rows) == _SAMPLE))
    return dict(total)


def _rates(look: Look, found: list[tuple[str, datetime | None]], *, sampled: bool) -> dict[str, float]:
    window = rate_window(look.moment, [moment for _, moment in found], sampled=sampled)
    return {queue: count * 60 / window for queue, count in Counter(queue for queue, _ in found).items()}
