"""One claimed run, through its handler, to its outcome.

    returns a value                     ──▶ completed
    parks (waits, sleeps)               ──▶ left alone: it is claimed again when it is due
    raises anything, SystemExit too     ──▶ the attempt fails, with type, message and traceback
    returns what JSON cannot hold       ──▶ the attempt fails
    Ctrl-C on the main thread           ──▶ given back, no attempt charged, and raised again

A run that is no longer the worker's (its lease ran out, it was cancelled) is dropped with a line in the log; nothing is
written to it.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from dura.current import CurrentClaim, holding
from dura.engine import DurableEngine
from dura.errors import InvalidRunState, NotStorable, TaskCancelledError, TaskNotFound, WorkflowSuspended
from dura.records import ClaimedTask

logger = logging.getLogger("dura.workers")

Handler = Callable[[DurableEngine, ClaimedTask], Any]
"""What runs a task: given the engine and the claimed run, returns the task's result."""

_NO_LONGER_OURS: Final = (InvalidRunState, TaskNotFound, TaskCancelledError)

_LONGEST_MESSAGE: Final = 2_000
_LONGEST_TRACEBACK: Final = 8_000
"""Characters that a failure's reason keeps of the exception's message and of its traceback."""


def process_task(
    engine: DurableEngine, *, handlers: Mapping[str, Handler], task: ClaimedTask, worker_id: str = "worker"
) -> None:
    """Run a claimed task's handler and settle the run.

    While the handler runs, its claim is the current one: its calls on this engine are fenced without passing a token.
    A task whose name has no handler fails at once and for good (a pool defers it instead).

    Args:
        engine: The engine that the task was claimed from.
        handlers: Task names to handlers.
        task: The claimed task.
        worker_id: Who works, for the log.

    Raises:
        KeyboardInterrupt: Ctrl-C on the main thread; the run was given back.
        StoreError: The outcome could not be written; the run comes back when its lease runs out.
    """
    with holding(engine, task) as claim:
        handler = handlers.get(task.name)
        if handler is None:
            logger.error("%s: no handler for task %s; it fails for good", task.name, task.task_id)
            reason = {"type": "UnknownTaskName", "message": f"no handler registered for {task.name!r}"}
            _settle(task, lambda: _fail(engine, task, reason, retryable=False))
            return
        try:
            result = handler(engine, task)
        except WorkflowSuspended:
            _suspended(engine, claim)
        except KeyboardInterrupt as interrupt:
            if threading.current_thread() is not threading.main_thread():
                _failed(engine, claim, interrupt)
                return
            _settle(task, lambda: engine.give_back_run(run_id=task.run_id, claim_token=task.claim_token))
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises costs its attempt, never the worker
            _failed(engine, claim, error)
        else:
            _returned(engine, claim, result, worker_id)


def _returned(engine: DurableEngine, claim: CurrentClaim, result: Any, worker_id: str) -> None:
    task = claim.task
    if claim.parked:
        if claim.signalled:
            logger.error(
                "%s: the handler of task %s went on after it had been parked: something in it swallowed "
                "WorkflowSuspended (a bare `except:` or `except BaseException`). It is not completed",
                *(task.name, task.task_id),
            )
        return
    try:
        _settle(
            task, lambda: engine.complete_run(run_id=task.run_id, result=result, claim_token=task.claim_token)
        )
        logger.debug("%s: task %s done by %s", task.name, task.task_id, worker_id)
    except NotStorable as error:
        _failed(engine, claim, error)


def _suspended(engine: DurableEngine, claim: CurrentClaim) -> None:
    """Leave a parked run alone; fail the attempt of one that pretends to be."""
    task = claim.task
    if claim.parked:
        logger.debug("%s: task %s is parked", task.name, task.task_id)
        return
    reason = {
        "type": "WorkflowSuspended",
        "message": "the handler raised WorkflowSuspended but its run was not parked",
    }
    _settle(task, lambda: _fail(engine, task, reason))


def _failed(engine: DurableEngine, claim: CurrentClaim, error: BaseException) -> None:
    task = claim.task
    if isinstance(error, _NO_LONGER_OURS):
        logger.info("%s: task %s stopped: %s", task.name, task.task_id, error)
    else:
        logger.warning(
            "%s: attempt %d of task %s failed", task.name, task.attempt, task.task_id, exc_info=error
        )
    _settle(task, lambda: _fail(engine, task, describe(error)))


def _fail(
    engine: DurableEngine, task: ClaimedTask, reason: dict[str, Any], *, retryable: bool = True
) -> None:
    engine.fail_run(run_id=task.run_id, reason=reason, retryable=retryable, claim_token=task.claim_token)


def _settle(task: ClaimedTask, settle: Callable[[], None]) -> None:
    try:
        settle()
    except _NO_LONGER_OURS as error:
        logger.warning("%s: task %s is no longer this worker's: %s", task.name, task.task_id, error)


def describe(error: BaseException) -> dict[str, str]:
    """The reason that an attempt failed by an exception: its type, message and traceback, each bounded."""
    try:
        message = str(error)
    except Exception as broken:  # noqa: BLE001 - a user's __str__ may raise anything
        message = f"(its message cannot be shown: {type(broken).__name__})"
    lines = "".join(traceback.format_exception(error))
    return {
        "type": type(error).__name__,
        "message": _bounded(message, _LONGEST_MESSAGE),
        "traceback": _bounded(lines, _LONGEST_TRACEBACK),
    }


def _bounded(text: str, longest: int) -> str:
    """The text, its middle cut out if it is too long: a traceback's ends say the most."""
    if len(text) <= longest:
        return text
    head = longest // 4
    return f"{text[:head]}\n... {len(text) - longest} characters left out ...\n{text[head - longest :]}"
