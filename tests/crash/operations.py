"""One operation of each kind, on a store that is made ready for it: what the crash tests interrupt.

Everything is the same each time, but for ids: the clock stands still, and chance is seeded.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, Final

from conftest import ManualClock, claim
from dura import ClaimedTask, DurableEngine, RetryStrategy, WorkflowSuspended
from dura.engine import oversight
from dura.engine.pace import Pace
from dura.store.claim import Claim
from dura.store.settle import Settlement

LARGE: Final = "x" * 20_000
"""A value for which the file has to grow."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """What is interrupted."""

    prepare: Callable[[DurableEngine, ManualClock], Facts]
    """Makes the store ready, and returns what `act` needs, as JSON has it."""
    act: Callable[[DurableEngine, Facts], object]
    commits: int | None = 1
    """In how many transactions it is done; None: in several, each of which leaves the store in order."""


def _held(engine: DurableEngine, clock: ManualClock, **spawn: Any) -> Facts:
    """A task whose first attempt failed, whose second waited in vain and is held now."""
    retry = RetryStrategy(kind="fixed", base_seconds=5)
    engine.spawn_task(
        **{"name": "job", "params": LARGE, "retry": retry, "priority": 9, "max_attempts": 4, **spawn}
    )
    task = claim(engine)
    for step in ("first", "second", "third"):
        engine.checkpoint(**_step(task, step), fn=lambda: LARGE)
    engine.fail_run(**_run(task), reason={"message": "no"})
    clock.advance(10)
    task = claim(engine)
    assert engine.await_event(
        **_run(task), task_id=task.task_id, step_name="wait", event_name="late", timeout_secs=5
    )[0]
    clock.advance(10)
    task = claim(engine)
    return {
        "task_id": task.task_id, "queue": task.queue, "name": task.name,
        "run_id": task.run_id, "claim_token": task.claim_token,
    }  # fmt: skip


def _run(task: ClaimedTask) -> Facts:
    return {"run_id": task.run_id, "claim_token": task.claim_token}


def _step(task: ClaimedTask, step: str) -> Facts:
    return {
        "task_id": task.task_id,
        "step_name": step,
        "owner_run_id": task.run_id,
        "claim_token": task.claim_token,
    }


def _held_run(facts: Facts) -> Facts:
    return {"run_id": facts["run_id"], "claim_token": facts["claim_token"]}


def _parked(count: int) -> Callable[[DurableEngine, ManualClock], Facts]:
    def prepare(engine: DurableEngine, clock: ManualClock) -> Facts:
        for _ in range(count):
            engine.spawn_task(name="job", params=None)
            task = claim(engine)
            engine.await_event(**_run(task), task_id=task.task_id, step_name="wait", event_name="go")
        return {}

    return prepare


def _cancelled(engine: DurableEngine, clock: ManualClock) -> Facts:
    facts = _held(engine, clock)
    engine.cancel_task(facts["task_id"])
    return facts


def _delayed(engine: DurableEngine, clock: ManualClock) -> Facts:
    task = engine.spawn_task(name="job", params=LARGE, available_after=timedelta(hours=1))
    return {"task_id": task.task_id}


def _due(engine: DurableEngine, clock: ManualClock) -> Facts:
    """Expired leases, one of them too often, due sleepers, and what is pending."""
    facts = _held(engine, clock)
    engine.spawn_task(name="poison", params=None, max_reclaims=0, priority=5)
    claim(engine)
    engine.spawn_task(name="sleeper", params=None, available_after=timedelta(seconds=5))
    clock.advance(600)
    for number in range(3):
        engine.spawn_task(name="pending", params=number)
    return facts


def _old(engine: DurableEngine, clock: ManualClock) -> Facts:
    for _ in range(3):
        facts = _held(engine, clock)
        engine.emit_event(event_name=f"event of {facts['task_id']}", payload=LARGE)
        engine.complete_run(**_held_run(facts), result=LARGE)
    clock.advance(3600)
    return {}


def _several(engine: DurableEngine, clock: ManualClock) -> Facts:
    engine.spawn_many({"name": "twin", "params": LARGE} for _ in range(3))
    return {}


def _nothing(engine: DurableEngine, clock: ManualClock) -> Facts:
    return {}


def _turn(engine: DurableEngine, facts: Facts) -> object:
    run = {fact: facts[fact] for fact in ("run_id", "task_id", "queue", "name")}
    settlement = Settlement(**run, token=facts["claim_token"], result=f'"{LARGE}"')
    wanted = Claim(worker_id="next", lease_seconds=60, queues=None, max_priority=None)
    return engine.settle_and_claim(settlement, wanted)


def _update(engine: DurableEngine, facts: Facts) -> object:
    def fn(value: Any) -> Any:
        engine.complete_run(**_held_run(facts), result=1)
        engine.spawn_task(name="next", params=LARGE)
        engine.set_state(namespace="other", key="k", value=LARGE)
        return [value, LARGE]

    return engine.update_state(namespace="n", key="k", fn=fn)


def _checkpoint(engine: DurableEngine, facts: Facts) -> object:
    return engine.checkpoint(
        task_id=facts["task_id"],
        step_name="new",
        fn=lambda: LARGE,
        owner_run_id=facts["run_id"],
        claim_token=facts["claim_token"],
    )


def _wait(engine: DurableEngine, facts: Facts, *, step: str, event: str) -> object:
    return engine.await_event(
        **_held_run(facts), task_id=facts["task_id"], step_name=step, event_name=event, timeout_secs=60
    )


def _sleep(engine: DurableEngine, facts: Facts) -> object:
    try:
        engine.sleep(**_held_run(facts), task_id=facts["task_id"], step_name="new", seconds=60)
    except WorkflowSuspended:
        return "parked"
    raise AssertionError("it did not park")


def _spawn(engine: DurableEngine, facts: Facts) -> object:
    return engine.spawn_task(
        name="new", params=LARGE, idempotency_key="k", available_after=timedelta(seconds=5)
    )


OPERATIONS: Final[dict[str, Operation]] = {
    "spawn": Operation(_nothing, _spawn),
    "spawn_many": Operation(
        _nothing,
        lambda engine, _: engine.spawn_many(
            {"name": "new", "params": [LARGE, number]} for number in range(4)
        ),
    ),
    "claim": Operation(_due, lambda engine, _: engine.claim_task(worker_id="next")),
    "complete": Operation(_held, lambda engine, facts: engine.complete_run(**_held_run(facts), result=LARGE)),
    "fail and retry": Operation(
        _held, lambda engine, facts: engine.fail_run(**_held_run(facts), reason={"message": LARGE})
    ),
    "fail for good": Operation(
        _held,
        lambda engine, facts: engine.fail_run(**_held_run(facts), reason={"message": LARGE}, retryable=False),
    ),
    "settle and claim": Operation(_due, _turn),
    "give back": Operation(_held, lambda engine, facts: engine.give_back_run(**_held_run(facts))),
    "defer": Operation(_held, lambda engine, facts: engine.defer_run(**_held_run(facts))),
    "checkpoint": Operation(_held, _checkpoint),
    "wait": Operation(_held, partial(_wait, step="new", event="to come")),
    "wait that is over": Operation(_held, partial(_wait, step="wait", event="late")),
    "sleep": Operation(
        _held,
        _sleep,
    ),
    "emit": Operation(
        _parked(3), lambda engine, _: engine.emit_event(event_name="go", payload=LARGE, actor="ana")
    ),
    "update_state": Operation(_held, _update),
    "set_state_many": Operation(
        _nothing, lambda engine, _: engine.set_state_many(namespace="n", items={"a": LARGE, "b": LARGE})
    ),
    "extend": Operation(
        _held,
        lambda engine, facts: engine.extend_claim(
            **_held_run(facts), by_secs=3600, actor="ana", reason="slow"
        ),
    ),
    "cancel": Operation(_held, lambda engine, facts: engine.cancel_task(facts["task_id"], actor="ana")),
    "cancel duplicates": Operation(_several, lambda engine, _: engine.cancel_duplicate_tasks("twin")),
    "requeue": Operation(
        _cancelled,
        lambda engine, facts: engine.requeue_task(facts["task_id"], from_step="second", actor="ana"),
    ),
    "wake": Operation(_delayed, lambda engine, facts: engine.wake_task(facts["task_id"], actor="ana")),
    "cleanup": Operation(_old, lambda engine, _: engine.cleanup(timedelta(seconds=60)), commits=None),
}


def seeded(operation: Operation, engine: DurableEngine, facts: Facts) -> object:
    """Do it, with the same chance and in the same batches each time, however busy the machine."""
    random.seed(0)
    vars(oversight)["Pace"] = partial(Pace, timer=partial(next, count(0.0, 0.001)))
    return operation.act(engine, facts)
