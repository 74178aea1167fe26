"""The current claim: which run the code that is executing holds.

`process_task` sets it around a handler, so that the handler's calls are fenced without passing a token. It is a context
variable: threads that a handler starts do not inherit it; they pass `claim_token=` or run under
`contextvars.copy_context()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dura.records import ClaimedTask


@dataclass(slots=True)
class CurrentClaim:
    """A claim being worked on, and what became of it meanwhile."""

    engine: object
    task: ClaimedTask
    ended: bool = False
    """Whether the handler's own call ended the claim: a wait or sleep that parked the run, or one that settled it."""
    signalled: bool = False
    """Whether `WorkflowSuspended` was raised to say so."""


_current: ContextVar[CurrentClaim | None] = ContextVar("dura_current_claim", default=None)


@contextmanager
def holding(engine: object, task: ClaimedTask) -> Iterator[CurrentClaim]:
    """Make the task's claim the current one inside the block."""
    claim = CurrentClaim(engine, task)
    reset = _current.set(claim)
    try:
        yield claim
    finally:
        _current.reset(reset)


def current_claim(engine: object) -> CurrentClaim | None:
    """The current claim, if it was made on this engine."""
    claim = _current.get()
    return claim if claim is not None and claim.engine is engine else None
