"""Commands that act on tasks: extend, requeue, cancel, wake.

Each looks the task up, then acts through the engine with what it saw, so that a task that has moved on in between is
refused rather than hit. Several tasks are acted on one by one, and each is reported.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from dura.cli.exits import CommandFailed, Exit
from dura.cli.finding import Found, find_task
from dura.cli.output import abandon_result, ask, complain, is_terminal, note, say, say_json
from dura.cli.watching import watched
from dura.cli.wording import until
from dura.display import of_limit, plural, printable, short_id
from dura.errors import InvalidRunState, TaskCancelledError, TaskNotFound
from dura.monitor import Monitor
from dura.states import State

if TYPE_CHECKING:
    from dura.engine import DurableEngine

_REFUSALS: Final = (InvalidRunState, TaskCancelledError, TaskNotFound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an action on one task ended."""

    target: str
    """As it was given."""
    done: bool
    message: str
    task_id: str | None = None
    name: str | None = None
    run_id: str | None = None
    """The task's latest run after the action."""
    attempt: int | None = None
    before: str | None = None
    """The task's state that was seen before."""
    lease_ends_at: str | None = None


Perform = Callable[["DurableEngine", Found], dict[str, Any]]
"""Acts on one task; returns the message and what else the outcome says."""


@contextmanager
def opened(args: Namespace) -> Iterator[DurableEngine]:
    """The engine on an existing store of this version, closed at the end."""
    # Loaded when something is to be done: a command that only looks need not wait for it.
    from dura.engine import DurableEngine

    engine = DurableEngine(
        args.path, busy_timeout_ms=int(args.lock_timeout * 1000), create=False, upgrade=False
    )
    try:
        yield engine
    finally:
        engine.close()


def extend(args: Namespace) -> Exit:
    """Let leases end later."""

    def perform(engine: DurableEngine, found: Found) -> dict[str, Any]:
        task = found.task
        seconds = args.by if args.until is None else (args.until - engine.now()).total_seconds()
        if seconds <= 0:
            raise CommandFailed(f"--until must be later than now: {args.until.isoformat()}", Exit.USAGE)
        ends_at = engine.extend_claim(
            run_id=found.run_id,
            by_secs=seconds,
            actor=args.actor,
            reason=args.reason,
            seen_claim_token=task.claim_token if found.claim_token is None else found.claim_token,
        )
        how = "ends later than that already," if ends_at == task.due_at else "now ends"
        return {
            "message": f"the lease of {_title(found)} {how} {until(ends_at, engine.now())}",
            "lease_ends_at": ends_at.isoformat(timespec="microseconds"),
        }

    return _act(args, "extend", perform)


def requeue(args: Namespace) -> Exit:
    """Give failed or cancelled tasks a new attempt."""

    def perform(engine: DurableEngine, found: Found) -> dict[str, Any]:
        ref = engine.requeue_task(
            found.task.task_id,
            keep_checkpoints=not args.from_scratch,
            from_step=args.from_step,
            actor=args.actor,
            reason=args.reason,
            seen_run_id=found.run_id,
        )
        kept = "every finished step is kept"
        if args.from_scratch:
            kept = "every step runs again"
        elif args.from_step is not None:
            kept = f"step {args.from_step!r} and those after it run again"
        return {
            "message": f"requeued {_title(found)}: attempt {ref.attempt} is pending, {kept}",
            "run_id": ref.run_id,
            "attempt": ref.attempt,
        }

    return _act(args, "requeue", perform)


def cancel(args: Namespace) -> Exit:
    """Cancel live tasks."""

    def perform(engine: DurableEngine, found: Found) -> dict[str, Any]:
        engine.cancel_task(
            found.task.task_id,
            actor=args.actor,
            reason=args.reason,
            seen_run_id=found.run_id,
            seen_claim_token=found.claim_token,
        )
        heard = "; its handler learns of it at its next call" if found.task.state == State.RUNNING else ""
        return {"message": f"cancelled {_title(found)}, which was {found.task.state}{heard}"}

    return _act(args, "cancel", perform)


def wake(args: Namespace) -> Exit:
    """Make delayed, backed-off or deferred tasks due now."""

    def perform(engine: DurableEngine, found: Found) -> dict[str, Any]:
        ref = engine.wake_task(
            found.task.task_id, actor=args.actor, reason=args.reason, seen_run_id=found.run_id
        )
        return {"message": f"woke {_title(found)}: it is due now", "attempt": ref.attempt}

    return _act(args, "wake", perform)


# --- one after the other ----------------------------------------------------------------------------------------------


def _act(args: Namespace, action: str, perform: Perform) -> Exit:
    outcomes: list[Outcome] = []
    try:
        with opened(args) as engine, watched(args) as monitor:
            targets = _targets(monitor, action, args.ids, outcomes)
            _confirm(args, action, list(targets.values()))
            for target, found in targets.items():
                outcomes.append(_one(engine, action, target, found, perform))
                _report(outcomes[-1], json=args.json)
    finally:
        if args.json and outcomes:
            say_json({"action": action, "outcomes": [asdict(outcome) for outcome in outcomes]})
    return Exit.DONE if all(outcome.done for outcome in outcomes) else Exit.NOT_DONE


def _targets(monitor: Monitor, action: str, ids: list[str], outcomes: list[Outcome]) -> dict[str, Found]:
    """The tasks that are meant, each once; what cannot be told is reported and left out."""
    targets: dict[str, Found] = {}
    known = set()
    for part in ids:
        try:
            found = find_task(monitor, part)
        except CommandFailed as failure:
            if failure.exit_code is Exit.USAGE:
                raise
            complain(str(failure))
            outcomes.append(Outcome(target=part, done=False, message=str(failure)))
            continue
        if found.claim_token is not None and action not in ("extend", "cancel"):
            raise CommandFailed(f"{part!r} names a claim, and {action} compares the run alone", Exit.USAGE)
        if found.task.task_id not in known:
            targets[part] = found
        known.add(found.task.task_id)
    return targets


def _one(engine: DurableEngine, action: str, target: str, found: Found, perform: Perform) -> Outcome:
    task = found.task
    facts: dict[str, Any] = {
        "task_id": task.task_id,
        "name": task.name,
        "run_id": task.run_id,
        "attempt": task.attempts,
        "before": task.state,
    }
    try:
        facts |= perform(engine, found)
    except _REFUSALS as error:
        message = str(error)
        if task.task_id not in message:
            # What the engine refuses it names by its run; whoever typed a part of the task's id looks for that.
            doing = "" if message.startswith("cannot ") else f"cannot {action} "
            message = f"{doing}{_title(found)}: {message}"
        return Outcome(target=target, done=False, **facts | {"message": message})
    return Outcome(target=target, done=True, **facts)


def _report(outcome: Outcome, *, json: bool) -> None:
    if not outcome.done:
        complain(outcome.message)
    elif not json:
        try:
            say(printable(outcome.message))
        except BrokenPipeError:
            # Nobody reads on, but what was asked for is still to be done to the other tasks.
            abandon_result()


def _title(found: Found) -> str:
    return f"{found.task.name} {found.task.task_id}"


def _confirm(args: Namespace, action: str, targets: list[Found]) -> None:
    """Ask before several tasks are cancelled or requeued, if there is somebody to ask.

    Raises:
        CommandFailed: The answer was no.
    """
    if action not in ("cancel", "requeue") or args.yes or len(targets) < 2 or not is_terminal(sys.stdin):
        return
    for found in targets:
        task = found.task
        note(
            f"  {short_id(task.task_id)}  {task.state:<9}  attempt {of_limit(task.attempts, task.max_attempts)}  "
            f"{task.name}"
        )
    if ask(f"{action} these {plural(len(targets), 'task')}? [y/N] ").lower() not in ("y", "yes"):
        raise CommandFailed(f"nothing was done: {action} was not confirmed")
