"""Steps of a handler: what runs once, what waits for an event, what sleeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dura.checks import function, name, optional_text, own_name, seconds, text, whole
from dura.codec import encode, is_scalar
from dura.current import CurrentClaim, current_claim
from dura.engine.opened import OpenedStore
from dura.errors import InvalidRunState, InvalidValue, LeaseLost, WorkflowSuspended
from dura.store import checkpoints, events
from dura.store.checkpoints import Holder, Stored
from dura.store.commits import disturbances

T = TypeVar("T")


class StepCalls(OpenedStore):
    """Checkpoints, waits and sleeps."""

    def checkpoint(
        self,
        *,
        task_id: str,
        step_name: str,
        fn: Callable[[], T],
        owner_run_id: str | None = None,
        claim_token: int | None = None,
    ) -> T:
        """Run `fn` unless this step of the task has finished before, and return its result.

        The result is kept for every later attempt. `fn` runs outside any transaction. If its process dies after `fn`
        had its effect and before the result is committed, `fn` runs again: make effects outside idempotent.

        Args:
            task_id: The task.
            step_name: The step; unique within the task.
            fn: Computes the result, any JSON value. It comes back as JSON has it (a tuple as a list), also now.
            owner_run_id: The run on whose behalf; noted with the result.
            claim_token: The token of that run's claim; inside a handler both are known.

        Raises:
            LeaseLost: The claim is no longer live. Before `fn`: it is not run. After it: the result is kept only if
                the run can still go on.
            TaskCancelledError: The task was cancelled; nothing is kept.
            TaskNotFound: There is no such task.
            StepConflict: The step waits for an event or sleeps.
            NotStorable: The result is no JSON value.
        """
        name(step_name, "step_name")
        function(fn, "fn")
        holder, claim = self._holder(task_id, owner_run_id, claim_token)
        before = disturbances()
        # What the thread's own open operation has changed disturbs nobody before it is committed.
        if claim is None or not claim.shows_unused(step_name, before) or self.database.inside():
            found = self._look(task_id, step_name, holder, claim)
            if found is not None:
                return self._result(found.value, task_id, step_name)  # type: ignore[no-any-return]
        value = fn()
        text = encode(value, f"the result of step {step_name!r} of task {task_id}")
        kept = self._keep(task_id, step_name, text, holder, claim, owner_run_id)
        if kept is text and is_scalar(value):
            return value
        return self._result(kept, task_id, step_name)  # type: ignore[no-any-return]

    def _result(self, stored: str | None, task_id: str, step_name: str) -> Any:
        return self._decoded(stored, f"the result of step {step_name!r} of task {task_id}")

    def _look(
        self, task_id: str, step_name: str, holder: Holder | None, claim: CurrentClaim | None
    ) -> Stored | None:
        """The step's result, if it has one. Else it is noted what was seen, so that the next step need not look."""
        before, kept = disturbances(), None if claim is None else claim.kept
        found = self.database.read(
            lambda connection: checkpoints.look(connection, task_id, step_name, holder)
        )
        if claim is not None and found is None and not self.database.inside():
            steps = self.database.read(lambda connection: checkpoints.used(connection, task_id))
            claim.saw(steps, disturbances=before, kept=kept)
        return found

    def _keep(
        self,
        task_id: str,
        step_name: str,
        value: str,
        holder: Holder | None,
        claim: CurrentClaim | None,
        owner_run_id: str | None,
    ) -> str | None:
        """Keep a step's result. Returns that which is stored, which another may have kept first."""
        before = disturbances()
        kept: checkpoints.Result | Stored | LeaseLost
        if holder is None:
            kept = self.database.write(
                lambda tx: checkpoints.keep(tx, task_id, step_name, value, None, owner_run_id)
            )
        else:
            result = checkpoints.Result(
                step_name, value, holder.run_id, task_id, holder.token, claim is not None
            )
            try:
                kept = self.database.write_together(checkpoints.keep_all, result)
            except BaseException:
                # The result may have been kept: Ctrl-C after the commit, or a disk that failed in it.
                if claim is not None:
                    claim.forget()
                raise
        if isinstance(kept, LeaseLost):
            raise kept
        if claim is not None:
            claim.keeps(step_name, disturbances=before)
        return kept.value

    def get_checkpoint(self, *, task_id: str, step_name: str) -> Any:
        """A step's stored result; None if it has none yet, or was a wait that timed out."""
        text(task_id, "task_id")
        text(step_name, "step_name")
        found = self.database.read(lambda connection: checkpoints.peek(connection, task_id, step_name))
        if found is None:
            return None
        return self._result(found.value, task_id, step_name)

    def await_event(
        self,
        *,
        run_id: str,
        task_id: str,
        step_name: str,
        event_name: str,
        timeout_secs: float | None = None,
        claim_token: int | None = None,
        on_timeout: Any = None,
    ) -> tuple[bool, Any]:
        """`wait_for_event` for callers that settle runs themselves.

        Returns:
            `(True, None)` if the run was parked: the caller must neither complete nor fail it. Else `(False, outcome)`.

        Raises:
            StepConflict: The step already waits for another event.
            LeaseLost: The claim is no longer live.
            TaskCancelledError, TaskNotFound, InvalidRunState: The run is cancelled, unknown or not running.
        """
        own_name(event_name, "an event's name")
        if timeout_secs is not None:
            seconds(timeout_secs, "timeout_secs")
        outcome = self._wait(run_id, task_id, step_name, event_name, timeout_secs, claim_token)
        if outcome is None:
            return True, None
        if outcome.value is None:
            return False, on_timeout
        return False, self._decoded(outcome.value, f"the outcome of step {step_name!r} of task {task_id}")

    def wait_for_event(
        self,
        *,
        run_id: str,
        task_id: str,
        step_name: str,
        event_name: str,
        timeout_secs: float | None = None,
        claim_token: int | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Wait for an event without holding a worker: park the run, and go on from here once it is claimed again.

        The event may have been emitted before. The deadline is set when the step first waits and holds across retries:
        an event emitted at or before it wins, else the step times out. A requeue sets a fresh deadline.

        Args:
            run_id: The claimed run.
            task_id: Its task.
            step_name: The step; unique within the task. Its outcome is kept like a checkpoint.
            event_name: The event.
            timeout_secs: How long to wait, in seconds; zero or less does not wait. By default without end.
            claim_token: The token of the claim; inside a handler it is known.
            on_timeout: What to return if the step times out; a payload of None is returned as None.

        Returns:
            The event's payload, or `on_timeout`.

        Raises:
            WorkflowSuspended: The run is parked; let it pass through the handler.
            StepConflict: The step already waits for another event.
            LeaseLost: The claim is no longer live.
            TaskCancelledError, TaskNotFound, InvalidRunState: The run is cancelled, unknown or not running.
        """
        self._require_outside(task_id, step_name)
        suspended, outcome = self.await_event(
            run_id=run_id,
            task_id=task_id,
            step_name=step_name,
            event_name=event_name,
            timeout_secs=timeout_secs,
            claim_token=claim_token,
            on_timeout=on_timeout,
        )
        if suspended:
            self._suspend(run_id, task_id)
        return outcome

    def sleep(
        self, *, run_id: str, task_id: str, step_name: str, seconds: float, claim_token: int | None = None
    ) -> None:
        """Sleep without holding a worker: the run parks and is due again after `seconds`.

        The time of waking is set when the step first sleeps and holds across retries and restarts.

        Raises:
            WorkflowSuspended: The run is parked; let it pass through the handler.
            LeaseLost: The claim is no longer live.
            TaskCancelledError, TaskNotFound, InvalidRunState: The run is cancelled, unknown or not running.
        """
        self._require_outside(task_id, step_name)
        if (
            self._wait(run_id, task_id, step_name, events.SLEEP_EVENT, _duration(seconds), claim_token)
            is None
        ):
            self._suspend(run_id, task_id)

    def _wait(
        self,
        run_id: str,
        task_id: str,
        step_name: str,
        event_name: str,
        timeout_secs: float | None,
        claim_token: int | None,
    ) -> Stored | None:
        wanted = events.Wait(
            run_id=run_id,
            token=self._token(run_id, claim_token),
            task_id=text(task_id, "task_id"),
            step=name(step_name, "step_name"),
            event=event_name,
            timeout_seconds=timeout_secs,
        )
        outcome = self.database.write(lambda tx: events.wait(tx, wanted))
        if outcome is None:
            self._end_claim(run_id)
        return outcome

    def _require_outside(self, task_id: str, step_name: str) -> None:
        if self.database.inside():
            raise InvalidRunState(
                f"step {step_name!r} of task {task_id} cannot wait inside the function of update_state: the signal that "
                "it is parked would undo the parking. Wait before it or after it."
            )

    def _suspend(self, run_id: str, task_id: str) -> None:
        claim = self._claim_on(run_id)
        if claim is not None:
            claim.signalled = True
        raise WorkflowSuspended(task_id)

    def _holder(
        self, task_id: str, run_id: str | None, claim_token: int | None
    ) -> tuple[Holder | None, CurrentClaim | None]:
        """Whose call it is, by the token given or by the current claim, and in the latter case that claim."""
        claim = current_claim(self)
        if (
            claim_token is None
            and claim is not None
            and task_id == claim.task.task_id
            and (run_id is None or run_id == claim.task.run_id)
        ):
            token = claim.task.claim_token
            return (None, None) if token is None else (Holder(claim.task.run_id, token), claim)
        text(task_id, "task_id")
        optional_text(run_id, "owner_run_id")
        if claim_token is None:
            return None, None
        if run_id is None:
            raise InvalidValue("claim_token says whose claim it is only together with owner_run_id")
        return Holder(run_id, whole(claim_token, "claim_token")), None


def _duration(value: float) -> float:
    return seconds(value, "seconds")
