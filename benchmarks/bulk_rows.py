"""Large stores of dura's six tables, written straight into the file: a million spawns would take minutes.

The tables are made by the engine whose file it is, this one or the 1.3.0 release, and the rows are such as it would have
left. The columns that this version adds are filled where they exist.
"""

from __future__ import annotations

import itertools
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final

_PAST: Final = "2026-01-01T00:00:00.000000+00:00"
_FUTURE: Final = "2099-01-01T00:00:00.000000+00:00"
_CHUNK: Final = 20_000

_TASK: Final = (
    "task_id", "task_name", "params", "state", "attempts", "enqueue_at", "first_started_at", "last_attempt_run",
    "completed_payload", "terminal_at",
)  # fmt: skip
_RUN: Final = (
    "run_id", "task_id", "attempt", "state", "claimed_by", "claim_expires_at", "available_at", "started_at",
    "completed_at", "result", "priority",
)  # fmt: skip
_OURS: Final = ("claim_token", "sleep_cause")


def add(path: str, state: str, count: int, *, priority: int = 0) -> None:
    """Add tasks of one run each, all in one state.

    Args:
        path: A store whose tables exist.
        state: pending; sleeping until 2099; running, with a lease until 2099; or completed.
        count: How many.
        priority: Of the runs.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-200000")
    columns = {row[1] for row in connection.execute("PRAGMA table_info(runs)")}
    ours = "claim_token" in columns
    run_columns = _RUN + (_OURS if ours else ())
    into_tasks = _insert("tasks", _TASK)
    into_runs = _insert("runs", run_columns)
    made = _pairs(state, priority, _new_id(ours), ours)
    for start in range(0, count, _CHUNK):
        pairs = list(itertools.islice(made, min(_CHUNK, count - start)))
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(into_tasks, [task for task, _ in pairs])
        connection.executemany(into_runs, [run for _, run in pairs])
        connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.close()


def _pairs(state: str, priority: int, new_id: Callable[[], str], ours: bool) -> Iterator[tuple[Any, Any]]:
    begun = state in ("running", "completed")
    done = state == "completed"
    started = _PAST if begun else None
    ended = _PAST if done else None
    result = "null" if done else None
    while True:
        task_id, run_id = new_id(), new_id()
        task = (task_id, "plain", "0", state, 1, _PAST, started, run_id, result, ended)
        run: tuple[Any, ...] = (
            run_id, task_id, 1, state, "bench" if begun else None, _FUTURE if state == "running" else None,
            _FUTURE if state == "sleeping" else _PAST, started, ended, result, priority,
        )  # fmt: skip
        if ours:
            run += (int(begun), "delay" if state == "sleeping" else None)
        yield task, run


def _new_id(ours: bool) -> Callable[[], str]:
    """The way in which the engine makes ids, whose order decides where in the file a row goes."""
    if ours:
        from dura.ids import new_id

        return new_id
    return lambda: uuid.uuid4().hex


def _insert(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - constants
