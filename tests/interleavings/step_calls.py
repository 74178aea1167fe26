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
        ran = False

        def fn() -> Any:
            nonlocal ran
            ran = True
            stage.scheduler.give_way("in the step")
            return value

        # Threads of a handler share what one step has shown of its claim. Another engine has no part in that.
        claim = stage.claims.setdefault(task.run_id, CurrentClaim(engine, task)) if how == "context" else None
        told: dict[str, Any] = {"owner_run_id": task.run_id, "claim_token": task.claim_token}
        if how == "nobody" or (claim is not None and claim.engine is engine):
            told = {}
        before = current._current.set(claim)
        try:
            return engine.checkpoint(task_id=task.task_id, step_name=name, fn=fn, **told), ran
        except EngineError as error:
            return type(error), ran
        finally:
            current._current.reset(before)

    def looked(world: World, got: Any) -> Any:
        try:
            found = steps.look(world.store, task.task_id, name, holder)
        except EngineError as error:
            return Ended((type(error), False))
        return None if found is None else Ended((json.loads(found), False))

    def kept(world: World, got: Any) -> Any:
        try:
            found = steps.keep(world.store, world.now, task.task_id, name, json.dumps(value), holder, None)
        except EngineError as error:
            return type(error), True
        return json.loads(found), True

    return Call(f"step {name} by {how}", real, (Moment(looked), Moment(kept)), busy=(1,))
