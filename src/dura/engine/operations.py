"""What is done to tasks from outside their handlers: events emitted, leases extended, tasks cancelled, requeued, woken."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dura.checks import name, optional_text, own_name, seconds, whole
from dura.checks import text as check_text
from dura.clock import from_text
from dura.codec import encode
from dura.engine.opened import OpenedStore, actor_of
from dura.records import Emitted, TaskRef
from dura.states import State
from dura.store import audit, events, operate
from dura.store.operate import Seen
from dura.store.transaction import Transaction


class OperatorCalls(OpenedStore):
    """Calls for programs and operators alike.

    An operator's call says who acts (`actor`) and why (`reason`), which leaves an entry in the state namespace
    `dura.audit` in the same transaction, and what was seen (`seen_…`), which is compared first: the call is refused with
    ActionRefused, and nothing is changed, if the task has moved on since.
    """

    def emit_event(
        self,
        *,
        event_name: str,
        payload: Any = None,
        actor: str | None = None,
        reason: str | None = None,
        seen_run_id: str | None = None,
    ) -> Emitted:
        """Emit an event, once and for all, and wake the runs that are parked on it.

        The first emit of a name is the one that counts; later ones change nothing and say so.

        Args:
            event_name: The event.
            payload: What waiters are given; any JSON value.
            actor: Who emits, for the audit; noted with the event too.
            reason: Why, for the audit.
            seen_run_id: The run that was seen waiting; refused if it waits for the event no more.

        Raises:
            InvalidValue: The name is reserved, or the payload is no JSON value (`NotStorable`).
            ActionRefused: The run that was seen waits for the event no more.
        """
        own_name(event_name, "an event's name")
        text = encode(payload, f"the payload of event {event_name!r}")
        by, seen = actor_of(actor, reason), _seen(seen_run_id)

        def operation(tx: Transaction) -> events.Emission:
            if seen.run_id is not None:
                events.require_parked(tx, seen.run_id, event_name)
            emission = events.emit(tx, event_name, text, actor)
            if emission.first:
                audit.record(tx, by, action="emit", target=event_name, run_id=seen.run_id, after=text[:500])
            return emission

        emission = self.database.write(operation)
        woken = list(emission.woken)
        first = emission.first
        while emission.more:
            emission = self.database.write(lambda tx: events.finish_wake(tx, event_name))
            woken += emission.woken
        return Emitted(event_name=event_name, first=first, woken=tuple(woken))

    def extend_claim(
        self,
        *,
        run_id: str,
        by_secs: float,
        claim_token: int | None = None,
        actor: str | None = None,
        reason: str | None = None,
        seen_claim_token: int | None = None,
    ) -> datetime:
        """Let a running run's lease end `by_secs` from now; a lease that ends later already stays as it is.

        Args:
            run_id: The run.
            by_secs: How long from now, in seconds.
            claim_token: The holder's token; inside a handler it is known. A holder may extend an expired lease as long
                as the run has not been taken back.
            actor: The operator who extends somebody else's lease, for the audit.
            reason: Why, for the audit.
            seen_claim_token: The token that the operator saw.

        Returns:
            When the lease ends.

        Raises:
            LeaseLost: The claim is no longer live.
            ActionRefused: The claim that the operator saw has ended.
            TaskCancelledError, TaskNotFound, InvalidRunState: The run is cancelled, unknown or not running.
        """
        seconds(by_secs, "by_secs", positive=True)
        token = self._token(run_id, claim_token)
        by, seen = actor_of(actor, reason), _seen(None, seen_claim_token)

        def operation(tx: Transaction) -> str:
            task_id, expires_at, extended = operate.extend(tx, run_id, token, by_secs, seen)
            if extended:
                audit.record(
                    tx,
                    by,
                    action="extend",
                    target=task_id,
                    run_id=run_id,
                    before=State.RUNNING,
                    after=expires_at,
                )
            return expires_at

        return from_text(self.database.write(operation))

    def requeue_task(
        self,
        task_id: str,
        *,
        keep_checkpoints: bool = True,
        from_step: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
        seen_run_id: str | None = None,
    ) -> TaskRef:
        """Give a failed or cancelled task one more attempt, due now.

        At least that one attempt is granted, whatever `max_attempts` was. Waits get fresh deadlines.

        Args:
            task_id: The task.
            keep_checkpoints: False runs every step again.
            from_step: Runs this step and those that finished after it again, and keeps those before.
            actor: Who requeues, for the audit.
            reason: Why, for the audit.
            seen_run_id: The latest run that was seen.

        Raises:
            ActionRefused: The task is neither failed nor cancelled, has moved on, or has not finished `from_step`.
            TaskNotFound: There is no such task.
        """
        check_text(task_id, "task_id")
        optional_text(from_step, "from_step")
        by, seen = actor_of(actor, reason), _seen(seen_run_id)

        dropped = f", from step {from_step!r}" if from_step else "" if keep_checkpoints else ", from scratch"

        def operation(tx: Transaction) -> TaskRef:
            task, ref = operate.requeue(
                tx, task_id, seen, keep_checkpoints=keep_checkpoints, from_step=from_step
            )
            audit.record(
                tx,
                by,
                action="requeue",
                target=task_id,
                run_id=ref.run_id,
                before=task.state,
                after=f"{State.PENDING}{dropped}",
            )
            return ref

        return self.database.write(operation)

    def cancel_task(
        self,
        task_id: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        seen_run_id: str | None = None,
        seen_claim_token: int | None = None,
    ) -> None:
        """Cancel a task. A handler that is running gets TaskCancelledError at its next call.

        Nothing happens to a task that is terminal already, unless something seen was given: then it is refused.

        Args:
            task_id: The task.
            actor: Who cancels, for the audit.
            reason: Why, for the audit.
            seen_run_id: The latest run that was seen.
            seen_claim_token: Its claim token that was seen.

        Raises:
            ActionRefused: The task has moved on since it was seen.
            TaskNotFound: There is no such task.
        """
        check_text(task_id, "task_id")
        by, seen = actor_of(actor, reason), _seen(seen_run_id, seen_claim_token)

        def operation(tx: Transaction) -> None:
            task = operate.cancel(tx, task_id, seen)
            if task is not None:
                audit.record(
                    tx, by, action="cancel", target=task_id, run_id=task.run.run_id, before=task.state,
                    after=State.CANCELLED,
                )  # fmt: skip

        self.database.write(operation)

    def wake_task(
        self,
        task_id: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        seen_run_id: str | None = None,
    ) -> TaskRef:
        """Make a task due now that sleeps out a delay, a backoff or a deferral.

        Args:
            task_id: The task.
            actor: Who wakes, for the audit.
            reason: Why, for the audit.
            seen_run_id: The latest run that was seen.

        Raises:
            ActionRefused: The task does not sleep, waits for an event or a step's own time, or has moved on.
            TaskNotFound: There is no such task.
        """
        check_text(task_id, "task_id")
        by, seen = actor_of(actor, reason), _seen(seen_run_id)

        def operation(tx: Transaction) -> TaskRef:
            task, _ = operate.wake(tx, task_id, seen)
            audit.record(
                tx, by, action="wake", target=task_id, run_id=task.run.run_id, before=State.SLEEPING,
                after=State.PENDING,
            )  # fmt: skip
            return TaskRef(task_id=task_id, run_id=task.run.run_id, attempt=task.run.attempt, created=False)

        return self.database.write(operation)

    def cancel_duplicate_tasks(self, task_name: str) -> tuple[str | None, int]:
        """Cancel every live task of a name but the oldest.

        Returns:
            The id of the one that stays (None if there was none), and how many were cancelled.
        """
        name(task_name, "task_name")
        return self.database.write(lambda tx: operate.cancel_duplicates(tx, task_name))


def _seen(run_id: str | None, claim_token: int | None = None) -> Seen:
    return Seen(
        run_id=optional_text(run_id, "seen_run_id"),
        claim_token=None if claim_token is None else whole(claim_token, "seen_claim_token"),
    )
