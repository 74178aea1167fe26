"""What the task detail says, line by line: pure functions from a task's record to text and rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rich.text import Text

from dura.records import AttemptRow, CheckpointRow, TaskDetail, TaskRow, Waiter
from dura.states import State
from dura_tui import format as fmt
from dura_tui.widgets import cells
from dura_tui.widgets.cells import EMPTY, Cell, cell
from dura_tui.widgets.live_table import Row
from dura_tui.widgets.text_view import failure_view, json_view

_OWN_TIMER: Final = "dura."
"""Waits on the engine's own event names are durable sleeps."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What Enter opens on a line of the detail."""

    title: str = ""
    json: str | None = None
    failure: str | None = None

    @property
    def source(self) -> str:
        """The text as stored."""
        return self.failure or self.json or ""

    def lines(self) -> list[Cell]:
        """The text laid out."""
        return failure_view(self.failure) if self.failure else json_view(self.json) if self.title else []


# --- the summary -----------------------------------------------------------------------------------------------------


def _line(*pieces: tuple[str, str]) -> Text:
    text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
    for piece, style in pieces:
        text.append(piece, style or None)
    return text


def what_line(detail: TaskDetail) -> Text:
    """What the task is."""
    task = detail.task
    queue = (
        (("   queue ", "bright_black"), (fmt.printable(task.queue), "")) if task.queue != "default" else ()
    )
    priority = (("   priority ", "bright_black"), (str(task.priority), "")) if task.priority else ()
    return _line(
        *cells.state(task.state),
        ("   ", ""),
        (fmt.printable(task.name), "bold"),
        (f" {fmt.short_id(task.task_id)}", "bright_black"),
        *queue,
        *priority,
    )


def doing_line(detail: TaskDetail, now: datetime) -> Text:
    """How far it is and what moves it next."""
    task = detail.task
    attempt = (("attempt ", "bright_black"), *cells.attempts(task.attempts, task.max_attempts))
    return _line(*attempt, ("   steps ", "bright_black"), *_steps(task), ("   ", ""), *_moves(detail, now))


def _steps(task: TaskRow) -> Cell:
    if task.steps_total is None:
        return cell(str(task.steps_done))
    usual = "" if task.steps_declared or task.state == State.COMPLETED else " usually"
    return (*cells.progress(task, width=10), (usual, "bright_black"))


def _moves(detail: TaskDetail, now: datetime) -> Cell:
    task = detail.task
    if task.state == State.RUNNING:
        worker = detail.attempts[-1].worker_id if detail.attempts else None
        return (
            ("lease ", "bright_black"),
            *cells.lease_countdown(task.due_at, now),
            (f" {fmt.clip_middle(fmt.printable(worker or ''), 24)}", "bright_black"),
        )
    if task.state == State.SLEEPING:
        event = (
            (("for ", "bright_black"), (fmt.printable(task.wake_event), "cyan")) if task.wake_event else ()
        )
        due = (*cells.due_countdown(task.due_at, now), (" ", "")) if task.due_at else ()
        return (
            *cells.cause(task.sleep_cause),
            (" ", ""),
            *due,
            *(event if task.sleep_cause == "event" else ()),
        )
    if task.state == State.PENDING:
        return cell("waits for a worker", "bright_black")
    return cell(f"ended {fmt.ago(task.ended_at, now)} ago", "bright_black")


def since_line(detail: TaskDetail, now: datetime) -> Text:
    """Since when, and by which key."""
    task = detail.task
    pieces = [("enqueued ", "bright_black"), (f"{fmt.ago(task.enqueued_at, now)} ago", "")]
    if task.started_at:
        pieces += [("   started ", "bright_black"), (f"{fmt.ago(task.started_at, now)} ago", "")]
    if task.ended_at and task.started_at:
        took = (task.ended_at - task.started_at).total_seconds()
        pieces += [("   took ", "bright_black"), (fmt.duration(took), "")]
    if task.idempotency_key:
        pieces += [("   key ", "bright_black"), (fmt.printable(task.idempotency_key), "")]
    return _line(*pieces)


# --- the facts -------------------------------------------------------------------------------------------------------


def fact_rows(detail: TaskDetail, now: datetime) -> list[Row[Fact]]:
    """Steps in order (done, waiting, ahead), attempts with the newest first, data."""
    rows = [_section("STEPS")]
    rows += [_checkpoint(checkpoint, now) for checkpoint in detail.checkpoints]
    waiting = [wait for wait in detail.waits if wait.waiting]
    rows += [_wait(wait, now) for wait in waiting]
    seen = {checkpoint.name for checkpoint in detail.checkpoints} | {wait.step_name for wait in waiting}
    rows += [_step_ahead(name) for name in dict.fromkeys(detail.steps) if name not in seen]
    if len(rows) == 1:
        rows.append(Row("no steps", (cell("  none finished", "bright_black"), *[EMPTY] * 4), Fact()))
    rows.append(_section("ATTEMPTS"))
    rows += [_attempt(attempt, now) for attempt in reversed(detail.attempts)]
    rows.append(_section("DATA"))
    rows.append(_data("params", detail.params))
    if detail.result is not None:
        rows.append(_data("result", detail.result))
    if detail.retry is not None:
        rows.append(_data("retry", detail.retry))
    if detail.max_reclaims is not None:
        rows.append(_data("max reclaims", str(detail.max_reclaims)))
    return rows


def _section(title: str) -> Row[Fact]:
    return Row(f"section\0{title}", (cell(title, "bold cyan"), *[EMPTY] * 4), Fact())


def _checkpoint(checkpoint: CheckpointRow, now: datetime) -> Row[Fact]:
    name = fmt.printable(checkpoint.name)
    value = cell("timed out", "yellow") if checkpoint.timed_out else cell(fmt.json_line(checkpoint.value))
    took = fmt.NOTHING if checkpoint.seconds is None else fmt.duration(checkpoint.seconds)
    return Row(
        f"step\0{checkpoint.name}",
        (
            (("  ✓ ", "green"), (name, "")),
            value,
            cell(fmt.size(checkpoint.size), "bright_black"),
            cell(took),
            cell(fmt.at(checkpoint.finished_at, now), "bright_black"),
        ),
        Fact(f"step {name}", checkpoint.value),
    )


def _wait(wait: Waiter, now: datetime) -> Row[Fact]:
    if wait.event_name.startswith(_OWN_TIMER):
        what: Cell = cell("sleeps on its own timer", "magenta")
    else:
        what = (("waits for ", "magenta"), (fmt.printable(wait.event_name), "cyan"))
    left = cells.due_countdown(wait.timeout_at, now)
    return Row(
        f"step\0{wait.step_name}",
        ((("  ◐ ", "magenta"), (fmt.printable(wait.step_name), "")), what, EMPTY, EMPTY, left),
        Fact(),
    )


def _step_ahead(name: str) -> Row[Fact]:
    text = fmt.printable(name)
    return Row(f"step\0{name}", (cell(f"  · {text}", "bright_black"), *[EMPTY] * 4), Fact())


def _attempt(attempt: AttemptRow, now: datetime) -> Row[Fact]:
    glyph, style = cells.GLYPHS.get(attempt.state, "·"), cells.STYLES.get(attempt.state, "")
    notes = []
    if attempt.reclaims:
        notes.append(f"reclaimed {fmt.plural(attempt.reclaims, 'time')}")
    if attempt.deferrals:
        notes.append(f"deferred {fmt.plural(attempt.deferrals, 'time')}")
    if attempt.failure_reason is not None:
        what: Cell = cell(fmt.failure(attempt.failure_reason), "red")
    else:
        what = cell(fmt.printable(attempt.worker_id or ""), "bright_black")
    ended = attempt.ended_at or (now if attempt.state == State.RUNNING else None)
    took = fmt.duration((ended - attempt.started_at).total_seconds()) if ended and attempt.started_at else ""
    fact = Fact()
    if attempt.failure_reason is not None:
        fact = Fact(f"why attempt {attempt.attempt} failed", failure=attempt.failure_reason)
    return Row(
        attempt.run_id,
        (
            ((f"  {glyph} ", style), (f"{attempt.attempt} ", "bold"), (fmt.printable(attempt.state), style)),
            (*((f"{', '.join(notes)}  ", "yellow"),) * bool(notes), *what),
            EMPTY,
            cell(took),
            cell(fmt.at(attempt.started_at or attempt.available_at, now), "bright_black"),
        ),
        fact,
    )


def _data(name: str, value: str) -> Row[Fact]:
    return Row(
        f"data\0{name}",
        (
            cell(f"  {name}"),
            cell(fmt.json_line(value)),
            cell(fmt.stored_size(value), "bright_black"),
            EMPTY,
            EMPTY,
        ),
        Fact(name, value),
    )
