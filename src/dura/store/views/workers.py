"""Who works: workers that hold leases, or settled a run within the last hour."""

from __future__ import annotations

import os
import socket
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Final

from dura.clock import later
from dura.records import WorkerRow
from dura.store.views.look import Look, moment_of

_WINDOW: Final = 3_600
"""Seconds within which a settled run makes its worker known."""

_SAMPLE: Final = 2_000
"""Newest completed tasks, and newest failed attempts, that are looked at. The held leases are bounded alike."""


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

    __slots__ = ("completed", "failed", "last_seen", "leases")

    def __init__(self) -> None:
        self.leases = self.completed = self.failed = 0
        self.last_seen: datetime | None = None

    def seen(self, text: str | None) -> None:
        moment = moment_of(text)
        if moment is not None and (self.last_seen is None or moment > self.last_seen):
            self.last_seen = moment


def workers(look: Look) -> tuple[WorkerRow, ...]:
    """Workers by id. Completed counts tasks, failed counts attempts, of the last hour."""
    since = later(look.now, -_WINDOW)
    completed = look.rows(
        _COMPLETED if "tasks_terminal" in look.indexes else _COMPLETED_1_3_0, (since, _SAMPLE)
    )
    failed = look.rows(_FAILED if "runs_failed" in look.indexes else _FAILED_1_3_0, (since, _SAMPLE))
    sampled = look.cut or max(len(completed), len(failed)) == _SAMPLE
    tallies: dict[str, _Tally] = {}
    for what, rows in (("leases", _held(look)), ("completed", completed), ("failed", failed)):
        for worker_id, moment, recent in rows:
            if worker_id is not None and recent:
                tally = tallies.setdefault(worker_id, _Tally())
                setattr(tally, what, getattr(tally, what) + 1)
                tally.seen(moment)
    return tuple(
        WorkerRow(
            worker_id=worker_id,
            presence=presence(worker_id),
            leases=tally.leases,
            completed=tally.completed,
            failed=tally.failed,
            last_seen=tally.last_seen,
            sampled=sampled,
        )
        for worker_id, tally in sorted(tallies.items())
    )


def _held(look: Look) -> list[sqlite3.Row]:
    return look.rows("SELECT claimed_by, started_at, 1 FROM runs WHERE state = 'running' LIMIT ?", (_SAMPLE,))


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
