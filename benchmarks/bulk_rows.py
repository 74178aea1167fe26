"""Large stores of dura's six tables, inserted by SQL: ten million spawns would take most of an hour, this takes minutes.

The tables, indexes and triggers are those of the engine whose file it is, this one or the 1.3.0 release, and they stay in
force: every row passes the CHECKs, every index grows row by row as it does under the engine, and the triggers count. The
rows are such as the engine would have left after spawning, claiming and completing: its ids, its times, its columns.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import Final

Told = Callable[[int], None]
"""Is told, now and then, how many tasks there are so far."""

SLEEPERS_PRIORITY: Final = 5
"""Sleepers get a higher priority than the rest, so that a claim that looked at them first would find them in its way."""

_BEGINNING: Final = 1_767_225_600
"""When the first task was spawned, in seconds since 1970: in January 2026."""

_SECOND: Final = 10_000
"""Tasks spawned in each second, and inserted by each statement."""

_FAR: Final = "2099-%m-%dT%H:%M:%S"
"""When leases run out and sleepers are due: at the same moment of 2099."""

_LARGEST_CACHE: Final = 4 * 2**30
"""Bytes. Random ids touch pages all over their indexes, which must stay in memory or every insert waits for the disk."""

ORDERED_IDS: Final = (
    "printf('%012x7%03x8', :ms + i / 10, i % 10 * 2)",
    "printf('%012x7%03x8', :ms + i / 10, i % 10 * 2 + 1)",
    15,
)
"""How this version's ids begin, which sort by time: the task's, the run's, and how many random digits follow."""

RANDOM_IDS: Final = ("''", "''", 32)

_MADE: Final = "CREATE TEMP TABLE made (i INTEGER PRIMARY KEY, task TEXT, run TEXT, at TEXT, far TEXT)"

_MAKE: Final = """
    INSERT INTO made
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count)
    SELECT i, {task} || substr(lower(hex(randomblob(16))), 1, {digits}),
           {run} || substr(lower(hex(randomblob(16))), 1, {digits}),
           :second || printf('.%06d+00:00', i * 100), :far || printf('.%06d+00:00', i * 100)
    FROM n
"""


def mixed(tasks: int) -> dict[str, int]:
    """A store of which nine in ten tasks are pending; of the others half sleep, half are completed."""
    few = tasks // 20
    return {"pending": tasks - 2 * few, "sleeping": few, "completed": few}


_COUNT: Final = """
    INSERT OR IGNORE INTO state (namespace, key, value, updated_at)
    VALUES ('dura.counts', json_array('default', 'plain', ?), ?, '')
"""
"""Counters; where triggers keep them, they are there already."""


def add(path: str, rows: Mapping[str, int], told: Told = lambda done: None) -> None:
    """Add tasks of one run each to an empty store.

    All of it is one transaction without a journal, for speed: what remains of an addition that was interrupted is no store.

    Args:
        path: A store whose tables exist and that nobody has open.
        rows: How many tasks are to be in each state: pending; sleeping until 2099, with a higher priority; running, with
            a lease until 2099; or completed.
        told: Is told how far it is.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode=DELETE", "journal_mode=OFF", "synchronous=OFF", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {pragma}").fetchone()
    connection.execute(f"PRAGMA cache_size=-{_cache() // 1024}")
    ours = "claim_token" in {row[1] for row in connection.execute("PRAGMA table_info(runs)")}
    connection.execute(_MADE)
    connection.execute("BEGIN IMMEDIATE")
    done = 0
    for state, count in rows.items():
        _add(connection, state, count, done, ours, told)
        done += count
    if ours:
        connection.executemany(_COUNT, [(state, str(count)) for state, count in rows.items()])
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode=WAL").fetchone()
    connection.close()


def _add(
    connection: sqlite3.Connection, state: str, count: int, already: int, ours: bool, told: Told
) -> None:
    task, run, digits = ORDERED_IDS if ours else RANDOM_IDS
    make = _MAKE.format(task=task, run=run, digits=digits)
    into_tasks, into_runs = _into_tasks(state), _into_runs(state, ours=ours)
    second = _BEGINNING + -(-already // _SECOND)
    for done in range(0, count, _SECOND):
        times = {"ms": second * 1000, "second": _written(second), "far": _written(second, _FAR)}
        connection.execute("DELETE FROM made")
        connection.execute(make, {"count": min(_SECOND, count - done), **times})
        connection.execute(into_tasks)
        connection.execute(into_runs)
        second += 1
        told(already + min(count, done + _SECOND))


def _into_tasks(state: str) -> str:
    begun = "at" if state in ("running", "completed") else "NULL"
    ended, payload = ("at", "'null'") if state == "completed" else ("NULL", "NULL")
    return f"""
        INSERT INTO tasks (task_id, task_name, params, state, attempts, enqueue_at, first_started_at,
                           last_attempt_run, completed_payload, terminal_at)
        SELECT task, 'plain', '0', '{state}', 1, at, {begun}, run, {payload}, {ended} FROM made ORDER BY i
    """  # noqa: S608 - constants


def _into_runs(state: str, *, ours: bool) -> str:
    begun, asleep = state in ("running", "completed"), state == "sleeping"
    values = {"run_id": "run", "task_id": "task", "attempt": "1", "state": f"'{state}'"}
    values |= {"available_at": "far" if asleep else "at", "priority": str(SLEEPERS_PRIORITY if asleep else 0)}
    if begun:
        values |= {"claimed_by": "'bench'", "started_at": "at"}
    if state == "running" or (begun and not ours):  # the release leaves the lease to a run that has ended
        values["claim_expires_at"] = "far"
    if state == "completed":
        values |= {"completed_at": "at", "result": "'null'"}
    if ours and begun:
        values["claim_token"] = "1"
    if ours and asleep:
        values["sleep_cause"] = "'delay'"
    return f"INSERT INTO runs ({', '.join(values)}) SELECT {', '.join(values.values())} FROM made ORDER BY i"  # noqa: S608


def _written(second: int, form: str = "%Y-%m-%dT%H:%M:%S") -> str:
    return time.strftime(form, time.gmtime(second))


def _cache() -> int:
    """Bytes of pages to keep: a quarter of the machine's memory, but no more than what ten million rows need."""
    return min(_LARGEST_CACHE, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)
