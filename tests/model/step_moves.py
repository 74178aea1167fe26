"""Calls of a handler's steps, on engine and model."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from hypothesis import strategies as st

from dura import EngineError, InvalidRunState, WorkflowSuspended
from model import outside, steps
from model.choices import GHOST, STEPS, TIMEOUTS, VALUES, Who, callers, waits
from model.outside import Operator
from model.outside_moves import OutsideMoves
from model.rows import SLEEP, TIMED_OUT
from model.side_by_side import BoomError, move
from model.task_moves import TaskMoves

_UPSETS: Final = ("cancel", "cancel and requeue", "lose")


class StepMoves(OutsideMoves, TaskMoves):
    """Checkpoints, waits and sleeps."""

    @move(
        6,
        data=st.data(),
        who=callers(),
        step=STEPS,
        value=VALUES,
        raises=st.sampled_from((False, False, True)),
    )
    def checkpoint(self, data: st.DataObject, who: Who, step: str, value: Any, raises: bool) -> None:
        """A step, while whose function runs anything may happen, above all to its own task."""

        def meanwhile() -> None:
            upset = data.draw(st.sampled_from((None, None, *_UPSETS)), label="upset")
            if upset is not None and not self.depth:
                self.upset(who, upset)
            self.meanwhile(data)

        self.one_step(who, step, value, meanwhile, raises=raises)

    @move(4, who=callers(), several=st.lists(STEPS, min_size=1, max_size=3, unique=True))
    def several_steps(self, who: Who, several: list[str]) -> None:
        """What a handler does that nothing disturbs."""
        for step in several:
            self.one_step(who, step, step, lambda: None)

    def upset(self, who: Who, how: str) -> None:
        """Let something happen to a task while its holder is at work."""
        task_id, run_id = who.task.task_id, who.task.run_id
        if how in ("cancel", "cancel and requeue"):
            self.both(
                lambda: self.engine.cancel_task(task_id),
                lambda: outside.cancel(self.store, self.now, task_id, Operator()),
            )
        if how == "cancel and requeue":
            self.requeued_by(Operator(), task_id, keep=True, from_step=None)
        if how == "lose":
            ends = [run.lease_ends for _, run in self.store.runs() if run.run_id == run_id and run.lease_ends]
            self.clock.moment = max([self.now, *ends])
            self.latest_moment = max(self.latest_moment, self.now)
            self.claim({"timeout_secs": 60})

    def one_step(
        self, who: Who, step: str, value: Any, meanwhile: Callable[[], None], *, raises: bool = False
    ) -> None:
        task_id, run_id = who.task.task_id, who.task.run_id
        with self.acting(who) as (told, token):
            owner = run_id if told else None
            holder = None if token is None else (run_id, token)
            if who.how == "nobody" and self.holding:
                engine, claim = self.holding[-1]
                if engine is self.engine and claim.task_id == task_id and claim.claim_token is not None:
                    holder = (claim.run_id, claim.claim_token)
            door, model = self.door, lambda: steps.look(self.store, task_id, step, holder)
            expected, ran = _outcome(model), False

            def fn() -> Any:
                nonlocal ran
                ran = True
                assert expected is None, f"the function ran, the rules say {expected!r}"
                meanwhile()
                if raises:
                    raise BoomError
                return value

            def real() -> Any:
                try:
                    return self.doors[door].checkpoint(
                        task_id=task_id, step_name=step, fn=fn, owner_run_id=owner, **told
                    )
                except BoomError:
                    return BoomError

            def after() -> Any:
                if isinstance(expected, EngineError):
                    raise expected
                if expected is not None:
                    return _decoded(expected)
                assert ran, "the function was not run"
                if raises:
                    return BoomError
                kept = steps.keep(self.store, self.now, task_id, step, json.dumps(value), holder, owner)
                return _decoded(kept)

            done = self.both(real, after)
        assert done is None or done[0] == done[1]

    @move(
        10, what=waits(), timeout=TIMEOUTS, strange=st.sampled_from((False,) * 9 + (True,)), signals=st.booleans()
    )  # fmt: skip
    def wait(self, what: tuple[Who, str, str], timeout: float | None, strange: bool, signals: bool) -> None:
        who, step, event = what
        run_id = who.task.run_id
        task_id = GHOST.task_id if strange else who.task.task_id
        signals = signals and not self.inside

        def real() -> tuple[bool, Any]:
            wanted: dict[str, Any] = {
                "run_id": run_id, "task_id": task_id, "step_name": step, "event_name": event,
                "timeout_secs": timeout, "on_timeout": "late",
            }  # fmt: skip
            try:
                if signals:
                    return False, self.engine.wait_for_event(**wanted, **told)
                return self.engine.await_event(**wanted, **told)
            except WorkflowSuspended:
                return True, None

        with self.acting(who) as (told, token):
            done = self.both(
                real, lambda: steps.wait(self.store, self.now, run_id, token, task_id, step, event, timeout)
            )
        if done is not None:
            expected = (True, None) if done[1] is None else (False, _decoded(done[1], on_timeout="late"))
            assert done[0] == expected

    @move(3, place=st.integers(0, 3), late=st.sampled_from((0, 1, -1)))
    def race_a_deadline(self, place: int, late: int) -> None:
        """Emit an event at a step's deadline, a microsecond before it or after it, and let its handler come back."""
        pairs = [(task, step, wait) for task in self.store.live() for step, wait in task.waits.items()]
        timed = [wait for _, _, wait in pairs if wait.deadline is not None and wait.event != SLEEP]
        if not timed:
            return
        wait = timed[place % len(timed)]
        assert wait.deadline is not None
        self.clock.moment = wait.deadline + timedelta(microseconds=late)
        self.latest_moment = max(self.latest_moment, self.now)
        self.both(
            lambda: self.engine.emit_event(event_name=wait.event, payload=late),
            lambda: outside.emit_as(self.store, self.now, wait.event, json.dumps(late), Operator()),
        )
        self.claim({"timeout_secs": 60})
        self.come_back()

    @move(2)
    def come_back(self) -> None:
        """Let every holder wait again for what its task has waited for before."""
        for claim in filter(self.is_live, list(self.claims)):
            for step, wait in list(self.store.task(claim.task_id).waits.items()):
                if wait.event != SLEEP:
                    self.wait((Who(claim, "token"), step, wait.event), 60, strange=False, signals=False)

    @move(3, who=callers(), step=STEPS, seconds=TIMEOUTS.map(lambda seconds: seconds or 0))
    def sleep(self, who: Who, step: str, seconds: float) -> None:
        run_id, task_id = who.task.run_id, who.task.task_id

        def real() -> bool:
            try:
                self.engine.sleep(run_id=run_id, task_id=task_id, step_name=step, seconds=seconds, **told)
            except WorkflowSuspended:
                return True
            return False

        def model() -> str | None:
            if self.inside:
                raise InvalidRunState(step)
            return steps.wait(self.store, self.now, run_id, token, task_id, step, SLEEP, seconds)

        with self.acting(who) as (told, token):
            done = self.both(real, model)
        if done is not None:
            assert done[0] is (done[1] is None)


def _outcome(call: Callable[[], str | None]) -> str | EngineError | None:
    try:
        return call()
    except EngineError as error:
        return error


def _decoded(value: str, on_timeout: Any = None) -> Any:
    return on_timeout if value == TIMED_OUT else json.loads(value)
