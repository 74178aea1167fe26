"""What a handler's step may take for granted: that its claim was live and the step unused, as seen a moment ago."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, plain, rows, started
from dura import ClaimedTask, DurableEngine, LeaseLost, StoreBusy, TaskCancelledError, process_task
from dura import current as current_module
from dura.current import holding
from dura.store import commits as commits_module
from dura.store.commits import disturbances


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock of claims, which stands still unless the test moves it."""
    now = [0.0]
    monkeypatch.setattr(current_module, "monotonic", lambda: now[0])
    return now


def step(engine: DurableEngine, task: ClaimedTask, name: str, result: object = None) -> Any:
    return engine.checkpoint(task_id=task.task_id, step_name=name, fn=lambda: result)


def step_by_token(engine: DurableEngine, task: ClaimedTask, name: str) -> None:
    engine.checkpoint(
        task_id=task.task_id,
        step_name=name,
        fn=lambda: None,
        owner_run_id=task.run_id,
        claim_token=task.claim_token,
    )


def looks(engine: DurableEngine, call: Callable[[], object]) -> int:
    """How many statements of the call read tables outside a transaction."""
    statements: list[str] = []
    engine.database.read(lambda connection: connection.set_trace_callback(statements.append))
    call()
    engine.database.read(lambda connection: connection.set_trace_callback(None))
    return len(statements)


def test_a_step_that_follows_another_at_once_does_not_look_again(
    engine: DurableEngine, seconds: list[float]
) -> None:
    task = started(engine)
    seconds[0] += 0.06
    with holding(engine, task):
        assert looks(engine, lambda: step(engine, task, "a")) > 0
        for name in ("b", "c"):
            seconds[0] += 0.04
            assert looks(engine, partial(step, engine, task, name)) == 0
        seconds[0] += 0.06
        assert looks(engine, lambda: step(engine, task, "d")) > 0


def test_the_first_step_of_a_task_without_steps_does_not_look(
    engine: DurableEngine, seconds: list[float]
) -> None:
    task = started(engine)
    with holding(engine, task):
        assert looks(engine, lambda: step(engine, task, "a")) == 0
    task = started(engine)
    seconds[0] += 0.06
    with holding(engine, task):
        assert looks(engine, lambda: step(engine, task, "a")) > 0


def test_a_claim_that_is_worked_on_again_finds_the_steps_of_the_first_time(
    path: Path, clock: ManualClock, seconds: list[float]
) -> None:
    """The outcome could not be written, and the caller tries the whole run once more, at once."""
    engine = DurableEngine(path, clock=clock, busy_timeout_ms=0)
    task, ran = started(engine), []

    def pay(engine: DurableEngine, task: ClaimedTask) -> None:
        engine.checkpoint(task_id=task.task_id, step_name="pay", fn=lambda: ran.append("paid"))

    def pay_and_lock(engine: DurableEngine, task: ClaimedTask) -> None:
        pay(engine, task)
        other.execute("BEGIN IMMEDIATE")

    with plain(path) as other:
        with pytest.raises(StoreBusy):
            process_task(engine, handlers={task.name: pay_and_lock}, task=task)
        other.execute("ROLLBACK")
    process_task(engine, handlers={task.name: pay}, task=task)
    assert ran == ["paid"]
    assert engine.get_task(task.task_id).state == "completed"
    engine.close()


def test_the_first_step_of_an_attempt_finds_what_an_earlier_one_finished(
    engine: DurableEngine, clock: ManualClock, seconds: list[float]
) -> None:
    task = started(engine)
    with holding(engine, task):
        step(engine, task, "a", 1)
    engine.fail_run(run_id=task.run_id, reason={}, claim_token=task.claim_token)
    again = claim(engine)
    with holding(engine, again):
        assert step(engine, again, "a", 2) == 1


def test_a_step_kept_between_claim_and_first_step_is_found(
    engine: DurableEngine, path: Path, seconds: list[float]
) -> None:
    task = started(engine)
    DurableEngine(path).checkpoint(task_id=task.task_id, step_name="a", fn=lambda: "theirs")
    with holding(engine, task):
        assert step(engine, task, "a", "ours") == "theirs"


def test_the_first_step_under_an_engine_that_did_not_make_the_claim_looks(
    engine: DurableEngine, path: Path, seconds: list[float]
) -> None:
    task = started(engine)
    other = DurableEngine(path)
    with holding(other, task):
        assert looks(other, lambda: step(other, task, "a")) > 0


def test_a_finished_step_is_not_run_again_whatever_was_seen(
    engine: DurableEngine, seconds: list[float]
) -> None:
    task = started(engine)
    with holding(engine, task):
        assert [step(engine, task, "a", 1), step(engine, task, "b", 2)] == [1, 2]
        assert [step(engine, task, "a", 3), step(engine, task, "b", 4)] == [1, 2]


def test_a_step_kept_by_somebody_of_this_process_is_not_run_again(
    engine: DurableEngine, path: Path, seconds: list[float]
) -> None:
    task = started(engine)
    beside = DurableEngine(path)
    with holding(engine, task):
        step(engine, task, "a")
        beside.checkpoint(task_id=task.task_id, step_name="b", fn=lambda: "theirs")
        assert step(engine, task, "b", "mine") == "theirs"
    beside.close()


def test_a_step_kept_with_the_claims_token_is_not_run_again(
    engine: DurableEngine, seconds: list[float]
) -> None:
    """As a thread that the handler starts keeps it, which has no current claim."""
    task = started(engine)
    ran: list[str] = []
    with holding(engine, task):
        step(engine, task, "a")
        step_by_token(engine, task, "b")
        engine.checkpoint(task_id=task.task_id, step_name="b", fn=lambda: ran.append("b"))
    assert ran == []


def test_a_step_kept_in_an_open_update_is_not_run_again_in_it(
    engine: DurableEngine, seconds: list[float]
) -> None:
    task = started(engine)
    ran: list[str] = []

    def update(_: object) -> None:
        step_by_token(engine, task, "b")
        engine.checkpoint(task_id=task.task_id, step_name="b", fn=lambda: ran.append("b"))

    with holding(engine, task):
        step(engine, task, "a")
        engine.update_state(namespace="n", key="k", fn=update)
    assert ran == []


def test_a_step_whose_keeping_raised_is_looked_for(
    engine: DurableEngine, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C right after the commit: the result was kept."""
    task = started(engine)
    write_together = engine.database.write_together

    def interrupted(*wanted: Any) -> None:
        write_together(*wanted)
        raise KeyboardInterrupt

    ran: list[str] = []
    with holding(engine, task):
        step(engine, task, "a")
        with monkeypatch.context() as patched:
            patched.setattr(engine.database, "write_together", interrupted)
            with pytest.raises(KeyboardInterrupt):
                step(engine, task, "b")
        engine.checkpoint(task_id=task.task_id, step_name="b", fn=lambda: ran.append("b"))
    assert ran == []


@pytest.mark.parametrize("by", ["the same engine", "another engine of the process"])
def test_a_cancel_from_this_process_stops_the_very_next_step(
    engine: DurableEngine, path: Path, seconds: list[float], by: str
) -> None:
    task = started(engine)
    other = engine if by == "the same engine" else DurableEngine(path)
    ran: list[str] = []
    with holding(engine, task):
        step(engine, task, "a")
        other.cancel_task(task.task_id)
        with pytest.raises(TaskCancelledError):
            engine.checkpoint(task_id=task.task_id, step_name="b", fn=lambda: ran.append("b"))
    assert ran == []
    other.close()


def test_a_claim_that_was_taken_over_in_this_process_runs_no_further_step(
    engine: DurableEngine, clock: ManualClock, seconds: list[float]
) -> None:
    task = started(engine, lease=10)
    ran: list[str] = []
    with holding(engine, task):
        step(engine, task, "a")
        clock.advance(11)
        assert claim(engine, worker_id="w2").run_id == task.run_id
        with pytest.raises(LeaseLost):
            engine.checkpoint(task_id=task.task_id, step_name="b", fn=lambda: ran.append("b"))
    assert ran == []


@pytest.mark.parametrize(("later", "runs"), [(0.04, 1), (0.06, 0)])
def test_what_another_process_ended_is_noticed_within_50_ms_and_keeps_nothing_before(
    engine: DurableEngine, path: Path, seconds: list[float], later: float, runs: int
) -> None:
    task = started(engine)
    ran: list[str] = []
    with holding(engine, task):
        step(engine, task, "a")
        with plain(path) as other:
            other.execute("UPDATE runs SET state = 'cancelled', claim_expires_at = NULL")
            other.execute("UPDATE tasks SET state = 'cancelled', terminal_at = enqueue_at")
        seconds[0] += later
        with pytest.raises(TaskCancelledError):
            engine.checkpoint(task_id=task.task_id, step_name="b", fn=lambda: ran.append("b"))
    assert len(ran) == runs
    assert rows(path, "SELECT checkpoint_name FROM checkpoints") == [("a",)]
    engine.check(repair=True)


def test_a_cancel_that_ctrl_c_met_right_after_its_commit_stops_the_very_next_step(
    engine: DurableEngine, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = started(engine)
    ran: list[str] = []
    disturb, met = commits_module._disturb, False

    def interrupted() -> None:
        nonlocal met
        if not met:
            met = True
            raise KeyboardInterrupt
        disturb()

    monkeypatch.setattr(commits_module, "_disturb", interrupted)
    with holding(engine, task):
        step(engine, task, "a")
        with pytest.raises(KeyboardInterrupt):
            engine.cancel_task(task.task_id)
        with pytest.raises(TaskCancelledError):
            engine.checkpoint(task_id=task.task_id, step_name="b", fn=lambda: ran.append("b"))
    assert ran == []


def test_nothing_is_taken_for_granted_once_the_handler_has_ended(
    engine: DurableEngine, seconds: list[float]
) -> None:
    task = started(engine)
    with holding(engine, task) as held:
        step(engine, task, "a")
        assert held.shows_unused("b", disturbances())
    assert not held.shows_unused("b", disturbances())


def test_a_look_that_began_before_a_result_was_kept_shows_nothing(engine: DurableEngine) -> None:
    """Another thread of the handler keeps a step while the look is on its way."""
    task = started(engine)
    with holding(engine, task) as held:
        before = held.kept
        step(engine, task, "a")
        held.forget()
        held.saw([], disturbances=disturbances(), kept=before)
        assert not held.shows_unused("a", disturbances())
