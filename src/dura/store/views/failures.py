"""Attempts that failed lately, and a failure in one line."""

from __future__ import annotations

from typing import Any, Final

from dura.records import FailureInfo
from dura.store.views.look import Look, json_of

_SAMPLE: Final = 2_000
"""On a file without an index on failures, so many of the attempts that were due last are looked at."""

_LINE: Final = 200
"""Characters of a failure in one line."""


def failures(look: Look, limit: int) -> tuple[FailureInfo, ...]:
    """The latest failed attempts, newest first."""
    if "runs_failed" in look.indexes:
        rows = look.rows(
            """
            SELECT r.run_id, r.task_id, t.task_name, r.attempt, r.failed_at, r.failure_reason
            FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id
            WHERE r.state = 'failed' AND r.failed_at IS NOT NULL ORDER BY r.failed_at DESC, r.rowid DESC LIMIT ?
            """,
            (limit,),
        )
    else:
        rows = look.rows(
            """
            SELECT r.run_id, r.task_id, t.task_name, r.attempt, r.failed_at, r.failure_reason
            FROM (SELECT rowid AS seq, * FROM runs WHERE state = 'failed' ORDER BY available_at DESC LIMIT ?) r
            CROSS JOIN tasks t ON t.task_id = r.task_id
            ORDER BY r.failed_at DESC, r.seq DESC LIMIT ?
            """,
            (_SAMPLE, limit),
        )
    return tuple(
        FailureInfo(
            run_id=row["run_id"],
            task_id=row["task_id"],
            task_name=row["task_name"],
            attempt=row["attempt"],
            failed_at=row["failed_at"] or "",
            failure_reason=json_of(row["failure_reason"]),
        )
        for row in rows
    )


def in_a_line(reason: str | None) -> str | None:
    """A stored failure reason (JSON) as `type: message`, shortened, or as far as it is no such object, its text."""
    if reason is None:
        return None
    line = " ".join(_words(json_of(reason), reason).split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


def _words(decoded: Any, reason: str) -> str:
    if isinstance(decoded, str):
        return decoded
    if not isinstance(decoded, dict):
        return reason
    parts = [str(decoded[key]) for key in ("type", "message") if decoded.get(key)]
    return ": ".join(parts) or reason
