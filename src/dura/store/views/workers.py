"""Who works: workers that hold leases, or settled a run within the last hour."""

from __future__ import annotations

import os
import socket
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Final

from dura.clock import later
from dura.records import Lease, WorkerRow
from dura.store.views.look import Look, moment_of
from dura.store.views.runs import leases

_WINDOW: Final = 3_600
"""Seconds within which a settled run makes its worker known."""

_SAMPLE: Final = 2_000
"""Newest completed tasks, and newest failed attempts, that are looked at. The held leases are bounded alike."""

_HOLDING: Final = 5
"""Leases of one worker that are shown."""

RATE_SECONDS: Final = 300.0
"""The stretch of time over which rates are taken."""


_COMPLETED: Final = """
    SELECT r.claimed_by, t.terminal_at, 1
    FROM (SELECT last_attempt_run, terminal_at FROM tasks
          WHERE state = 'completed' AND state IN ('completed', 'failed', 'cancelled') AND terminal_at >= ?
          ORDER BY terminal_at DESC LIMIT ?) t
    CROSS JOIN runs r ON r.run_id = t.last_attempt_run
"""
"""Who completed the newest completed tasks, and when."""

_COMPLETED_1_3_0: Final = """
    SELECT r.claimed_by, t.terminal_at, t.terminal_at >= ?
    FROM (SELECT last_attempt_run, terminal_at FROM tasks WHERE state = 'completed' ORDER BY rowid DESC LIMIT ?) t
    CROSS JOIN runs r ON r.run_id = t.last_attempt_run
"""

_FAILED: Final = """
    SELECT claimed_by, failed_at, 1 FROM runs WHERE state = 'failed' AND failed_at >= ?
    ORDER BY failed_at DESC LIMIT ?
"""
"""Whose attempts failed last, and when."""

_FAILED_1_3_0: Final = """
    SELECT claimed_by, failed_at, failed_at >= ? FROM runs WHERE state = 'failed' ORDER BY available_at DESC LIMIT ?
"""


class _Tally:
    """What was found of one worker."""

    __slots__ = ("completed", "failed", "holding", "last_seen", "leases", "per_minute")

    def __init__(self) -> None:
        self.leases = self.completed = self.failed = 0
        self.per_minute = 0.0
        self.holding: list[Lease] = []
        self.last_seen: datetime | None = None

    def seen(self, moment: datetime | None) -> None:
        if moment is not None and (self.last_seen is None or moment > self.last_seen):
            self.last_seen = moment


def workers(look: Look) -> tuple[WorkerRow, ...]:
    """Workers by id. Completed counts tasks, failed counts attempts, of the last hour."""
    since = later(look.now, -_WINDOW)
    completed = look.rows(
        _COMPLETED if "tasks_terminal" in look.indexes else _COMPLETED_1_3_0, (since, _SAMPLE)
    )
    failed = look.rows(_FAILED if "runs_failed" in look.indexes else _FAILED_1_3_0, (since, _SAMPLE))
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    for lease in leases(look, _SAMPLE):
        tally = tallies[lease.worker_id]
        tally.leases += 1
        tally.seen(lease.started_at)
        if len(tally.holding) < _HOLDING:
            tally.holding.append(lease)
    for what, rows in (("completed", completed), ("failed", failed)):
        ends = [(row[0], moment_of(row[1])) for row in rows if row[0] is not None and row[2]]
        window = rate_window(look.moment, [end for _, end in ends], sampled=len(rows) == _SAMPLE)
        for worker_id, end in ends:
            tally = tallies[worker_id]
            setattr(tally, what, getattr(tally, what) + 1)
            tally.seen(end)
            if end is not None and (look.moment - end).total_seconds() <= window:
                tally.per_minute += 60 / window
    sampled = look.cut or max(len(completed), len(failed)) == _SAMPLE
    return tuple(
        WorkerRow(
            worker_id=worker_id,
            presence=presence(worker_id),
            leases=tally.leases,
            holding=tuple(tally.holding),
            completed=tally.completed,
            failed=tally.failed,
            per_minute=tally.per_minute,
            last_seen=tally.last_seen,
            sampled=sampled,
        )
        for worker_id, tally in sorted(tallies.items())
    )


def rate_window(now: datetime, ends: list[datetime | None], *, sampled: bool) -> float:
    """Over how many seconds a rate is taken: five minutes, or as far as a sample of the newest reaches."""
    known = [(now - end).total_seconds() for end in ends if end is not None]
    if not sampled or not known:
        return RATE_SECONDS
    return min(max(max(known), 1.0), RATE_SECONDS)


def presence(worker_id: str) -> str:
    """`alive` or `gone` if the id is `host:pid:thread` with this host's name and its process was looked for.

    Returns:
        `unknown` for every other id.
    """
    host, _, rest = worker_id.partition(":")
    pid = rest.partition(":")[0]
    if host != socket.gethostname() or not (pid.isascii() and pid.isdigit()) or int(pid) == 0:
        return "unknown"
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "alive"
    except OverflowError:
        return "unknown"
    return "gone" if _is_zombie(int(pid)) else "alive"


def _is_zombie(pid: int) -> bool:
    """Whether the process has died but its parent has not asked for its exit code; only Linux says so."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    # The state follows the command's name, which is in parentheses and may hold anything.
    return status.rpartition(")")[2].split()[:1] == ["Z"]
