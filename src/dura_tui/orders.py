"""What an operator orders, as the screen showed it, and how it ended. The actions themselves are in the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from dura.records import Snapshot, Want
from dura_tui import format as fmt

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
    """When the lease expires, of a running run."""
    namespace: str | None = None
    key: str | None = None
    """The key of the memory that the row is about."""
    written_at: datetime | None = None
    """When its value was written."""
    value: str = ""
    """Its value in one line, as it is shown."""
    many: Selection | None = None
    """The tasks that the row stands for, when it is no single one."""

    @property
    def title(self) -> str:
        """What it is, as the screens call it: a task's name and the end of its id, a key with its namespace, an event."""
        if self.task_id:
            return f"{_clipped(self.name)} {fmt.short_id(self.task_id)}"
        if self.namespace is not None:
            return _clipped(self.namespace if self.key is None else f"{self.namespace}/{self.key}")
        return _clipped(self.event_name or "")


def _clipped(text: str) -> str:
    return fmt.clip_middle(fmt.printable(text), TITLE_CELLS)


@dataclass(frozen=True, slots=True)
class Found:
    """A part of what a selection stands for."""

    targets: tuple[Target, ...]
    """Those to act on, as they were seen."""
    following: str | None = None
    """The part that comes next; None: this was the last."""
    moved: tuple[tuple[Target, str], ...] = ()
    """Those that have moved on since they were seen, with what they are now."""
    capped: bool = False
    """Whether there are more than can be read."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Much to act on at once, and how it is found, part by part."""

    title: str
    """What they have in common, for example `failed with TimeoutError`; printable."""
    noun: str
    """What one of them is: `task`, `run`, `event` or `key`."""
    reads: Callable[[Want, str | None], Want]
    """What must be read to know a part, the first being None, beside what is wanted anyway."""
    finds: Callable[[Snapshot, str | None], Found | None]
    """The part in a snapshot; None while it does not hold it."""
    state: str | None = None
    """The state they are all shown in; None: in several, or in none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An action to carry out, with what was chosen in its dialog."""

    action: str
    target: Target
    reason: str | None = None
    """For the audit entry."""
    event_name: str = ""
    payload: Any = None
    """Of the event."""
    until: datetime | None = None
    """When the lease should expire."""
    keep_checkpoints: bool = True
    from_step: str | None = None
    value: Any = None
    """What the key of the memory is to hold."""
    before: datetime | None = None
    """Tasks that ended before this moment are cleaned up."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an action ended."""

    action: str
    done: bool
    text: str
    """One printable line for the operator."""
    refused: bool = False
    """Whether it was not done because the target has moved on, or does not fit."""
    moved: bool = False
    """Whether the target has moved on since it was seen."""


def order_for(action: str, target: Target | None, **chosen: Any) -> Order:
    """An order for what is under the cursor."""
    return replace(Order(action=action, target=target or Target()), **chosen)
