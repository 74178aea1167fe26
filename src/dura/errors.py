"""Every error that dura raises, and the one signal that is not an error.

A message says what happened, to which object, and what to do next. Callers tell errors apart by class and read the
facts from attributes, never from the text.
"""

from __future__ import annotations


def shown(value: object) -> str:
    """A wrong value for a message: not too long, and also if it cannot be shown."""
    try:
        return f"{value!r:.80}"
    except Exception:  # noqa: BLE001 - a user's __repr__ may raise anything, and so does that of a very large int
        return f"a value of type {type(value).__name__}"


class EngineError(Exception):
    """Base class of every error of the engine."""


class TaskNotFound(EngineError):
    """The named task or run is not in the store (it was never spawned, or cleanup removed it)."""


class TaskCancelledError(EngineError):
    """The task was cancelled: its handler should stop, and nothing it does is kept."""


class InvalidRunState(EngineError):
    """The run is not in a state that permits the operation."""


class LeaseLost(InvalidRunState):
    """The caller's claim is no longer live: its lease ran out and the run was taken back, or the claim was ended.

    Whoever holds the run now settles it. The caller should stop: nothing it writes through this claim is kept.
    """


class ActionRefused(InvalidRunState):
    """An operator's action does not fit the task's present state, which the message and `present` give."""

    def __init__(self, message: str, *, present: str | None = None) -> None:
        super().__init__(message)
        self.present = present
        """The state the object was found in, for example `completed`; None when it does not apply."""


class StepConflict(EngineError):
    """One step name was used for two different things, for example a wait for two different events."""


class InvalidValue(EngineError, ValueError):
    """An argument is outside what the engine accepts."""


class NotStorable(InvalidValue, TypeError):
    """A value cannot be kept as JSON (an unknown type, NaN, Infinity, a cycle)."""


class InvalidFilter(InvalidValue):
    """A filter line means nothing: an unknown field, a value that is none. `start` and `end` say where."""

    def __init__(self, message: str, *, start: int, end: int) -> None:
        super().__init__(message)
        self.start = start
        """The place in the line, counted from 0, at which what is wrong begins."""
        self.end = end
        """The place after it."""


class PoolFailed(EngineError):
    """A process of a pool cannot be started. The message says why, if that is known; the pool has ended."""


class StoreError(EngineError):
    """The store file cannot be used. `path` names it; the message says what to do next."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        """The file that the error is about."""


class StoreNotFound(StoreError):
    """There is no file at the path, and the caller did not ask for a new one."""


class NotADuraStore(StoreError):
    """The file is no dura store: no SQLite database, or one with other tables."""


class StoreNeedsUpgrade(StoreError):
    """The file was written by dura 1.3.0 and the caller did not allow an upgrade."""


class StoreTooNew(StoreError):
    """The file was written by a newer version of dura than this one."""


class StoreBusy(StoreError):
    """The write lock could not be had within the busy timeout. Nothing was written; the call can be repeated."""


class CommitUnknown(StoreError):
    """The disk failed during a commit: whether the operation happened is not known until it is read back."""


class WorkflowSuspended(BaseException):
    """Raised inside a handler whose run has parked; the worker catches it and leaves the run alone.

    It derives from BaseException so that a handler's `except Exception` does not swallow it (dura 1.3.0 derived it
    from EngineError). Let it pass through a handler untouched.
    """
