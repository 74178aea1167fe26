"""What fails alike: the latest failed attempts grouped by error type, or by the step that they failed in.

Which step an attempt failed in is not stored. It is the first declared step that had not finished when the attempt failed;
of a task that declares none, what came after the step that finished last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from dura.records import Condition, FailedTasks, FailureGroup, FailureGroups, FailureKey, SeenTask
from dura.store.views.conditions import matches
from dura.store.views.look import Look, OutOfTimeError, json_of, moment_of
from dura.store.views.progress import declared_steps

HOUR_BUCKETS: Final = 12
DAY_BUCKETS: Final = 24
_HOUR_SECONDS: Final = 300.0
_DAY_SECONDS: Final = 3600.0

_SAMPLE: Final = 2_000
"""Latest failed attempts that are grouped."""

_MOST_SEEN: Final = 5_000
"""Failed tasks of one group that are named."""

_MESSAGE: Final = 300
"""Characters of an error's message that are carried."""

_MOST_STEPS: Final = 200
"""Finished steps of a task that are looked at."""

_ATTEMPT: Final = """
    SELECT r.run_id, r.task_id, r.failed_at, t.task_name, t.steps,
           CASE WHEN json_valid(r.failure_reason) THEN json_extract(r.failure_reason, '$.type') END AS type,
           CASE WHEN json_valid(r.failure_reason) THEN substr(json_extract(r.failure_reason, '$.message'), 1, {message})
                ELSE substr(r.failure_reason, 1, {message}) END AS message,
           t.state = 'failed' AND t.last_attempt_run = r.run_id AS stands, {finished} AS finished
"""

_FINISHED: Final = """
    (SELECT json_group_array(json_array(updated_at, checkpoint_name))
     FROM (SELECT updated_at, checkpoint_name FROM checkpoints c WHERE c.task_id = r.task_id LIMIT {most}) c
     WHERE c.updated_at <= r.failed_at)
"""

_LATEST: Final = """
    FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id
    WHERE r.state = 'failed' AND r.failed_at IS NOT NULL AND MATCHES ORDER BY r.failed_at DESC LIMIT :limit
"""

_LATEST_1_3_0: Final = """
    FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id
    WHERE r.state = 'failed' AND MATCHES ORDER BY r.available_at DESC LIMIT :limit
"""


@dataclass(slots=True)
class _Tally:
    """What was found of one group."""

    tasks: int = 0
    attempts: int = 0
    names: set[str] = field(default_factory=set)
    moments: list[datetime] = field(default_factory=list)
    latest: sqlite3.Row | None = None


def failure_groups(look: Look, by: str, where: Sequence[Condition] = ()) -> FailureGroups:
    """The latest failed attempts in groups: those with the most failed tasks first, then those with the most attempts.

    Args:
        look: The look.
        by: `error` or `step`.
        where: What must hold of their tasks; `error` is that of the attempt.
    """
    tallies: dict[str, _Tally] = {}
    seen, reach = 0, None
    with closing(_attempts(look, by, where, _SAMPLE)) as attempts:
        for row in attempts:
            tally = tallies.setdefault(_key(row, by), _Tally())
            seen, reach = seen + 1, moment_of(row["failed_at"])
            tally.attempts += 1
            tally.tasks += row["stands"]
            tally.names.add(row["task_name"])
            if reach is not None:
                tally.moments.append(reach)
            tally.latest = tally.latest or row
    capped = seen == _SAMPLE or look.cut
    groups = [_group(look, by, key, tally, reach if capped else None) for key, tally in tallies.items()]
    groups.sort(key=lambda group: (-group.tasks, -group.attempts, group.key))
    return FailureGroups(
        by=by, groups=tuple(groups), attempts=seen, capped=capped, reaches_to=reach,
        hour_bucket_seconds=_HOUR_SECONDS, day_bucket_seconds=_DAY_SECONDS,
    )  # fmt: skip


def failed_tasks(look: Look, key: FailureKey) -> FailedTasks:
    """The failed tasks of a group with their latest runs, those that failed last first; at most 5,000."""
    found: list[SeenTask] = []
    with closing(_attempts(look, key.by, key.where, -1)) as attempts:
        for row in attempts:
            if row["stands"] and _key(row, key.by) == key.key:
                if len(found) == _MOST_SEEN:
                    look.shorten()
                    break
                found.append(SeenTask(task_id=row["task_id"], run_id=row["run_id"], name=row["task_name"]))
    return FailedTasks(key=key, tasks=tuple(found), capped=look.cut)


def _attempts(look: Look, by: str, where: Sequence[Condition], limit: int) -> Generator[sqlite3.Row]:
    """Failed attempts of tasks that match, the latest first, until there are no more or the time is over."""
    asked = matches(look, where, "r")
    finished = _FINISHED.format(most=_MOST_STEPS) if by == "step" else "NULL"
    order = _LATEST if "runs_failed" in look.indexes else _LATEST_1_3_0
    try:
        sql = _ATTEMPT.format(message=_MESSAGE, finished=finished) + order.replace("MATCHES", asked.sql)
        yield from look.stream(sql, asked.values | {"limit": limit})
    except OutOfTimeError:
        return


def _group(look: Look, by: str, key: str, tally: _Tally, reach: datetime | None) -> FailureGroup:
    latest = tally.latest
    return FailureGroup(
        by=by,
        key=key,
        tasks=tally.tasks,
        attempts=tally.attempts,
        names=tuple(sorted(tally.names)),
        hour=_counts(look.moment, tally.moments, reach, HOUR_BUCKETS, _HOUR_SECONDS),
        day=_counts(look.moment, tally.moments, reach, DAY_BUCKETS, _DAY_SECONDS),
        latest_at=moment_of(latest["failed_at"]) if latest else None,
        latest_task_id=latest["task_id"] if latest else "",
        latest_error=": ".join(str(part) for part in (latest["type"], latest["message"]) if part)
        if latest
        else "",
    )


def _counts(
    now: datetime, moments: list[datetime], reach: datetime | None, buckets: int, seconds: float
) -> tuple[int | None, ...]:
    """Failures in equal stretches of time, the oldest first; None where the sample does not reach."""
    counts: list[int | None] = [0] * buckets
    for place in range(buckets):
        if reach is not None and (now - reach).total_seconds() < place * seconds:
            counts[place] = None
    for moment in moments:
        place = max(int((now - moment).total_seconds() // seconds), 0)
        if place < buckets:
            counts[place] = (counts[place] or 0) + 1
    return tuple(reversed(counts))


# --- what a failure is filed under ------------------------------------------------------------------------------------


def _key(row: sqlite3.Row, by: str) -> str:
    return f"{row['task_name']} {_step(row)}" if by == "step" else str(row["type"] or "no type")


def _step(row: sqlite3.Row) -> str:
    finished: list[list[Any]] = json_of(row["finished"]) or []
    names = {name for _, name in finished}
    declared = declared_steps(row["steps"])
    if declared:
        return next((f"at {name}" for name in declared if name not in names), "after its last step")
    return f"after {max(finished)[1]}" if finished else "before any step"
