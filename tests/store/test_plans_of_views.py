"""What SQLite plans for the monitor's queries: ranges of indexes, never a walk through a whole table.

Every statement that a look runs is recorded and explained. On a file of ours the common lists also need no sorting.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from conftest import ManualClock, started
from dura import DurableEngine, WorkflowSuspended
from dura.filters import parse
from dura.records import AuditQuery, FailureKey, TaskQuery, Want
from dura.store.reading import Reader, Source
from dura.store.views.find import find_tasks
from dura.store.views.look import Look, Values
from dura.store.views.progress import Progress
from dura.store.views.snapshot import snapshot

FIXTURE = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"

Plans = dict[str, list[str]]

OVERVIEW = Want(
    leases=5,
    sleepers=5,
    events=5,
    waiting=True,
    approvals=5,
    template="approved:ord_1",
    failures=5,
    failure_groups="step",
    failed_tasks=FailureKey(by="error", key="no type"),
    workers=True,
    queues=True,
    throughput=True,
    namespaces=True,
    namespace="poller",
    audit=5,
    audit_query=AuditQuery(actor="ann"),
    find="ab",
    known=True,
)

BEFORE_ACTING = Want(
    chosen=("t1", "t2"), finished_steps=("t1", "t2"), removable=datetime(2026, 1, 1, tzinfo=UTC)
)

COMMON_LISTS = (
    TaskQuery(limit=1),
    TaskQuery(sort="oldest", limit=1),
    TaskQuery(sort="due", limit=1),
    TaskQuery(state="failed", limit=1),
    TaskQuery(state="completed", sort="oldest", limit=1),
    TaskQuery(state="running", sort="due", limit=1),
    TaskQuery(state="sleeping", sort="due", limit=1),
    TaskQuery(state="pending", sort="priority", limit=1),
    TaskQuery(state="pending", sort="priority", queue="mail", limit=1),
)

EVERY_FIELD = parse(
    "name:j*,x queue:default -state:cancelled id:a key:b error:c step:d,e* age>0 attempts>=1 worker:w* event:e text"
)

OTHER_LISTS = tuple(
    TaskQuery(state=state, sort=sort, limit=1)
    for state in (None, "pending", "running", "sleeping", "failed")
    for sort in ("newest", "priority", "attempts", "name", "-due", "progress", "-error")
)


class Recording(Look):
    """A look that remembers what it asked."""

    asked: dict[str, Values]

    def stream(self, sql: str, values: Values = ()) -> Generator[sqlite3.Row]:
        self.__dict__.setdefault("asked", {})[sql] = values
        return super().stream(sql, values)


def plans(path: Path, clock: ManualClock, view: Callable[[Look], object]) -> Plans:
    """Each statement that the view runs, with the lines of its plan."""

    def explain(connection: sqlite3.Connection, _: Source) -> Plans:
        with closing(Recording(connection, str(path), clock())) as look:
            look.asked.clear()
            view(look)
            return {
                sql: [row["detail"] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
                for sql, values in look.asked.items()
            }

    with closing(Reader(str(path))) as reader:
        return reader.read(explain)


def wanted(want: Want) -> Callable[[Look], object]:
    source = Source(manner="still", size=0, wal_size=0)
    return lambda look: snapshot(look, "store.db", source, want, Progress())


def listed(query: TaskQuery) -> Callable[[Look], object]:
    """The first page of a list and the one after it."""

    def view(look: Look) -> None:
        source = Source(manner="still", size=0, wal_size=0)
        page = snapshot(look, "store.db", source, Want(tasks=query), Progress()).tasks
        assert page is not None
        if page.next_page is not None:
            following = TaskQuery(
                state=query.state, sort=query.sort, queue=query.queue, limit=1, after=page.next_page
            )
            snapshot(look, "store.db", source, Want(tasks=following), Progress())

    return view


def scans(found: Plans) -> list[str]:
    """Steps that walk a whole table; walking a partial index, which LIMIT ends, is none."""
    walked = []
    for lines in found.values():
        derived = {line.split()[-1] for line in lines if line.startswith(("CO-ROUTINE", "MATERIALIZE"))}
        for line in lines:
            step = re.match(r"SCAN (?:main\.)?(\w+)(.*)", line)
            if step is None or step[1] in derived or " VIRTUAL TABLE" in step[2]:
                continue
            if (
                step[1] in ("tasks", "runs", "checkpoints", "t", "r", "c", "f")
                and " USING INDEX runs_" not in step[2]
            ):
                walked.append(line)
    return walked


def sorts(found: Plans) -> list[str]:
    """Steps that sort, but for the attempts of one task on an upgraded file, which has no index on their order."""
    return [
        line
        for lines in found.values()
        for line in lines
        if "TEMP B-TREE" in line and not any("USING INDEX runs_task_id (task_id=?)" in step for step in lines)
    ]


@pytest.fixture
def ours(path: Path, clock: ManualClock) -> Path:
    """A store of ours with two tasks in every state."""
    engine = DurableEngine(path, clock=clock)
    for _ in range(2):
        done = started(engine)
        engine.complete_run(run_id=done.run_id, claim_token=done.claim_token)
        failed = started(engine, max_attempts=1)
        engine.fail_run(run_id=failed.run_id, reason={}, claim_token=failed.claim_token)
        started(engine)
        engine.spawn_task(name="job", params=None, available_after=timedelta(seconds=60))
        waits = started(engine)
        with suppress(WorkflowSuspended):
            engine.wait_for_event(
                run_id=waits.run_id,
                task_id=waits.task_id,
                step_name="s",
                event_name="e",
                claim_token=waits.claim_token,
            )
    for _ in range(2):
        engine.spawn_task(name="job", params=None)
        engine.spawn_task(name="job", params=None, queue="mail")
    engine.close()
    return path


@pytest.fixture
def upgraded(path: Path, clock: ManualClock) -> Path:
    shutil.copyfile(FIXTURE, path)
    DurableEngine(path, clock=clock).close()
    return path


@pytest.fixture(params=["ours", "upgraded"])
def store(request: pytest.FixtureRequest) -> Path:
    made: Path = request.getfixturevalue(request.param)
    return made


def test_overview_reads_ranges_of_indexes_in_their_order(store: Path, clock: ManualClock) -> None:
    found = plans(store, clock, wanted(OVERVIEW))
    assert len(found) > 10
    assert scans(found) == []
    assert sorts(found) == []


def test_common_lists_are_ranges_of_indexes_in_their_order(store: Path, clock: ManualClock) -> None:
    for query in COMMON_LISTS:
        found = plans(store, clock, listed(query))
        assert scans(found) == [], query
        assert sorts(found) == [], query


def test_a_filter_changes_no_way_through_the_store(store: Path, clock: ManualClock) -> None:
    """What is filtered by is looked up task by task: the walk, its order and its indexes are those without a filter."""
    for query in COMMON_LISTS:
        found = plans(store, clock, listed(replace(query, where=EVERY_FIELD)))
        assert scans(found) == [], query
        assert sorts(found) == [], query
    found = plans(store, clock, wanted(replace(OVERVIEW, where=EVERY_FIELD)))
    assert scans(found) == []
    assert sorts(found) == []


def test_other_lists_walk_through_no_whole_table(store: Path, clock: ManualClock) -> None:
    for query in OTHER_LISTS:
        assert scans(plans(store, clock, listed(query))) == [], query
    assert scans(plans(store, clock, wanted(BEFORE_ACTING))) == []


def test_awaited_events_and_a_task_walk_through_no_whole_table(store: Path, clock: ManualClock) -> None:
    with sqlite3.connect(store) as connection:
        task_id = connection.execute("SELECT task_id FROM waits").fetchone()[0]
    connection.close()
    assert scans(plans(store, clock, wanted(Want(awaited=5, event="approved", task_id=task_id)))) == []


def test_waits_of_a_run_are_found_by_the_run(store: Path, clock: ManualClock) -> None:
    """An event may have very many waiters, a run has a few waits."""
    found = plans(store, clock, wanted(Want(sleepers=5, awaited=5)))
    lookups = [line for lines in found.values() for line in lines if re.match("SEARCH w ", line)]
    assert len(lookups) >= 2
    assert all("run_id=?" in line for line in lookups)


def test_finding_a_task_reads_the_ids_alone(store: Path, clock: ManualClock) -> None:
    found = plans(store, clock, lambda look: find_tasks(look, "ab", 5, Progress()))
    (by_part,) = (lines for sql, lines in found.items() if "instr" in sql)
    assert by_part == ["SEARCH tasks USING COVERING INDEX sqlite_autoindex_tasks_1 (task_id>?)"]


def test_release_file_is_read_along_the_indexes_that_it_has(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "store.db"
    shutil.copyfile(FIXTURE, path)
    assert scans(plans(path, clock, wanted(OVERVIEW))) == []
    for query in (*COMMON_LISTS, *OTHER_LISTS):
        assert scans(plans(path, clock, listed(query))) == [], query
        assert scans(plans(path, clock, listed(replace(query, where=EVERY_FIELD)))) == [], query
    assert scans(plans(path, clock, wanted(replace(OVERVIEW, where=EVERY_FIELD)))) == []
    found = plans(path, clock, listed(TaskQuery(state="failed", limit=1)))
    assert any(
        "INDEX tasks_state (state=? AND rowid<?)" in line for lines in found.values() for line in lines
    )
