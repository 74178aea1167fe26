"""A call that a player makes, and what the rules say of it, at the one or two moments at which it takes effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from dura import ClaimedTask, DurableEngine
from model import tasks
from model.rows import Store
from model.task_moves import as_returned

LEASE: Final = 60.0


@dataclass
class World:
    """The reference model of the store, and its time."""

    store: Store
    now: datetime
    notes: dict[str, Any] = field(default_factory=dict)
    """What the first moment of a call has told the next."""


class OtherwiseError(Exception):
    """The rules give something else than the call gave: it did not take effect at this moment."""


@dataclass(frozen=True)
class Moment:
    """A moment at which a call takes effect."""

    rules: Callable[[World, Any], Any]
    """Changes the world; given what the call gave, for ids that the engine chose. Of the last one it returns what the call
    gives; an earlier one returns None if the call goes on. An EngineError is what the call raises, and ends it."""
    either: Callable[[World, Any], Any] | None = None
    """Another way in which it may take effect."""

    def ways(self) -> list[Callable[[World, Any], Any]]:
        return [self.rules] if self.either is None else [self.rules, self.either]


@dataclass(frozen=True)
class Call:
    """A call, by name."""

    what: str
    real: Callable[[DurableEngine], Any]
    moments: tuple[Moment, ...]
    busy: tuple[int, ...] = (0,)
    """How many of the moments may have come if the lock could not be had."""


@dataclass(frozen=True)
class Ended:
    """What an earlier moment of a call returns if the call ends there."""

    value: Any


def one(what: str, real: Callable[[DurableEngine], Any], rules: Callable[[World, Any], Any]) -> Call:
    """A call that takes effect at one moment."""
    return Call(what, real, (Moment(rules),))


def either_way(rules: Callable[[World, Any, bool], Any]) -> Moment:
    """The moment of a claim, of which the rules leave open whether it looks for what is due."""
    return Moment(lambda world, got: rules(world, got, True), lambda world, got: rules(world, got, False))


def claims_by(worker: str, lease: float, ceiling: int | None) -> Callable[[World, bool], ClaimedTask | None]:
    """A claim by the rules, which looks for what is due first, or takes what is pending."""

    def claims(world: World, look: bool) -> ClaimedTask | None:
        found = tasks.claim(
            world.store, world.now, worker=worker, lease=lease, queues=None, ceiling=ceiling, look=look
        )
        if found is None and not look:
            raise OtherwiseError
        return None if found is None else as_returned(*found)

    return claims
