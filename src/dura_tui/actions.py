"""Every write the monitor can do, in one registry; each goes through the engine.

An action carries what the screen showed when its key was pressed (run, claim token). The engine compares that with the
store inside its own transaction and refuses when the task has moved on, so a key can be late but never wrong. Read-only
is enforced here, in `Operator.carry_out` and in `Operator.objection`, so that keys, palette and mouse cannot differ.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dura.clock import Clock
from dura.engine import DurableEngine
from dura.errors import ActionRefused, EngineError, InvalidRunState, TaskNotFound
from dura.states import LIVE, WAKEABLE, State
from dura_tui import format as fmt
from dura_tui.orders import TITLE_CELLS, Order, Outcome, Target

BUSY_TIMEOUT_MS: Final = 5_000
"""How long an action waits for the write lock: shorter than a worker's patience, since a person is waiting."""


class Confirm(StrEnum):
    """What an action asks for before it is done."""

    NOTHING = "nothing"
    """Its key is enough, or what it asks anyway."""
    QUESTION = "question"
    """A yes, with Cancel focused."""
    COUNT = "count"
    """The number of tasks, typed."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing an operator can do."""

    name: str
    key: str
    label: str
    """Two words at most, for the key line."""
    help: str
    confirm: Confirm
    """What it asks for when it is done to one task; to many, it always asks for their number."""
    many: bool
    """Whether it can be done to many tasks at once."""
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
        if target is not None and target.many is not None:
            if not action.many:
                return f"{action.label} is done to one task at a time"
            return action.objection(Target(task_id="", state=target.many.state))
        return action.objection(target or Target())

    def carry_out(self, order: Order) -> Outcome:
        """Do it through an engine opened for this one action. Never raises: whatever goes wrong is the outcome."""
        action = ACTIONS[order.action]
        objection = self.objection(action, order.target)
        if objection is not None:
            return Outcome(action.name, done=False, text=objection, refused=True)
        try:
            with self.engine() as engine:
                return self.attempt(engine, order)
        except (EngineError, OSError) as error:
            return _failed(action, error, order.target)

    def engine(self) -> closing[DurableEngine]:
        """The store, opened for writing; closed at the end of a `with` block.

        Raises:
            EngineError: It cannot be opened, or a dura of another version wrote it.
        """
        return closing(
            DurableEngine(
                self.path, clock=self._clock, busy_timeout_ms=BUSY_TIMEOUT_MS, create=False, upgrade=False
            )
        )

    def attempt(self, engine: DurableEngine, order: Order) -> Outcome:
        """Do it through this engine, whatever read-only says: for `carry_out` and `carry_out_all`, which ask first."""
        action = ACTIONS[order.action]
        try:
            return Outcome(action.name, done=True, text=action.perform(engine, order, self.actor))
        except (ActionRefused, InvalidRunState, TaskNotFound) as error:
            said = _said(error, order.target)
            return Outcome(action.name, done=False, text=f"{action.label} refused: {said}", refused=True)
        except (EngineError, OSError) as error:
            return _failed(action, error, order.target)


def _failed(action: Action, error: Exception, target: Target) -> Outcome:
    return Outcome(action.name, done=False, text=f"{action.label} failed: {_said(error, target)}")


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


# --- the actions -----------------------------------------------------------------------------------------------------


def _needs_task(target: Target) -> str | None:
    return None if target.task_id is not None else "no task under the cursor"


def _emit_objection(target: Target) -> str | None:  # noqa: ARG001
    return None


def _emit(engine: DurableEngine, order: Order, actor: str) -> str:
    seen = order.target.waiting_run_id if order.target.event_name == order.event_name else None
    emitted = engine.emit_event(
        event_name=order.event_name, payload=order.payload, actor=actor, reason=order.reason, seen_run_id=seen
    )
    name = fmt.clip_middle(fmt.printable(order.event_name), TITLE_CELLS)
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
            "emit", "e", "emit event", "Emit an event and wake the runs that wait for it", Confirm.QUESTION, False,
            _emit_objection, _emit,
        ),
        Action(
            "extend", "x", "extend claim", "Give the worker more time before its claim expires", Confirm.NOTHING, False,
            _extend_objection, _extend,
        ),
        Action(
            "requeue", "R", "requeue", "Give a failed or cancelled task a new run", Confirm.QUESTION, True,
            _requeue_objection, _requeue,
        ),
        Action(
            "cancel", "c", "cancel", "Cancel a task that has not ended", Confirm.QUESTION, True,
            _cancel_objection, _cancel,
        ),
        Action(
            "wake", "w", "wake", "Make a delayed, backed-off or deferred task due now", Confirm.NOTHING, True,
            _wake_objection, _wake,
        ),
    )
}  # fmt: skip
