"""The task list and one task's detail: filters, sorts and pages that stay right while others write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, plain, started
from dura import DurableEngine, RetryStrategy, WorkflowSuspended
from dura.errors import InvalidValue
from dura.monitor import Monitor
from dura.records import TASK_SORTS, TaskDetail, TaskPage, TaskQuery, TaskRow, Want
from dura.store.reading import Reader, Source
from dura.store.views.look import Look
from dura.store.views.progress import Progress
from dura.store.views.tasklist import task_page

STATES = (None, "pending", "running", "sleeping", "completed", "failed", "cancelled")


@pytest.fixture
def monitor(path: Path, clock: ManualClock, engine: DurableEngine) -> Iterator[Monitor]:
    with Monitor(path, clock=clock) as monitor:
        yield monitor


def page(monitor: Monitor, **query: Any) -> TaskPage:
    found = monitor.snapshot(Want(tasks=TaskQuery(**query))).tasks
    assert found is not None
    return found


def names(monitor: Monitor, **query: Any) -> list[str]:
    return [task.name for task in page(monitor, **query).tasks]


def all_pages(monitor: Monitor, **query: Any) -> list[TaskRow]:
    found: list[TaskRow] = []
    after = None
    while True:
        part = page(monitor, after=after, **query)
        found += part.tasks
        after = part.next_page
        if after is None:
            return found


def detail(monitor: Monitor, task_id: str) -> TaskDetail:
    found = monitor.snapshot(Want(task_id=task_id)).task
    assert found is not None
    return found


def finish(engine: DurableEngine, name: str, *steps: str, **spawn: Any) -> str:
    task = started(engine, name=name, **spawn)
    for step in steps:
        engine.checkpoint(task_id=task.task_id, step_name=step, fn=lambda: 1)
    engine.complete_run(run_id=task.run_id, result="done", claim_token=task.claim_token)
    return task.task_id


@pytest.fixture
def populated(engine: DurableEngine, clock: ManualClock) -> DurableEngine:
    """A store with several tasks in every state, each with a name of its own."""
    for number in range(3):
        finish(engine, f"completed{number}")
        clock.advance(1)
        task = started(engine, name=f"failed{number}", max_attempts=1)
        engine.fail_run(run_id=task.run_id, reason={"type": "Oops"}, claim_token=task.claim_token)
        clock.advance(1)
        engine.cancel_task(engine.spawn_task(name=f"cancelled{number}", params=None).task_id)
        clock.advance(1)
    for number, lease in enumerate((900, 700, 800)):
        started(engine, name=f"running{number}", lease=lease)
    for number, delay in enumerate((90, 70, 80)):
        engine.spawn_task(
            name=f"sleeping{number}", params=None, available_after=timedelta(seconds=delay), priority=number
        )
    for number, (queue, priority) in enumerate((("mail", 0), ("default", 5), ("mail", 5), ("slow", -5))):
        clock.advance(1)
        engine.spawn_task(name=f"pending{number}", params=None, queue=queue, priority=priority)
    return engine


# --- sorts ------------------------------------------------------------------------------------------------------------


def test_newest_is_the_default_order(populated: DurableEngine, monitor: Monitor) -> None:
    found = names(monitor)
    assert found[0] == "pending3"
    assert found[-1] == "completed0"
    assert found == list(reversed(names(monitor, sort="oldest")))


ORDERS: tuple[tuple[dict[str, str], str], ...] = (
    ({"state": "failed"}, "failed2 failed1 failed0"),
    ({"state": "failed", "sort": "oldest"}, "failed0 failed1 failed2"),
    ({"state": "running"}, "running2 running1 running0"),
    ({"state": "running", "sort": "due"}, "running1 running2 running0"),
    ({"state": "sleeping"}, "sleeping2 sleeping1 sleeping0"),
    ({"state": "sleeping", "sort": "due"}, "sleeping1 sleeping2 sleeping0"),
    ({"state": "sleeping", "sort": "priority"}, "sleeping2 sleeping1 sleeping0"),
    ({"state": "pending", "sort": "priority"}, "pending1 pending2 pending0 pending3"),
    ({"state": "pending", "sort": "due"}, "pending1 pending2 pending0 pending3"),
    ({"state": "pending", "sort": "name"}, "pending0 pending1 pending2 pending3"),
    ({"state": "pending", "sort": "priority", "queue": "mail"}, "pending2 pending0"),
    ({"sort": "due"}, "sleeping1 sleeping2 sleeping0 running1 running2 running0"),
)


def test_list_is_in_the_order_asked_for(populated: DurableEngine, monitor: Monitor) -> None:
    for query, expected in ORDERS:
        found = page(monitor, **query)
        assert [task.name for task in found.tasks] == expected.split(), query
        assert found.next_page is None
        assert not found.truncated


def test_tasks_that_ended_last_are_newest_among_final_ones(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    early = started(engine, name="spawned-first")
    clock.advance(1)
    finish(engine, "spawned-second")
    clock.advance(1)
    engine.complete_run(run_id=early.run_id, claim_token=early.claim_token)
    assert names(monitor, state="completed") == ["spawned-first", "spawned-second"]


def test_attempts_sorts_the_most_tried_first(engine: DurableEngine, monitor: Monitor) -> None:
    task = started(engine, name="tried-twice", priority=5)
    engine.fail_run(run_id=task.run_id, reason={}, claim_token=task.claim_token)
    claim(engine)
    started(engine, name="tried-once")
    assert names(monitor, sort="attempts") == ["tried-twice", "tried-once"]


# --- filters ----------------------------------------------------------------------------------------------------------


def test_name_is_exact_or_a_pattern_with_stars(engine: DurableEngine, monitor: Monitor) -> None:
    for name in ("mail", "mail_all", "e-mail", "[mail]?", "mailx"):
        engine.spawn_task(name=name, params=None)

    def found(name: str) -> set[str]:
        return set(names(monitor, name=name))

    assert found("mail") == {"mail"}
    assert found("mail*") == {"mail", "mail_all", "mailx"}
    assert found("*mail*") == {"mail", "mail_all", "e-mail", "[mail]?", "mailx"}
    assert found("[mail]?") == {"[mail]?"}
    assert found("mai[lm]") == set()
    assert found("mail?") == set()
    assert found("MAIL") == set()
    assert set(names(monitor, name="mail*", state="pending", sort="due")) == found("mail*")


def test_text_is_looked_for_in_id_key_and_parameters(engine: DurableEngine, monitor: Monitor) -> None:
    ref = engine.spawn_task(name="by-id", params=None)
    engine.spawn_task(name="by-key", params=None, idempotency_key="charge:ORD_1")
    engine.spawn_task(name="by-params", params={"who": 'Jürgen "J" O\'Neill', "share": "50%"})
    assert names(monitor, text=ref.task_id[-12:]) == ["by-id"]
    assert names(monitor, text="ord_1") == ["by-key"]
    assert names(monitor, text="ordx1") == []
    assert names(monitor, text="Jürgen") == ["by-params"]
    assert names(monitor, text='"J"') == ["by-params"]
    assert names(monitor, text="50%") == ["by-params"]
    assert names(monitor, text="5%") == []
    assert names(monitor, text='"share": "50%"') == ["by-params"], "as it lies in the store"
    assert names(monitor, text="\\") == ["by-params"]


def test_filters_go_together(populated: DurableEngine, monitor: Monitor) -> None:
    assert names(monitor, state="pending", queue="mail", name="pending*") == ["pending2", "pending0"]
    assert names(monitor, state="completed", queue="mail") == []
    assert names(monitor, queue="slow") == ["pending3"]


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", TASK_SORTS)
def test_pages_hold_every_task_once_in_order(populated: DurableEngine, monitor: Monitor, sort: str) -> None:
    for state in STATES:
        whole = page(monitor, state=state, sort=sort)
        assert whole.next_page is None
        assert all_pages(monitor, state=state, sort=sort, limit=2) == list(whole.tasks), state
        assert all_pages(monitor, state=state, sort=sort, limit=1) == list(whole.tasks), state


@pytest.mark.parametrize("sort", TASK_SORTS)
def test_page_goes_on_where_the_last_one_ended_whatever_was_inserted(
    populated: DurableEngine, monitor: Monitor, sort: str
) -> None:
    before = [task.task_id for task in page(monitor, state="pending", sort=sort).tasks]
    first = page(monitor, state="pending", sort=sort, limit=2)
    inserted = {populated.spawn_task(name="pending1", params=None, priority=5).task_id for _ in range(3)}
    rest = [task.task_id for task in page(monitor, state="pending", sort=sort, after=first.next_page).tasks]
    assert [task_id for task_id in rest if task_id not in inserted] == before[2:]


def test_runs_of_one_time_are_paged_without_gaps(engine: DurableEngine, monitor: Monitor) -> None:
    for number in range(7):
        engine.spawn_task(name=f"n{number}", params=None, available_after=timedelta(seconds=9))
    assert [task.name for task in all_pages(monitor, state="sleeping", sort="due", limit=3)] == [
        f"n{number}" for number in range(7)
    ]


@pytest.mark.parametrize(
    "query",
    [
        {"sort": "sideways"},
        {"state": "resting"},
        {"limit": 0},
        {"after": "no page"},
        {"after": "WyJkdWUiLCAxXQ=="},
        {"text": "x" * 2000},
    ],
)
def test_query_that_cannot_be_asked_is_refused(monitor: Monitor, query: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        page(monitor, **query)


def test_page_of_another_order_is_refused(populated: DurableEngine, monitor: Monitor) -> None:
    with pytest.raises(InvalidValue, match="begin with the first page"):
        page(monitor, sort="oldest", after=page(monitor, limit=2).next_page)


# --- a search that runs out of time -----------------------------------------------------------------------------------

MANY = 12_000


@pytest.fixture
def large(path: Path, clock: ManualClock) -> Path:
    """A store with very many pending tasks, the oldest of which alone is named `needle`."""
    DurableEngine(path, clock=clock).close()
    at = clock().isoformat(timespec="microseconds")
    with plain(path) as connection:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO tasks (task_id, task_name, params, state, attempts, enqueue_at, last_attempt_run) "
            "VALUES (?, ?, 'null', 'pending', 1, ?, ?)",
            ((f"t{n:06}", "hay" if n else "needle", at, f"r{n:06}") for n in range(MANY)),
        )
        connection.executemany(
            "INSERT INTO runs (run_id, task_id, attempt, state, available_at) VALUES (?, ?, 1, 'pending', ?)",
            ((f"r{n:06}", f"t{n:06}", at) for n in range(MANY)),
        )
        connection.execute("COMMIT")
    engine = DurableEngine(path, clock=clock)
    engine.check(repair=True)
    engine.close()
    return path


class Impatient(Look):
    """A look whose time is over after a few thousand of SQLite's instructions."""

    _asked = 0

    def more_time(self) -> None:
        self._asked = 0
        super().more_time()

    def _out_of_time(self) -> bool:
        self._asked += 1
        return self._asked > 10


def look_briefly(path: Path, now: datetime, query: TaskQuery) -> TaskPage:
    def view(connection: Any, source: Source) -> TaskPage:
        with closing(Impatient(connection, str(path), now)) as look:
            return task_page(look, query, Progress())

    with closing(Reader(str(path))) as reader:
        return reader.read(view)


def test_search_that_runs_out_of_time_goes_on_with_the_next_page(large: Path, clock: ManualClock) -> None:
    found = look_briefly(large, clock(), TaskQuery(name="needle"))
    assert (found.tasks, found.truncated) == ((), True)
    pages = 1
    while not found.tasks:
        assert found.next_page is not None
        found = look_briefly(large, clock(), TaskQuery(name="needle", after=found.next_page))
        pages += 1
    assert [task.name for task in found.tasks] == ["needle"]
    assert 2 < pages < MANY / 256


def test_sorting_without_an_index_is_bounded_and_says_so(large: Path, clock: ManualClock) -> None:
    with Monitor(large, clock=clock) as monitor:
        found = page(monitor, sort="name", limit=5)
        assert found.truncated
        assert monitor.snapshot(Want(tasks=TaskQuery(sort="name"))).truncated == ("tasks",)
        assert [task.name for task in found.tasks] == ["hay"] * 5
        assert names(monitor, state="pending", sort="oldest", limit=1) == ["needle"]
        assert names(monitor, state="pending", sort="newest", limit=1) == ["hay"]
        ids = [task.task_id for task in page(monitor, state="pending", sort="due", limit=3).tasks]
        assert ids == ["t000000", "t000001", "t000002"]


# --- how far a task is ------------------------------------------------------------------------------------------------


def test_declared_steps_are_the_total(engine: DurableEngine, monitor: Monitor) -> None:
    task = started(engine, steps=["a", "b", "c"])
    engine.checkpoint(task_id=task.task_id, step_name="a", fn=lambda: 1)
    (row,) = page(monitor).tasks
    assert (row.steps_done, row.steps_total, row.steps_declared) == (1, 3, True)


def test_a_step_that_was_not_declared_does_not_count_for_one_that_was(
    engine: DurableEngine, monitor: Monitor
) -> None:
    task = started(engine, steps=["a", "b"])
    for step in ("a", "extra"):
        engine.checkpoint(task_id=task.task_id, step_name=step, fn=lambda: 1)
    (row,) = page(monitor).tasks
    assert (row.steps_done, row.steps_total) == (1, 2)


def test_completed_tasks_of_the_name_tell_the_total(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    started(engine, name="charge")
    (row,) = page(monitor, state="running").tasks
    assert (row.steps_total, row.steps_declared) == (None, False)
    for _ in range(3):
        finish(engine, "charge", "a", "b")
    finish(engine, "charge", "a")
    finish(engine, "other", "a", "b", "c")
    clock.advance(60)
    (row,) = page(monitor, state="running").tasks
    assert (row.steps_total, row.steps_declared) == (2, False)


# --- one task ---------------------------------------------------------------------------------------------------------


def test_detail_tells_the_whole_story(engine: DurableEngine, monitor: Monitor, clock: ManualClock) -> None:
    began = clock()
    task = started(
        engine,
        name="charge",
        params={"order": 1},
        steps=["reserve", "approval"],
        retry=RetryStrategy(kind="fixed", base_seconds=10, jitter_factor=0),
        max_attempts=4,
        max_reclaims=2,
        idempotency_key="k",
    )
    clock.advance(2)
    engine.checkpoint(task_id=task.task_id, step_name="reserve", fn=lambda: "ü")
    clock.advance(1)
    engine.fail_run(
        run_id=task.run_id,
        reason={"type": "ValueError", "message": "no  such\nsku", "traceback": "…"},
        claim_token=task.claim_token,
    )
    clock.advance(10)
    second = claim(engine, worker_id="w2")
    with suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=second.run_id,
            task_id=second.task_id,
            step_name="approval",
            event_name="approved",
            timeout_secs=5,
            claim_token=second.claim_token,
        )
    found = detail(monitor, task.task_id)
    assert found.task.error == "ValueError: no such sku"
    assert (found.task.state, found.task.attempts, found.task.max_attempts) == ("sleeping", 2, 4)
    assert (found.task.wake_event, found.task.sleep_cause) == ("approved", "event")
    assert found.task.due_at == clock() + timedelta(seconds=5)
    assert (found.params, found.result, found.steps, found.max_reclaims) == (
        '{"order": 1}',
        None,
        ("reserve", "approval"),
        2,
    )
    assert found.retry is not None
    assert '"fixed"' in found.retry
    assert [(attempt.attempt, attempt.state, attempt.worker_id) for attempt in found.attempts] == [
        (1, "failed", "w1"),
        (2, "sleeping", None),
    ]
    assert found.attempts[0].ended_at == began + timedelta(seconds=3)
    assert '"no  such\\nsku"' in str(found.attempts[0].failure_reason)
    assert [(wait.step_name, wait.event_name, wait.waiting) for wait in found.waits] == [
        ("approval", "approved", True)
    ]

    clock.advance(6)
    third = claim(engine, worker_id="w2")
    engine.wait_for_event(
        run_id=third.run_id,
        task_id=third.task_id,
        step_name="approval",
        event_name="approved",
        claim_token=third.claim_token,
    )
    clock.advance(1)
    engine.checkpoint(task_id=task.task_id, step_name="none", fn=lambda: None)
    engine.complete_run(run_id=third.run_id, result=[1], claim_token=third.claim_token)
    found = detail(monitor, task.task_id)
    assert [
        (step.name, step.value, step.size, step.seconds, step.timed_out) for step in found.checkpoints
    ] == [
        ("reserve", '"\\u00fc"', 8, 2.0, False),
        ("approval", None, 0, 17.0, True),
        ("none", "null", 4, 1.0, False),
    ]
    assert found.result == "[1]"
    assert found.waits == ()
    assert found.task.ended_at == found.attempts[-1].ended_at == clock()


def test_cancelled_run_ended_when_its_task_did(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    task = started(engine)
    clock.advance(3)
    engine.cancel_task(task.task_id)
    (attempt,) = detail(monitor, task.task_id).attempts
    assert attempt.ended_at == clock()


def test_steps_take_no_negative_time_when_the_clock_steps_back(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    task = started(engine)
    clock.advance(-60)
    engine.checkpoint(task_id=task.task_id, step_name="a", fn=lambda: 1)
    (step,) = detail(monitor, task.task_id).checkpoints
    assert step.seconds == 0


def test_steps_stand_in_the_order_in_which_they_finished_when_the_clock_steps_back(
    engine: DurableEngine, monitor: Monitor, clock: ManualClock
) -> None:
    task = started(engine)
    for name in ("first", "second"):
        engine.checkpoint(task_id=task.task_id, step_name=name, fn=lambda: 1)
        clock.advance(-60)
    assert [step.name for step in detail(monitor, task.task_id).checkpoints] == ["first", "second"]


def test_task_that_is_not_there_has_no_detail(monitor: Monitor) -> None:
    assert monitor.snapshot(Want(task_id="nobody")).task is None


# --- by id ------------------------------------------------------------------------------------------------------------


def test_task_is_found_by_its_id_its_runs_id_or_a_part(engine: DurableEngine, monitor: Monitor) -> None:
    refs = [engine.spawn_task(name=f"n{number}", params=None) for number in range(3)]
    ref = refs[1]
    for part in (ref.task_id, ref.run_id, ref.task_id[-10:], ref.task_id[5:]):
        assert [task.task_id for task in monitor.find_tasks(part)] == [ref.task_id]
    assert len(monitor.find_tasks("0")) == 3
    assert len(monitor.find_tasks("0", limit=2)) == 2
    assert monitor.find_tasks("%") == ()
    assert monitor.find_tasks("") == ()
