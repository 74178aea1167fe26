"""What an operator orders, as the screen showed it, and how it ended. The actions themselves are in the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from dura.records import Snapshot, Want
from dura_tui import format as fmt

DEFAULT_EXTENSION_SECS: Final = 120
"""How much longer an extended claim lasts, in seconds."""

TITLE_CELLS: Final = 60
"""Longer names are cut in their middle."""


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
    many: Selection | None = None
    """The tasks that the row stands for, when it is no single one."""

    @property
    def title(self) -> str:
        """The task as the screens call it: its name, cut where it is long, and the end of its id."""
        name = fmt.clip_middle(fmt.printable(self.name), TITLE_CELLS)
        return f"{name} {fmt.short_id(self.task_id)}" if self.task_id else ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Many tasks to act on at once, and how they are found."""

    title: str
    """What they have in common, for example `failed with TimeoutError`; printable."""
    state: str
    """The state they are all shown in."""
    reads: Callable[[Want], Want]
    """What must be read to know them, beside what is wanted anyway."""
    finds: Callable[[Snapshot], tuple[tuple[Target, ...], bool] | None]
    """The tasks in a snapshot, and whether there are more; None while it does not hold them."""


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
    refused: bool = False
    """Whether it was not done because the task has moved on, or does not fit."""


def order_for(action: str, target: Target | None, **chosen: Any) -> Order:
    """An order for what is under the cursor."""
    return replace(Order(action=action, target=target or Target()), **chosen)
