"""The current claim: which run the code that is executing holds.

`process_task` sets it around a handler, so that the handler's calls are fenced without passing a token. It is a context
variable: threads that a handler starts do not inherit it; they pass `claim_token=` or run under
`contextvars.copy_context()`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import Final, NamedTuple
from weakref import ref

from dura.records import ClaimedTask

_SIGHTING_SECONDS: Final = 0.05
"""How long what the store showed of a claim holds against other processes. Calls of this process end it at once."""


@dataclass(slots=True)
class Sighting:
    """What a transaction showed of a claim: it was live, and its task had used no steps but these."""

    steps: set[str]
    disturbances: int
    """What `disturbances()` of the store was before that transaction began."""
    until: float
    """On the monotonic clock."""


class _Seen(NamedTuple):
    """What `saw_fresh` was told."""

    engine: Callable[[], object]
    run_id: str
    token: int
    sighting: Sighting


class _LastClaim(threading.local):
    """The calling thread's last claim, if its task had used no steps: the first step then need not look either."""

    seen: _Seen | None = None

    def sighting(self, engine: object, task: ClaimedTask) -> Sighting | None:
        """What the claim's own transaction showed, if this is the claim. Once: whoever works on it then may use steps."""
        seen = self.seen
        if seen is None or seen.run_id != task.run_id or seen.token != task.claim_token:
            return None
        self.seen = None
        return seen.sighting if seen.engine() is engine else None


_last = _LastClaim()


def saw_fresh(engine: object, run_id: str, token: int, *, disturbances: int) -> None:
    """Note that the transaction that made the calling thread's claim showed no used steps of its task."""
    sighting = Sighting(set(), disturbances, monotonic() + _SIGHTING_SECONDS)
    _last.seen = _Seen(ref(engine), run_id, token, sighting)


@dataclass(slots=True)
class CurrentClaim:
    """A claim being worked on, and what became of it meanwhile. Threads that a handler starts may share it."""

    engine: object
    task: ClaimedTask
    ended: bool = False
    """Whether the handler's own call ended the claim: a wait or sleep that parked the run, or one that settled it."""
    signalled: bool = False
    """Whether `WorkflowSuspended` was raised to say so."""
    kept: object = None
    """Another object whenever a result of a step was kept for it."""
    _sighting: Sighting | None = None

    def shows_unused(self, step: str, disturbances: int) -> bool:
        """Whether the claim can be taken for live and the step for unused, from what was seen a moment ago."""
        seen = self._sighting
        return (
            seen is not None
            and disturbances == seen.disturbances
            and step not in seen.steps
            and monotonic() < seen.until
        )

    def saw(self, steps: Iterable[str], *, disturbances: int, kept: object) -> None:
        """Note what a look has shown, unless results were kept since it began."""
        if kept is self.kept:
            self._sighting = Sighting(set(steps), disturbances, monotonic() + _SIGHTING_SECONDS)
        # Asked again afterwards, instead of under a lock, which a child that is forked now would find locked.
        if kept is not self.kept:
            self._sighting = None

    def keeps(self, step: str, *, disturbances: int) -> None:
        """Note that a result was kept, in a transaction that showed the claim live."""
        self.kept = object()
        seen = self._sighting
        if seen is not None:
            seen.steps.add(step)
            if disturbances == seen.disturbances:
                seen.until = monotonic() + _SIGHTING_SECONDS

    def forget(self) -> None:
        """Let every later step look."""
        self._sighting = None


_current: ContextVar[CurrentClaim | None] = ContextVar("dura_current_claim", default=None)


class holding:  # noqa: N801 - a context manager, used like a function; as a class it costs a third
    """Make the task's claim the current one inside the block."""

    __slots__ = ("_claim", "_reset")

    def __init__(self, engine: object, task: ClaimedTask) -> None:
        self._claim = CurrentClaim(engine, task, _sighting=_last.sighting(engine, task))

    def __enter__(self) -> CurrentClaim:
        self._reset = _current.set(self._claim)
        return self._claim

    def __exit__(self, *_: object) -> None:
        self._claim.forget()
        _current.reset(self._reset)


def current_claim(engine: object) -> CurrentClaim | None:
    """The current claim, if it was made on this engine."""
    claim = _current.get()
    return claim if claim is not None and claim.engine is engine else None
