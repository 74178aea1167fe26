"""What is in the store before a group meets."""

from __future__ import annotations

from conftest import claim as claimed
from conftest import started
from dura import ClaimedTask
from interleavings.stage import Stage


def held(stage: Stage) -> ClaimedTask:
    """A run that is held."""
    return started(stage.engines[0])


def expired(stage: Stage) -> ClaimedTask:
    """A run whose lease has run out."""
    task = started(stage.engines[0], lease=10)
    stage.clock.advance(10)
    return task


def about_to_expire(stage: Stage) -> ClaimedTask:
    task = started(stage.engines[0], lease=10)
    stage.clock.advance(9.5)
    return task


def two_pending(stage: Stage) -> list[str]:
    """Two tasks, of which the second comes first."""
    engine = stage.engines[0]
    return [engine.spawn_task(name="a", params=None, priority=priority).task_id for priority in (0, 5)]


def two_held(stage: Stage) -> list[ClaimedTask]:
    """Two runs that are held, and one that is pending."""
    tasks = [started(stage.engines[0]) for _ in range(2)]
    stage.engines[0].spawn_task(name="a", params=None)
    return tasks


def failed_long_ago(stage: Stage) -> str:
    """A task that has failed long ago, and an event as old."""
    engine = stage.engines[0]
    engine.emit_event(event_name="old")
    task = started(engine, idempotency_key="k")
    engine.checkpoint(task_id=task.task_id, step_name="s", fn=lambda: 1)
    engine.fail_run(run_id=task.run_id, reason={}, retryable=False)
    stage.clock.advance(7200)
    return task.task_id


def waits(stage: Stage) -> ClaimedTask:
    """A run that sleeps on an event, with ten seconds to go, five of which have passed."""
    engine, task = stage.engines[0], started(stage.engines[0])
    engine.await_event(
        run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e", timeout_secs=10
    )
    stage.clock.advance(5)
    return task


def at_the_deadline(stage: Stage) -> ClaimedTask:
    task = waits(stage)
    stage.clock.advance(5)
    return task


def backed_off(stage: Stage) -> ClaimedTask:
    """A task of which a step has waited for an event, and that was made to try again later."""
    engine, task = stage.engines[0], waits(stage)
    stage.clock.advance(5)
    again = claimed(engine)
    engine.defer_run(run_id=again.run_id, claim_token=again.claim_token)
    return task


def given_back(stage: Stage) -> ClaimedTask:
    """A pending run of a task that has finished a step."""
    engine, task = stage.engines[0], started(stage.engines[0])
    engine.checkpoint(task_id=task.task_id, step_name="s1", fn=lambda: 1)
    engine.give_back_run(run_id=task.run_id, claim_token=task.claim_token)
    return task


def nothing(stage: Stage) -> None:
    pass
