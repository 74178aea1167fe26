"""One task followed in the terminal's own lines, from what has happened to it until it ends. Never imports Textual.

What happens is printed as it comes, a line each; on a terminal a last line says where the task is now. The exit code is
the outcome, so that a script can wait for a task.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from time import monotonic
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from dura.errors import StoreBusy
from dura.monitor import Monitor
from dura.records import AttemptRow, TaskDetail, Want
from dura.states import TERMINAL, State
from dura_tui import format as fmt
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell, to_text

OUTCOMES: Final = {State.COMPLETED: 0, State.FAILED: 3, State.CANCELLED: 4}
"""The exit codes of tasks that have ended."""
NOT_FOUND: Final = 5
TIMED_OUT: Final = 6

LEAST_PART: Final = 4
"""Characters of an id that name a task."""

_MOST_NAMED: Final = 8
_STEPS_BEFORE: Final = 12
"""So much of what happened before we came is told."""
_RESULT_CELLS: Final = 2_000


class NotOne(Exception):  # noqa: N818
    """A part of an id names no task, or several; the text says so in lines."""

    def __init__(self, message: str, *, several: bool) -> None:
        super().__init__(message)
        self.several = several


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to the task."""

    key: Hashable
    """By which it is told once."""
    at: datetime | None
    pieces: Cell


def find(monitor: Monitor, part: str) -> str:
    """The id of the one task that a part of its id names.

    Raises:
        NotOne: There is no such task, or more than one.
        StoreError: The file cannot be read.
    """
    found = monitor.find_tasks(part, _MOST_NAMED) if len(part) >= LEAST_PART else ()
    if len(found) == 1:
        return found[0].task_id
    said = fmt.printable(part)
    if found:
        lines = [f"  {task.task_id}  {task.state}  {fmt.printable(task.name)}" for task in found]
        raise NotOne("\n".join([f"the ids of several tasks hold {said!r}:", *lines]), several=True)
    least = f"; {LEAST_PART} characters of it are needed" if len(part) < LEAST_PART else ""
    raise NotOne(f"no task's id holds {said!r}{least}", several=False)


def watch(monitor: Monitor, task_id: str, console: Console, *, refresh: float, timeout: float | None) -> int:
    """Follow a task until it has ended.

    Args:
        monitor: Reads the store.
        task_id: The task's whole id.
        console: Where to print.
        refresh: Seconds between two looks.
        timeout: Seconds after which to stop looking; None for never.

    Returns:
        The exit code: of `OUTCOMES`, `NOT_FOUND` if the task has been removed, or `TIMED_OUT`.

    Raises:
        StoreError: The file cannot be read any more. One that is only busy is asked again.
    """
    ends = monotonic() + timeout if timeout is not None else None
    told: set[Hashable] = set()
    pause = Event()
    live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
    shown = ""
    with live or _nothing():
        while True:
            try:
                snapshot = monitor.snapshot(Want(task_id=task_id))
            except StoreBusy:
                snapshot = None
            if snapshot is not None:
                detail, now = snapshot.task, snapshot.taken_at
                if detail is None:
                    console.print(Text(f"task {task_id} is not in the store any more"))
                    return NOT_FOUND
                _tell(console, list(happenings(detail, now)), told)
                if detail.task.state in TERMINAL:
                    console.print(to_text(_outcome(detail)), soft_wrap=True)
                    return OUTCOMES[State(detail.task.state)]
                line = to_text(_present(detail, now))
                if live is not None and line.plain != shown:
                    shown = line.plain
                    live.update(line, refresh=True)
            left = None if ends is None else ends - monotonic()
            if left is not None and left <= 0:
                console.print(Text("not ended in time; it goes on, unwatched"))
                return TIMED_OUT
            pause.wait(refresh if left is None else min(refresh, left))


def _nothing() -> AbstractContextManager[None]:
    return nullcontext()


def _tell(console: Console, happened: list[Happening], told: set[Hashable]) -> None:
    new = [happening for happening in happened if happening.key not in told]
    if not told and len(new) > _STEPS_BEFORE:
        console.print(Text(f"… {fmt.plural(len(new) - _STEPS_BEFORE, 'line')} before", style="dim"))
        told.update(happening.key for happening in new[:-_STEPS_BEFORE])
        new = new[-_STEPS_BEFORE:]
    for happening in new:
        told.add(happening.key)
        time = f"{happening.at:%H:%M:%S}  " if happening.at else " " * 10
        console.print(to_text(((time, "bright_black"), *happening.pieces)), soft_wrap=True)


def happenings(detail: TaskDetail, now: datetime) -> Iterator[Happening]:
    """What has happened to a task, the oldest first, and what it waits for."""
    past = [*_attempts(detail.attempts), *_steps(detail)]
    yield from sorted(past, key=lambda happening: happening.at or datetime.max.replace(tzinfo=UTC))
    task = detail.task
    if task.state == State.PENDING:
        since = f" since {fmt.at(task.enqueued_at, now)}" if task.attempts == 1 and task.enqueued_at else ""
        words = (f", attempt {task.attempts} waits for a worker{since}", "")
        yield Happening(("pending", task.run_id), now, (*cells.state(State.PENDING), words))
    if task.state == State.SLEEPING:
        due = f", until {fmt.at(task.due_at, now)}" if task.due_at else ""
        on = (
            ((f" on {fmt.printable(task.wake_event)}", "cyan"),)
            if task.sleep_cause == "event" and task.wake_event
            else ()
        )
        key = ("sleep", task.run_id, task.sleep_cause, task.wake_event, task.due_at)
        yield Happening(key, now, (*cells.cause(task.sleep_cause), *on, (due, "")))


def _attempts(attempts: tuple[AttemptRow, ...]) -> Iterator[Happening]:
    for attempt in attempts:
        if attempt.started_at is not None:
            worker = f" on {fmt.printable(attempt.worker_id)}" if attempt.worker_id else ""
            yield Happening(
                ("began", attempt.run_id),
                attempt.started_at,
                cell(f"attempt {attempt.attempt} began{worker}"),
            )
        if attempt.reclaims:
            times = fmt.plural(attempt.reclaims, "time")
            yield Happening(
                ("reclaimed", attempt.run_id, attempt.reclaims),
                None,
                cell(f"attempt {attempt.attempt}: its lease ran out and was taken back, {times}", "yellow"),
            )
        if attempt.state == State.FAILED:
            why = fmt.failure(attempt.failure_reason) if attempt.failure_reason else "no reason kept"
            yield Happening(
                ("failed", attempt.run_id),
                attempt.ended_at,
                (*cells.state(State.FAILED), (f" attempt {attempt.attempt}: {why}", "red")),
            )


def _steps(detail: TaskDetail) -> Iterator[Happening]:
    for step in detail.checkpoints:
        took = f" in {fmt.duration(step.seconds)}" if step.seconds is not None else ""
        end = "timed out" if step.timed_out else f"finished{took}"
        yield Happening(
            ("step", step.name, step.finished_at),
            step.finished_at,
            cell(f"step {fmt.printable(step.name)} {end}", "yellow" if step.timed_out else ""),
        )


def _present(detail: TaskDetail, now: datetime) -> Cell:
    """Where the task is now, in a line."""
    task = detail.task
    pieces = [*cells.state(task.state), (f"  {fmt.printable(task.name)} {fmt.short_id(task.task_id)}  ", "")]
    pieces += [("attempt ", "bright_black"), *cells.attempts(task.attempts, task.max_attempts), ("  ", "")]
    pieces += cells.progress(task)
    if task.state == State.RUNNING:
        pieces += [("  lease ", "bright_black"), *cells.lease_countdown(task.due_at, now)]
    elif task.state == State.SLEEPING:
        pieces += [("  due in ", "bright_black"), *cells.due_countdown(task.due_at, now)]
    return tuple(pieces)


def _outcome(detail: TaskDetail) -> Cell:
    task = detail.task
    took = (
        f" after {fmt.whole_duration((task.ended_at - task.enqueued_at).total_seconds())}"
        if task.ended_at and task.enqueued_at
        else ""
    )
    result = f": {fmt.clip(fmt.printable(detail.result), _RESULT_CELLS)}" if detail.result is not None else ""
    attempts = fmt.plural(task.attempts, "attempt")
    return (
        *cells.state(task.state),
        (f"  {fmt.printable(task.name)} {task.task_id}, {attempts}{took}{result}", ""),
    )
