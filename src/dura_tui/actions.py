"""Everything an operator can do, in one registry: name, key, what it fits, what it asks first, and the engine's call.

An action carries what the screen showed when its key was pressed (run, claim token, when a value was written). The engine
compares that with the store inside its own transaction and refuses when it has moved on, so a key can be late but never
wrong. Who acts, and whether anybody may, is in `operators`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from dura.errors import ActionRefused
from dura_tui import format as fmt
from dura_tui import guards
from dura_tui.orders import TITLE_CELLS, Order, Target

if TYPE_CHECKING:
    from dura.engine import DurableEngine


class Confirm(StrEnum):
    """What an action asks for before it is done."""

    NOTHING = "nothing"
    """What it asks anyway is enough."""
    QUESTION = "question"
    """A yes, with Back focused."""
    COUNT = "count"
    """How many, typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing an operator can do."""

    name: str
    key: str
    label: str
    """Two words at most, for the key line."""
    help: str
    confirm: Confirm
    """What it asks for when it is done to one target; to many, it always asks for their number."""
    many: bool
    """Whether it can be done to many targets at once."""
    objection: Callable[[Target], str | None]
    """Why it does not fit what is under the cursor; None if it does."""
    perform: Callable[[DurableEngine, Order, str], str]
    """Does it in the name of an actor, and says what was done."""
    each: Callable[[Target], str | None] | None = None
    """As `objection`, for one of many; the same by default."""

    def fits(self, target: Target) -> str | None:
        """Why it does not fit one of many; None if it does."""
        return (self.each or self.objection)(target)


def _emit(engine: DurableEngine, order: Order, actor: str) -> str:
    emitted = engine.emit_event(
        event_name=order.event_name,
        payload=order.payload,
        actor=actor,
        reason=order.reason,
        seen_run_id=seen_waiting(order),
    )
    name = fmt.clip_middle(fmt.printable(order.event_name), TITLE_CELLS)
    if not emitted.first:
        raise ActionRefused(
            f"{name} was already emitted, and the first write wins: nothing changed", present="emitted"
        )
    return f"emitted {name}: woke {fmt.plural(len(emitted.woken), 'run')}"


def seen_waiting(order: Order) -> str | None:
    """The run that was seen waiting for the event that is emitted."""
    return order.target.waiting_run_id if order.target.event_name == order.event_name else None


def _extend(engine: DurableEngine, order: Order, actor: str) -> str:
    now = engine.now()
    left = (order.until - now).total_seconds() if order.until is not None else 0.0
    if left <= 0:
        raise ActionRefused(f"{fmt.at(order.until, now)} UTC, until when it was to last, is past")
    expires = engine.extend_claim(
        run_id=order.target.run_id or "",
        by_secs=left,
        actor=actor,
        reason=order.reason,
        seen_claim_token=order.target.claim_token,
    )
    return f"extended the lease of {order.target.title}: it now expires at {fmt.at(expires, now)} UTC"


def _requeue(engine: DurableEngine, order: Order, actor: str) -> str:
    ref = engine.requeue_task(
        order.target.task_id or "",
        keep_checkpoints=order.keep_checkpoints,
        from_step=order.from_step,
        actor=actor,
        reason=order.reason,
        seen_run_id=order.target.run_id,
    )
    return f"requeued {order.target.title}: attempt {ref.attempt} is pending"


def _cancel(engine: DurableEngine, order: Order, actor: str) -> str:
    engine.cancel_task(
        order.target.task_id or "",
        actor=actor,
        reason=order.reason,
        seen_run_id=order.target.run_id,
        seen_claim_token=order.target.claim_token,
    )
    return f"cancelled {order.target.title}"


def _wake(engine: DurableEngine, order: Order, actor: str) -> str:
    engine.wake_task(
        order.target.task_id or "", actor=actor, reason=order.reason, seen_run_id=order.target.run_id
    )
    return f"woke {order.target.title}: it is due now"


def _set(engine: DurableEngine, order: Order, actor: str) -> str:
    engine.set_state(
        namespace=order.target.namespace or "",
        key=order.target.key or "",
        value=order.value,
        actor=actor,
        reason=order.reason,
        seen_at=order.target.written_at,
    )
    return f"set {order.target.title}"


def _delete(engine: DurableEngine, order: Order, actor: str) -> str:
    existed = engine.delete_state(
        namespace=order.target.namespace or "",
        key=order.target.key or "",
        actor=actor,
        reason=order.reason,
        seen_at=order.target.written_at,
    )
    if not existed:
        raise ActionRefused(f"there is no {order.target.title} any more", present="deleted")
    return f"deleted {order.target.title}"


def _clean_up(engine: DurableEngine, order: Order, actor: str) -> str:
    removed = engine.cleanup(before=order.before, actor=actor, reason=order.reason)
    return f"cleaned up: removed {fmt.plural(removed, 'task')}"


ACTIONS: Final[dict[str, Action]] = {
    action.name: action
    for action in (
        Action(
            name="emit", key="e", label="emit event", help="Emit an event and wake the runs that wait for it",
            confirm=Confirm.QUESTION, many=True, objection=guards.anything, perform=_emit, each=guards.awaits_an_event,
        ),
        Action(
            name="extend", key="x", label="extend lease", help="Give the worker more time before its lease expires",
            confirm=Confirm.NOTHING, many=True, objection=guards.holds_a_lease, perform=_extend,
        ),
        Action(
            name="requeue", key="R", label="requeue", help="Give a failed or cancelled task a new run",
            confirm=Confirm.QUESTION, many=True, objection=guards.has_failed, perform=_requeue,
        ),
        Action(
            name="cancel", key="c", label="cancel", help="Cancel a task that has not ended",
            confirm=Confirm.QUESTION, many=True, objection=guards.is_live, perform=_cancel,
        ),
        Action(
            name="wake", key="w", label="wake", help="Make a delayed, backed-off or deferred task due now",
            confirm=Confirm.QUESTION, many=True, objection=guards.can_be_woken, perform=_wake,
        ),
        Action(
            name="set", key="E", label="edit value", help="Edit the value of a key of the memory",
            confirm=Confirm.QUESTION, many=False, objection=guards.is_users_key, perform=_set,
        ),
        Action(
            name="delete", key="D", label="delete key", help="Delete a key of the memory",
            confirm=Confirm.QUESTION, many=True, objection=guards.is_users_key, perform=_delete,
        ),
        Action(
            name="cleanup", key="C", label="clean up", help="Remove tasks that ended long ago",
            confirm=Confirm.COUNT, many=False, objection=guards.anything, perform=_clean_up,
        ),
    )
}  # fmt: skip
"""The actions in the order of the key line."""
