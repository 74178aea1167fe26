"""Calls of a handler's steps: waits for events, and results that are kept."""

from __future__ import annotations

import json
from typing import Any

from dura import ClaimedTask, DurableEngine, EngineError, current
from dura.current import CurrentClaim
from interleavings.call import LEASE, Call, Ended, Moment, OtherwiseError, World, claims_by, either_way, one
from interleavings.stage import Stage
from model import steps
from model.rows import TIMED_OUT


def wait(task: ClaimedTask, step: str, event: str, timeout: float | None = None) -> Call:
    return one(
        f"wait for {event}",
        lambda engine: _waits(engine, task, step, event, timeout),
        lambda world, _: _waited(world, task, step, event, timeout),
    )


def claim_and_wait(worker: str, step: str, event: str, timeout: float | None = None) -> Call:
    """Claim the run that has waited, and let its handler come to the step again."""

    def real(engine: DurableEngine) -> Any:
        task = engine.claim_task(worker_id=worker, timeout_secs=LEASE)
        if task is None:
            return None
        try:
            return task, _waits(engine, task, step, event, timeout)
        except EngineError as error:
            return task, type(error)

    def claimed(world: World, got: Any, look: bool) -> Any:
        expected = got[0] if isinstance(got, tuple) else None
        task = claims(world, look)
        if task != expected:
            raise OtherwiseError
        return None if task is not None else Ended(None)

    def waited(world: World, got: Any) -> Any:
        task = got[0]
        try:
            return task, _waited(world, task, step, event, timeout)
        except EngineError as error:
            return task, type(error)

    claims = claims_by(worker, LEASE, None)
    return Call(
        f"claim by {worker} and wait for {event}", real, (either_way(claimed), Moment(waited)), busy=(0, 1)
    )


def _waits(engine: DurableEngine, task: ClaimedTask, step: str, event: str, timeout: float | None) -> Any:
    return engine.await_event(
        run_id=task.run_id, task_id=task.task_id, step_name=step, event_name=event, timeout_secs=timeout,
        claim_token=task.claim_token, on_timeout="late",
    )  # fmt: skip


def _waited(
    world: World, task: ClaimedTask, step: str, event: str, timeout: float | None
) -> tuple[bool, Any]:
    found = steps.wait(
        world.store, world.now, task.run_id, task.claim_token, task.task_id, step, event, timeout
    )
    if found is None:
        return True, None
    return False, "late" if found == TIMED_OUT else json.loads(found)


def checkpoints(stage: Stage, task: ClaimedTask, names: list[str], value: Any, how: str) -> list[Call]:
    """Steps, one after the other, by a holder that is known by its token, by its context, or not at all.

    Each gives what it gave, and whether its function was run.
    """
    return [_checkpoint(stage, task, name, value, how) for name in names]


def _checkpoint(stage: Stage, task: ClaimedTask, name: str, value: Any, how: str) -> Call:
    holder = None if how == "nobody" else (task.run_id, task.claim_token or 0)

    def real(engine: DurableEngine) -> Any:
        # Threads of a handler share what one step has shown of its claim. Another engine has no part in that.
        claim = stage.claims.setdefault(task.run_id, CurrentClaim(engine, task)) if how == "context" else None
        told: dict[str, Any] = {"owner_run_id": task.run_id, "claim_token": task.claim_token}
        if how == "nobody" or (claim is not None and claim.engine is engine):
            told = {}
        before = current._current.set(claim)
        try:
            return _step(stage, engine, task.task_id, name, value, **told)
        finally:
            current._current.reset(before)

    def looked(world: World, got: Any) -> Any:
        ended = _looked(world, task.task_id, name, holder)
        return None if ended is None else Ended((ended, False))

    def kept(world: World, got: Any) -> Any:
        return _kept(world, task.task_id, name, value, holder), True

    return Call(f"step {name} by {how}", real, (Moment(looked), Moment(kept)), busy=(1,))


def step_of_nobody(stage: Stage, task_id: str, name: str, value: Any) -> Call:
    """A step by somebody who holds no run."""
    nobody = ClaimedTask(run_id="", task_id=task_id, attempt=1, name="a", params=None)
    return _checkpoint(stage, nobody, name, value, "nobody")


def claim_and_steps(stage: Stage, worker: str, names: list[str], value: Any) -> list[Call]:
    """Claim a run, and do steps of it as a handler does, for whom the claim may have looked already."""

    def real(engine: DurableEngine) -> ClaimedTask | None:
        task = engine.claim_task(worker_id=worker, timeout_secs=LEASE)
        if task is not None:
            stage.claims[worker] = current.holding(engine, task)._claim
        return task

    claims = claims_by(worker, LEASE, None)
    claim = Call(f"claim by {worker}", real, (either_way(lambda world, got, look: claims(world, look)),))
    return [claim, *(_step_of_claimed(stage, worker, name, value) for name in names)]


def _step_of_claimed(stage: Stage, worker: str, name: str, value: Any) -> Call:
    def real(engine: DurableEngine) -> Any:
        claim = stage.claims.get(worker)
        if claim is None:
            return None
        before = current._current.set(claim)
        try:
            return claim.task, *_step(stage, engine, claim.task.task_id, name, value)
        finally:
            current._current.reset(before)

    def looked(world: World, got: Any) -> Any:
        if got is None:
            return Ended(None)
        task = got[0]
        ended = _looked(world, task.task_id, name, (task.run_id, task.claim_token))
        return None if ended is None else Ended((task, ended, False))

    def kept(world: World, got: Any) -> Any:
        task = got[0]
        return task, _kept(world, task.task_id, name, value, (task.run_id, task.claim_token)), True

    return Call(f"step {name} of {worker}", real, (Moment(looked), Moment(kept)), busy=(1,))


def _step(
    stage: Stage, engine: DurableEngine, task_id: str, name: str, value: Any, **told: Any
) -> tuple[Any, bool]:
    """What the step gives, and whether its function was run."""
    ran = False

    def fn() -> Any:
        nonlocal ran
        ran = True
        stage.scheduler.give_way("in the step")
        return value

    try:
        return engine.checkpoint(task_id=task_id, step_name=name, fn=fn, **told), ran
    except EngineError as error:
        return type(error), ran


def _looked(world: World, task_id: str, name: str, holder: tuple[str, int] | None) -> Any:
    """What the look before the step gives; None: its function is to be run."""
    try:
        found = steps.look(world.store, task_id, name, holder)
    except EngineError as error:
        return type(error)
    return None if found is None else json.loads(found)


def _kept(world: World, task_id: str, name: str, value: Any, holder: tuple[str, int] | None) -> Any:
    """What the step gives whose function was run."""
    try:
        found = steps.keep(world.store, world.now, task_id, name, json.dumps(value), holder, None)
    except EngineError as error:
        return type(error)
    return json.loads(found)
