"""What a filter line finds: in the task list, among leases, sleepers, approvals and failures, on new files and old ones."""

from __future__ import annotations

import operator
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ManualClock, claim, started
from dura import DurableEngine, RetryStrategy, WorkflowSuspended
from dura.errors import InvalidValue
from dura.filters import FIELDS, TASK_FIELDS, parse
from dura.monitor import Monitor
from dura.records import Condition, FailureKey, Snapshot, TaskQuery, TaskRow, Want
from dura.states import State

FIXTURE = Path(__file__).parent / "fixtures" / "store-1.3.0.db"


@pytest.fixture
def monitor(path: Path, clock: ManualClock, engine: DurableEngine) -> Iterator[Monitor]:
    with Monitor(path, clock=clock) as monitor:
        yield monitor


def found(monitor: Monitor, line: str, **query: Any) -> list[TaskRow]:
    page = monitor.snapshot(Want(tasks=TaskQuery(where=parse(line), **query))).tasks
    assert page is not None
    return list(page.tasks)


def names(monitor: Monitor, line: str, **query: Any) -> str:
    return " ".join(sorted(task.name for task in found(monitor, line, **query)))


@pytest.fixture
def shop(engine: DurableEngine, clock: ManualClock) -> DurableEngine:
    """A task of each kind that a field can tell apart, each with a name of its own."""
    task = started(engine, name="old", params={"to": "ännä"}, idempotency_key="ord_1")
    engine.checkpoint(task_id=task.task_id, step_name="pack", fn=lambda: 1)
    engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
    clock.advance(600)
    task = started(engine, name="import_a", steps=["load", "parse"], max_attempts=1)
    engine.checkpoint(task_id=task.task_id, step_name="load", fn=lambda: 1)
    engine.fail_run(
        run_id=task.run_id,
        reason={"type": "TimeoutError", "message": "no ⚡ answer", "traceback": "secret.py"},
        claim_token=task.claim_token,
    )
    task = started(
        engine, name="retried", retry=RetryStrategy(kind="fixed", base_seconds=90, jitter_factor=0)
    )
    engine.fail_run(run_id=task.run_id, reason={"message": "plain words"}, claim_token=task.claim_token)
    task = started(engine, name="waits", queue="mail")
    engine.checkpoint(task_id=task.task_id, step_name="send", fn=lambda: 1)
    with suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=task.run_id,
            task_id=task.task_id,
            step_name="answer",
            event_name="approved:ord_7",
            timeout_secs=60,
            claim_token=task.claim_token,
        )
    engine.spawn_task(name="runs", params=None)
    claim(engine, worker_id="web1:7:1", timeout_secs=60)
    engine.spawn_task(name="odd[1]?", params={"note": 'say "hi"'}, queue="mail")
    engine.spawn_task(name="later", params=None, available_after=timedelta(seconds=30))
    return engine


FOUND = (
    ("name:import_*", "import_a"),
    ("name:i*,o*", "import_a odd[1]? old"),
    ("name:odd[1]?", "odd[1]?"),
    ("queue:mail", "odd[1]? waits"),
    ("queue:m*", "odd[1]? waits"),
    ("-queue:mail state:sleeping", "later retried"),
    ("state:failed,completed", "import_a old"),
    ("-state:failed,completed,sleeping", "odd[1]? runs"),
    ("key:ORD", "old"),
    ("key:*_1", "old"),
    ("key:*_", ""),
    ("error:timeout", "import_a"),
    ("error:⚡", "import_a"),
    ("error:secret", ""),
    ("error:plain", "retried"),
    ("error:TimeoutError:*", "import_a"),
    ("-error:*", "later odd[1]? old runs waits"),
    ("step:parse", "import_a"),
    ("step:load", ""),
    ("step:answer", "waits"),
    ("step:pack", ""),
    ("age>5m", "old"),
    ("age<=10m -age<0.5s", "old"),
    ("attempts>1", "retried"),
    ("attempts:1 age<1m", "import_a later odd[1]? runs waits"),
    ("worker:web1*", "runs"),
    ("event:APPROVED", "waits"),
    ("-event:approved state:s", "later retried"),
    ("ännä", "old"),
    ('"say \\"hi\\""', "odd[1]?"),
    ("name:old name:odd*", ""),
)


def test_each_field_finds_what_it_says(shop: DurableEngine, monitor: Monitor) -> None:
    for line, expected in FOUND:
        assert names(monitor, line) == expected, line
        assert names(monitor, line, sort="name") == expected, line


def test_a_part_of_an_id_is_found_and_so_is_a_run(shop: DurableEngine, monitor: Monitor) -> None:
    task = found(monitor, "name:old")[0]
    for line in (f"id:{task.task_id}", f"id:{task.task_id[3:20].upper()}", f"id:{task.task_id[:12]}*"):
        assert names(monitor, line) == "old", line
    assert names(monitor, f"id:{task.run_id}") == "old"


def look(monitor: Monitor, line: str, **want: Any) -> Snapshot:
    return monitor.snapshot(Want(where=parse(line), **want))


def test_lists_of_runs_are_filtered_in_the_store(shop: DurableEngine, monitor: Monitor) -> None:
    """The cap counts rows that match: what is filtered out takes no place."""
    both = look(monitor, "", leases=9, sleepers=9, approvals=9)
    assert (len(both.leases), len(both.sleepers), len(both.approvals)) == (1, 3, 1)
    assert [row.name for row in look(monitor, "name:later", sleepers=1).sleepers] == ["later"]
    assert [row.name for row in look(monitor, "worker:web1* age<1m", leases=1).leases] == ["runs"]
    assert look(monitor, "worker:web2*", leases=9).leases == ()
    assert [row.name for row in look(monitor, "queue:mail event:ord_7", approvals=1).approvals] == ["waits"]
    unmatched = look(monitor, "name:other", approvals=9)
    assert (unmatched.approvals, unmatched.waiting) == ((), 1)


def test_failures_are_filtered_by_their_own_error_and_their_tasks_are_what_a_group_means(
    shop: DurableEngine, monitor: Monitor
) -> None:
    assert keys(look(monitor, "", failure_groups="error")) == ["TimeoutError", "no type"]
    assert keys(look(monitor, "name:import_*", failure_groups="error")) == ["TimeoutError"]
    assert keys(look(monitor, "error:plain", failure_groups="error")) == ["no type"]
    key = FailureKey(by="error", key="TimeoutError", where=parse("name:import_*"))
    other = FailureKey(by="error", key="TimeoutError", where=parse("name:export_*"))
    seen = monitor.snapshot(Want(failed_tasks=key)).failed_tasks
    none = monitor.snapshot(Want(failed_tasks=other)).failed_tasks
    assert seen is not None
    assert none is not None
    assert ([task.name for task in seen.tasks], none.tasks) == (["import_a"], ())


def keys(snapshot: Snapshot) -> list[str]:
    groups = snapshot.failure_groups
    assert groups is not None
    return sorted(group.key for group in groups.groups)


def test_the_longest_filter_that_can_be_typed_is_answered(shop: DurableEngine, monitor: Monitor) -> None:
    values = ",".join("ab"[place % 2] for place in range(100))
    line = " ".join(f"{field}:{values}" for field in ("name", "error", "step", "id", "event") * 3)
    assert found(monitor, line) == []
    everything = look(monitor, line, leases=9, sleepers=9, approvals=9, failure_groups="error")
    assert (everything.leases, everything.sleepers, everything.approvals) == ((), (), ())
    many = Condition(field="name", values=("x",) * 201)
    for where in ((many,), (Condition(field="name", values=("x",)),) * 201):
        with pytest.raises(InvalidValue, match="at most 200"):
            monitor.snapshot(Want(where=where, leases=1))


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition(field="colour", values=("red",)), "no field 'colour'"),
        (Condition(field="state", values=("resting",)), "state must be one of"),
        (Condition(field="name"), "needs a value"),
        (Condition(field="age", amount=5), "cannot be compared with ':'"),
        (Condition(field="attempts", relation="~", amount=5), "cannot be compared with '~'"),
        (Condition(field="key", values=("x" * 1001,)), "at most 1000 characters"),
    ],
)
def test_a_condition_that_cannot_be_asked_is_refused(
    monitor: Monitor, condition: Condition, words: str
) -> None:
    with pytest.raises(InvalidValue, match=words):
        monitor.snapshot(Want(tasks=TaskQuery(where=(condition,))))


def test_every_field_of_the_language_is_answered_by_the_store(shop: DurableEngine, monitor: Monitor) -> None:
    assert set(TASK_FIELDS) | {"actor", "action", "target"} == set(FIELDS)
    for name in TASK_FIELDS:
        condition = (
            Condition(field=name, relation=">", amount=0)
            if name in ("age", "attempts")
            else Condition(field=name, values=("failed",))
        )
        snapshot = monitor.snapshot(
            Want(tasks=TaskQuery(where=(condition,)), where=(condition,), leases=1, sleepers=1, approvals=1)
        )
        assert snapshot.truncated == ()


VALUES = {
    "name": ["old", "o*", "*a*", "odd[1]?", "OLD", "none", "*"],
    "queue": ["mail", "m*l", "default", "x"],
    "state": [state.value for state in State],
    "key": ["ord", "ORD_1", "o*1", "%", "x"],
}

CONDITIONS = st.one_of(
    st.sampled_from(sorted(VALUES)).flatmap(
        lambda field: st.builds(
            lambda values, negated: Condition(field=field, values=tuple(values), negated=negated),
            st.lists(st.sampled_from(VALUES[field]), min_size=1, max_size=3),
            st.booleans(),
        )
    ),
    st.builds(
        lambda field, relation, amount, negated: Condition(
            field=field, relation=relation, amount=amount, negated=negated
        ),
        st.sampled_from(["age", "attempts"]),
        st.sampled_from([">", ">=", "<", "<="]),
        st.sampled_from([0.0, 1.0, 2.0, 600.0, 600.5]),
        st.booleans(),
    ),
)


def holds(condition: Condition, task: TaskRow, now: datetime) -> bool:
    """What a condition means, said once more."""
    compare = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
    if condition.field in ("age", "attempts"):
        assert task.enqueued_at is not None
        age = (now - task.enqueued_at).total_seconds()
        found = compare[condition.relation](
            age if condition.field == "age" else task.attempts, condition.amount
        )
        return bool(found) != condition.negated
    text = {"name": task.name, "queue": task.queue, "state": task.state, "key": task.idempotency_key}[
        condition.field
    ]
    return (
        any(alike(text, value, part=condition.field == "key") for value in condition.values)
        != condition.negated
    )


def alike(text: str | None, value: str, *, part: bool) -> bool:
    if text is None:
        return False
    if part:
        text, value = text.lower(), value.lower()
    pattern = value.replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(text, pattern) or (part and "*" not in value and value in text)


@pytest.mark.parametrize("sort", ["newest", "name"])
def test_conditions_let_through_what_they_say_however_they_are_combined(
    shop: DurableEngine, monitor: Monitor, clock: ManualClock, sort: str
) -> None:
    everything = found(monitor, "")

    @given(st.lists(CONDITIONS, max_size=4))
    @settings(max_examples=60)
    def check(where: list[Condition]) -> None:
        page = monitor.snapshot(Want(tasks=TaskQuery(where=tuple(where), sort=sort))).tasks
        assert page is not None
        expected = {
            task.task_id for task in everything if all(holds(condition, task, clock()) for condition in where)
        }
        assert {task.task_id for task in page.tasks} == expected

    check()


# --- sorts ------------------------------------------------------------------------------------------------------------


def test_every_column_sorts_both_ways_and_pages_go_on_in_order(shop: DurableEngine, monitor: Monitor) -> None:
    for sort in (
        "newest",
        "due",
        "priority",
        "attempts",
        "name",
        "queue",
        "state",
        "id",
        "progress",
        "error",
    ):
        forth = [task.task_id for task in found(monitor, "", sort=sort)]
        back = [task.task_id for task in found(monitor, "", sort=f"-{sort}")]
        assert forth == back[::-1], sort
        assert pages(monitor, sort) == forth, sort
        assert pages(monitor, f"-{sort}") == back, sort


def pages(monitor: Monitor, sort: str) -> list[str]:
    ids: list[str] = []
    after = None
    while True:
        page = monitor.snapshot(Want(tasks=TaskQuery(sort=sort, limit=2, after=after))).tasks
        assert page is not None
        ids += [task.task_id for task in page.tasks]
        after = page.next_page
        if after is None:
            return ids


# --- what a filter is completed with, and jumping ---------------------------------------------------------------------


def test_known_words_are_those_of_late(shop: DurableEngine, monitor: Monitor) -> None:
    known = monitor.snapshot(Want(known=True)).known
    assert known is not None
    assert known.steps == ("load", "pack", "parse", "send")
    assert known.errors == ("TimeoutError",)
    assert known.workers == ("web1:7:1",)
    assert known.events == ("approved:ord_7",)


def test_a_snapshot_finds_tasks_by_a_part_of_their_id(shop: DurableEngine, monitor: Monitor) -> None:
    task = found(monitor, "name:waits")[0]
    assert [row.name for row in monitor.snapshot(Want(find=task.task_id[5:])).found] == ["waits"]
    assert len(monitor.snapshot(Want(find="-", found=3)).found) in (0, 3)
    assert monitor.snapshot(Want(find="no such id")).found == ()


# --- a file of 1.3.0 --------------------------------------------------------------------------------------------------


def test_a_release_file_is_filtered_like_the_same_file_upgraded(tmp_path: Path, clock: ManualClock) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    for path in (old, new):
        shutil.copyfile(FIXTURE, path)
    DurableEngine(new, clock=clock).close()
    with Monitor(old, clock=clock) as before, Monitor(new, clock=clock) as after:
        for line in (
            "",
            "name:*o*",
            "state:completed",
            "error:e",
            "attempts>1",
            "age>1d",
            "step:*",
            "event:*",
            "-key:*",
        ):
            seen = {task.task_id for task in found(before, line, limit=1000)}
            upgraded = {task.task_id for task in found(after, line, limit=1000)}
            # Upgrading ends tasks that had come back to life, so what they are at differs.
            assert len(seen ^ upgraded) <= 3, line
            old_look = before.snapshot(
                Want(where=parse(line), leases=9, sleepers=9, failure_groups="error", known=True)
            )
            assert old_look.truncated == ()
