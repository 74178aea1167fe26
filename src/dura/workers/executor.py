"""One claimed run, through its handler, to its outcome.

    returns a value                     ──▶ completed
    parks (waits, sleeps)               ──▶ left alone: it is claimed again when it is due
    raises anything, SystemExit too     ──▶ the attempt fails, with type, message and traceback
    returns what JSON cannot hold       ──▶ the attempt fails
    Ctrl-C on the main thread           ──▶ given back, no attempt charged, and raised again
    a child that it forked leaves it    ──▶ the child ends there; the run is its parent's to settle

A run that is no longer the worker's (its lease ran out, it was cancelled) is dropped with a line in the log; nothing is
written to it.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from dura.codec import encode
from dura.current import CurrentClaim, holding
from dura.engine import DurableEngine
from dura.errors import WorkflowSuspended
from dura.log import logger_of
from dura.records import ClaimedTask
from dura.store.settle import NO_LONGER_HELD, Settlement

logger = logger_of("dura.workers")

Handler = Callable[[DurableEngine, ClaimedTask], Any]
"""What runs a task: given the engine and the claimed run, returns the task's result."""

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
    handler = handlers.get(task.name)
    if handler is None:
        logger.error("%s: no handler for task %s; it fails for good", task.name, task.task_id)
        reason = {"type": "UnknownTaskName", "message": f"no handler registered for {task.name!r}"}
        settlement: Settlement | None = _failure(task, reason, retryable=False)
    else:
        settlement = carry_out(engine, handler, task)
    if settlement is not None:
        lost = engine.settle(settlement)
        if lost is None:
            logger.debug("%s: task %s settled by %s", task.name, task.task_id, worker_id)
        else:
            report_lost(task, lost)


def carry_out(engine: DurableEngine, handler: Handler, task: ClaimedTask) -> Settlement | None:
    """Run the handler under its claim. Returns how the run is to be settled; None if it parked or was given back.

    Raises:
        KeyboardInterrupt: Ctrl-C on the main thread; the run was given back.
    """
    process = os.getpid()
    with holding(engine, task) as claim:
        try:
            try:
                result = handler(engine, task)
            finally:
                if os.getpid() != process:
                    # A copy of the worker, which would settle its parent's run, and then go on claiming.
                    _end_child(sys.exc_info()[1])
            if claim.ended:
                _report_swallowed(claim)
                return None
            text = encode(result, f"the result of run {task.run_id}")
            return Settlement.of(task, result=text)
        except WorkflowSuspended:
            if claim.ended:
                logger.debug("%s: task %s is parked", task.name, task.task_id)
                return None
            message = "the handler raised WorkflowSuspended but its run was not parked"
            return _failure(task, {"type": "WorkflowSuspended", "message": message})
        except KeyboardInterrupt as interrupt:
            if threading.current_thread() is not threading.main_thread():
                return _failed(claim, interrupt)
            try:
                engine.give_back_run(run_id=task.run_id, claim_token=task.claim_token)
            except NO_LONGER_HELD as error:
                report_lost(task, error)
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises costs its attempt, never the worker
            return _failed(claim, error)


def _end_child(error: BaseException | None) -> None:
    """End a forked process as Python ends one: with the code of its SystemExit, or with 1 and a traceback."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        code = 1
        traceback.print_exception(error)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code & 0xFF)


def report_lost(task: ClaimedTask, error: Exception) -> None:
    """Say that a run could not be settled because it is somebody else's by now."""
    logger.warning("%s: task %s is no longer this worker's: %s", task.name, task.task_id, error)


def _report_swallowed(claim: CurrentClaim) -> None:
    """Say so if a handler went on although its run was parked; one that used `await_event` may just return."""
    if claim.signalled:
        logger.error(
            "%s: the handler of task %s went on after it had been parked: something in it swallowed "
            "WorkflowSuspended (a bare `except:` or `except BaseException`). Nothing more is settled",
            *(claim.task.name, claim.task.task_id),
        )


def _failed(claim: CurrentClaim, error: BaseException) -> Settlement | None:
    task = claim.task
    if claim.ended:
        _report_swallowed(claim)
        return None
    if isinstance(error, NO_LONGER_HELD):
        logger.info("%s: task %s stopped: %s", task.name, task.task_id, error)
    else:
        logger.warning(
            "%s: attempt %d of task %s failed", task.name, task.attempt, task.task_id, exc_info=error
        )
    return _failure(task, describe(error))


def _failure(task: ClaimedTask, reason: dict[str, str], *, retryable: bool = True) -> Settlement:
    text = encode(reason, f"the failure reason of run {task.run_id}")
    return Settlement.of(task, reason=text, retryable=retryable)


def describe(error: BaseException) -> dict[str, str]:
    """The reason that an attempt failed by an exception: its type, message and traceback, each bounded."""
    message = _told(lambda: str(error), "message")
    lines = _told(lambda: "".join(traceback.format_exception(error)), "traceback")
    return {
        "type": type(error).__name__,
        "message": _bounded(message, _LONGEST_MESSAGE),
        "traceback": _bounded(lines, _LONGEST_TRACEBACK),
    }


def _told(tell: Callable[[], str], what: str) -> str:
    """What the exception tells of itself, which is code of the user's too, and may raise anything, SystemExit included."""
    try:
        return tell()
    except BaseException as broken:
        if isinstance(broken, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
        return f"(its {what} cannot be shown: {type(broken).__name__})"


def _bounded(text: str, longest: int) -> str:
    """The text, its middle cut out if it is too long: a traceback's ends say the most."""
    if len(text) <= longest:
        return text
    head = longest // 4
    return f"{text[:head]}\n... {len(text) - longest} characters left out ...\n{text[head - longest :]}"
