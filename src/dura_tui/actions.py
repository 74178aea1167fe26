"""Every write the monitor can do, in one registry; each goes through the engine.

An action carries what the screen showed when its key was pressed (run, claim token). The engine compares that with the
store inside its own transaction and refuses when the task has moved on, so a key can be late but never wrong. Read-only
is enforced here, in `Operator.carry_out` and in `Operator.objection`, so that keys, palette and mouse cannot differ.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from typing import Any, Final

from dura.clock import Clock
from dura.engine import DurableEngine
from dura.errors import ActionRefused, EngineError, InvalidRunState, TaskNotFound
from dura.states import LIVE, WAKEABLE, State
from dura_tui import format as fmt

BUSY_TIMEOUT_MS: Final = 5_000
"""How long an action waits for the write lock: shorter than a worker's patience, since a person is waiting."""

DEFAULT_EXTENSION_SECS: Final = 120

_TITLE_CELLS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What was under the cursor, as the screen showed it."""

    task_id: str | None = None
    run_id: str | None = None
    claim_token: int | None = None
    name: str = ""
    state: str | None = None
    sleep_cause: str | None = None
    event_name: str | None = None
    """The event that the row is about, or that the run waits for."""
    waiting_run_id: str | None = None
    """The one run that was seen waiting for that event; None if there were several, or none."""

    expires_at: datetime | None = None
    """When the claim expires, of a running run."""

    @property
    def title(self) -> str:
        """The task as the screens call it: its name, cut where it is long, and the end of its id."""
        name = fmt.clip_middle(fmt.printable(self.name), _TITLE_CELLS)
        return f"{name} {fmt.short_id(self.task_id)}" if self.task_id else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An action to carry out, with what was chosen in its dialog."""

    action: str
    target: Target
    reason: str | None = None
    """For the audit entry."""
    event_name: str = ""
    payload: Any = None
    more_secs: float = DEFAULT_EXTENSION_SECS
    """How much longer than now seen a claim should last."""
    keep_checkpoints: bool = True
    from_step: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an action ended."""

    action: str
    done: bool
    text: str
    """One printable line for the operator."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing an operator can do."""

    name: str
    key: str
    label: str
    """Two words at most, for the key line."""
    help: str
    dangerous: bool
    """Whether it asks before it acts."""
    objection: Callable[[Target], str | None]
    """Why it does not fit what is under the cursor; None if it does."""
    perform: Callable[[DurableEngine, Order, str], str]
    """Does it, and says what was done."""


class Operator:
    """Carries out actions on one store, in the name of one person."""

    def __init__(
        self, path: str, *, read_only: bool = False, actor: str | None = None, clock: Clock | None = None
    ) -> None:
        """Open nothing yet.

        Args:
            path: The store file.
            read_only: Whether every action is refused.
            actor: Who acts, for the audit entries; user, host and SSH client by default.
            clock: The engine's clock; the machine's by default.
        """
        self.path = path
        self.read_only = read_only
        self.actor = actor or present_actor()
        self._clock = clock

    def objection(self, action: Action, target: Target | None) -> str | None:
        """Why the action cannot be taken on this target, from what the screen shows; None if it can be tried."""
        if self.read_only:
            return f"read-only: {action.label} is refused (start without --read-only to act)"
        return action.objection(target or Target())

    def carry_out(self, order: Order) -> Outcome:
        """Do it through an engine opened for this one action. Never raises: whatever goes wrong is the outcome."""
        action = ACTIONS[order.action]
        objection = self.objection(action, order.target)
        if objection is not None:
            return Outcome(action.name, done=False, text=objection)
        try:
            engine = DurableEngine(
                self.path, clock=self._clock, busy_timeout_ms=BUSY_TIMEOUT_MS, create=False, upgrade=False
            )
            try:
                return Outcome(action.name, done=True, text=action.perform(engine, order, self.actor))
            finally:
                engine.close()
        except (ActionRefused, InvalidRunState, TaskNotFound) as error:
            return Outcome(
                action.name, done=False, text=f"{action.label} refused: {_said(error, order.target)}"
            )
        except (EngineError, OSError) as error:
            return Outcome(
                action.name, done=False, text=f"{action.label} failed: {_said(error, order.target)}"
            )


def _said(error: Exception, target: Target) -> str:
    """What went wrong, with the target's ids as the screens show them: in full they leave a line no room for why."""
    said = str(error)
    for identifier in (target.task_id, target.run_id):
        if identifier:
            said = said.replace(identifier, identifier[-8:])
    return fmt.printable(said)


def present_actor() -> str:
    """Who sits at this terminal: `user@host`, and the client's address when they came over SSH."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid{os.getuid()}"
    client = (os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_CLIENT") or "").split()
    return f"{user}@{socket.gethostname()}" + (f" (ssh from {client[0]})" if client else "")


def parse_payload(text: str) -> Any:
    """The JSON value of an event's payload; empty text is null.

    Raises:
        ValueError: The text is no JSON; the message says where.
    """
    if not text.strip():
        return None

    def refuse(constant: str) -> Any:
        raise ValueError(f"{fmt.clip(constant, 20)} is no JSON value, or too large a number")

    def finite(number: str) -> float:
        value = float(number)
        return value if isfinite(value) else refuse(number)

    try:
        return json.loads(text, parse_constant=refuse, parse_float=finite)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


# --- the actions -----------------------------------------------------------------------------------------------------


def _needs_task(target: Target) -> str | None:
    return None if target.task_id else "no task under the cursor"


def _emit_objection(target: Target) -> str | None:  # noqa: ARG001
    return None


def _emit(engine: DurableEngine, order: Order, actor: str) -> str:
    seen = order.target.waiting_run_id if order.target.event_name == order.event_name else None
    emitted = engine.emit_event(
        event_name=order.event_name, payload=order.payload, actor=actor, reason=order.reason, seen_run_id=seen
    )
    name = fmt.clip_middle(fmt.printable(order.event_name), _TITLE_CELLS)
    if not emitted.first:
        return f"{name} was already emitted: nothing changed"
    return f"emitted {name}: woke {fmt.plural(len(emitted.woken), 'run')}"


def _extend_objection(target: Target) -> str | None:
    if objection := _needs_task(target):
        return objection
    return None if target.state == State.RUNNING else f"{target.title} holds no claim: it is {target.state}"


def _extend(engine: DurableEngine, order: Order, actor: str) -> str:
    # The engine counts from now; an operator who sees 90 s left and adds 60 means 150.
    seen = order.target.expires_at
    left = max((seen - engine.now()).total_seconds(), 0.0) if seen else 0.0
    expires = engine.extend_claim(
        run_id=order.target.run_id or "",
        by_secs=left + order.more_secs,
        actor=actor,
        reason=order.reason,
        seen_claim_token=order.target.claim_token,
    )
    return (
        f"extended the claim of {order.target.title}: it now expires at {fmt.at(expires, engine.now())} UTC"
    )


def _requeue_objection(target: Target) -> str | None:
    if objection := _needs_task(target):
        return objection
    if target.state in (State.FAILED, State.CANCELLED):
        return None
    return f"only a failed or cancelled task can be requeued: {target.title} is {target.state}"


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


def _cancel_objection(target: Target) -> str | None:
    if objection := _needs_task(target):
        return objection
    return None if target.state in LIVE else f"{target.title} has ended: it is {target.state}"


def _cancel(engine: DurableEngine, order: Order, actor: str) -> str:
    engine.cancel_task(
        order.target.task_id or "",
        actor=actor,
        reason=order.reason,
        seen_run_id=order.target.run_id,
        seen_claim_token=order.target.claim_token,
    )
    return f"cancelled {order.target.title}"


def _wake_objection(target: Target) -> str | None:
    if objection := _needs_task(target):
        return objection
    if target.state != State.SLEEPING:
        return f"only a sleeping task can be woken: {target.title} is {target.state}"
    if target.sleep_cause is not None and target.sleep_cause not in WAKEABLE:
        what = "emit its event instead" if target.event_name else "only its own deadline ends that"
        return f"{target.title} is asleep inside a step: {what}"
    return None


def _wake(engine: DurableEngine, order: Order, actor: str) -> str:
    engine.wake_task(
        order.target.task_id or "", actor=actor, reason=order.reason, seen_run_id=order.target.run_id
    )
    return f"woke {order.target.title}: it is due now"


ACTIONS: Final[dict[str, Action]] = {
    action.name: action
    for action in (
        Action(
            "emit", "e", "emit event", "Emit an event and wake the runs that wait for it", True, _emit_objection, _emit
        ),
        Action(
            "extend", "x", "extend claim", "Give the worker more time before its claim expires", False,
            _extend_objection, _extend,
        ),
        Action(
            "requeue", "R", "requeue", "Give a failed or cancelled task a new run", True, _requeue_objection, _requeue
        ),
        Action("cancel", "c", "cancel", "Cancel a task that has not ended", True, _cancel_objection, _cancel),
        Action(
            "wake", "w", "wake", "Make a delayed, backed-off or deferred task due now", False, _wake_objection, _wake
        ),
    )
}  # fmt: skip


def order_for(action: str, target: Target | None, **chosen: Any) -> Order:
    """An order for what is under the cursor."""
    return replace(Order(action=action, target=target or Target()), **chosen)
