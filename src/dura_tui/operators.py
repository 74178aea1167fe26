"""Who acts on the store, and whether anybody may: every write of the monitor passes here.

Read-only is enforced in `Operator.objection`, which keys, palette and mouse all ask first, and once more in
`Operator.carry_out`, whoever asks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final

from dura.actor import present_actor
from dura.clock import Clock
from dura.errors import ActionRefused, EngineError, InvalidRunState, TaskNotFound
from dura.redaction import MARK, holds_mark
from dura_tui import commands
from dura_tui import format as fmt
from dura_tui.actions import ACTIONS, Action
from dura_tui.orders import Order, Outcome, Target

if TYPE_CHECKING:
    from dura.engine import DurableEngine

BUSY_TIMEOUT_MS: Final = 5_000
"""How long an action waits for the write lock: shorter than a worker's patience, since a person is waiting."""


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
        self.origin = "dura"
        """Which engine wrote the file, as the last look found it: `dura` or `1.3.0`."""
        self._clock = clock

    def objection(self, action: Action, target: Target | None) -> str | None:
        """Why the action cannot be taken on this target, from what the screen shows; None if it can be tried."""
        if objection := self._refusal(action):
            return objection
        if target is not None and target.many is not None:
            return self.objection_to_many(action, target.many.state)
        return action.objection(target or Target())

    def objection_to_many(self, action: Action, state: str | None = None) -> str | None:
        """Why the action cannot be taken on many targets at once; None if it can be tried.

        Args:
            action: The action.
            state: The state that all of them are shown in; None where each is asked by itself.
        """
        if objection := self._refusal(action):
            return objection
        if not action.many:
            return f"{action.label} is done to one at a time"
        return action.objection(Target(task_id="", state=state)) if state is not None else None

    def _refusal(self, action: Action) -> str | None:
        """Why nobody can take the action here, on whatever target."""
        if self.read_only:
            return f"read-only: {action.label} is refused (start without --read-only to act)"
        if self.origin != "dura":
            return (
                f"{action.label} is refused on a store of dura {self.origin}, which can only be looked at: "
                f"stop its programs, then run: dura upgrade {commands.quoted(os.path.abspath(self.path))}"
            )
        return None

    def command(self, orders: Sequence[Order]) -> str | None:
        """The `dura` commands that do the same, a line each; None where no command line can hold the names."""
        actor = None if self.actor == present_actor() else self.actor
        return commands.commands(orders, os.path.abspath(self.path), actor)

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
        # Loaded for the first action: the first screen need not wait for it, nor one that only looks.
        from dura.engine import DurableEngine

        return closing(
            DurableEngine(
                self.path, clock=self._clock, busy_timeout_ms=BUSY_TIMEOUT_MS, create=False, upgrade=False
            )
        )

    def attempt(self, engine: DurableEngine, order: Order) -> Outcome:
        """Do it through this engine, whatever read-only says: for `carry_out` and `bulk`, which ask first."""
        action = ACTIONS[order.action]
        if holds_mark([order.payload, order.value]):
            text = f"{action.label} refused: {MARK} stands for what is not shown, and is no value"
            return Outcome(action.name, done=False, text=text, refused=True)
        try:
            return Outcome(action.name, done=True, text=action.perform(engine, order, self.actor))
        except (ActionRefused, InvalidRunState, TaskNotFound) as error:
            said = _said(error, order.target)
            moved = not isinstance(error, ActionRefused) or error.present is not None
            text = f"{action.label} refused: {said}"
            return Outcome(action.name, done=False, text=text, refused=True, moved=moved)
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
