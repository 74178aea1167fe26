"""A task drawn to scale: its attempts, its finished steps, what it waits for or sleeps. Pure: no clock, no terminal.

The store keeps when a run could be claimed, when it was first claimed and when it ended, and when each step finished. A
step therefore lasts from the finish of the one before it, or from its run's start, to its own; a run that sleeps is asleep
since its latest step. What is not known is left empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from dura.records import AttemptRow, CheckpointRow, TaskDetail, Waiter
from dura.states import SleepCause, State
from dura_tui import format as fmt
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell

_DELAYED: Final = ("┄", "magenta")
_QUEUED: Final = ("·", "yellow")
_ASLEEP: Final = ("░", "magenta")
_HELD: Final = "█"
_DEADLINE: Final = ("┊", "bold yellow")
_EMPTY: Final = (" ", "")

LEGEND: Final[Cell] = (
    ("█", "blue"), (" held ", "bright_black"), _QUEUED, (" queued ", "bright_black"),
    _DELAYED, (" delayed ", "bright_black"), _ASLEEP, (" asleep ", "bright_black"),
    _DEADLINE, (" due", "bright_black"),
)  # fmt: skip
"""What the signs of a line mean."""

_AHEAD: Final = 0.5
"""A deadline is drawn when it lies at most this share of the time so far ahead."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, drawn with one sign."""

    start: datetime
    end: datetime
    sign: str
    style: str


@dataclass(frozen=True, slots=True)
class Track:
    """One line: an attempt, a step or a wait."""

    key: str
    label: Cell
    spans: tuple[Span, ...]
    note: Cell
    """How long it took, or how long it has left."""
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """From when to when the lines go."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """How long that is; never zero."""
        return max((self.end - self.start).total_seconds(), 0.001)

    def cell_of(self, moment: datetime, width: int) -> int:
        """In which of `width` cells a moment lies; below zero or beyond them when it is outside."""
        share = (moment - self.start).total_seconds() / self.seconds
        return int(max(min(share * width, 2.0 * width), -1.0) // 1)


def scale(detail: TaskDetail, now: datetime, *, latest: bool = False) -> Scale:
    """The whole task, or its latest attempt: from when it was enqueued, or could be claimed, to its end or the present.

    A deadline that is near enough is drawn too.
    """
    task = detail.task
    start = task.enqueued_at
    if latest and detail.attempts:
        attempt = detail.attempts[-1]
        start = attempt.started_at or start
    known = [moment for moment in _moments(detail) if moment <= now]
    start = start or min(known, default=now)
    end = task.ended_at or max(now, start)
    if task.ended_at is None:
        so_far = max((end - start).total_seconds(), 1.0)
        ahead = [
            due for due in (task.due_at, *(wait.timeout_at for wait in detail.waits if wait.waiting)) if due
        ]
        near = [due for due in ahead if 0 < (due - end).total_seconds() <= _AHEAD * so_far]
        end = max([end, *near])
    return Scale(start, max(end, start))


def _moments(detail: TaskDetail) -> list[datetime]:
    found = [moment for a in detail.attempts for moment in (a.available_at, a.started_at, a.ended_at)]
    found += [checkpoint.finished_at for checkpoint in detail.checkpoints]
    return [moment for moment in found if moment is not None]


# --- the lines -------------------------------------------------------------------------------------------------------


def tracks(detail: TaskDetail, now: datetime) -> list[Track]:
    """Attempts with the oldest first, then steps in the order in which they finished, then waits."""
    return [*_attempts(detail, now), *_steps(detail), *_waits(detail, now)]


def _attempts(detail: TaskDetail, now: datetime) -> list[Track]:
    found: list[Track] = []
    before = detail.task.enqueued_at
    for attempt in detail.attempts:
        spans = _until_started(attempt, before, now) + _since_started(attempt, detail.checkpoints, now)
        ended = attempt.ended_at or now
        took = (ended - attempt.started_at).total_seconds() if attempt.started_at else None
        glyph, style = cells.GLYPHS.get(attempt.state, "·"), cells.STYLES.get(attempt.state, "")
        label: Cell = (
            (f"{glyph} ", style),
            (f"attempt {attempt.attempt}", "bold"),
            (f" {fmt.printable(attempt.state)}", style),
        )
        note = cell("" if took is None else fmt.duration(took))
        found.append(Track(attempt.run_id, label, tuple(spans), note))
        before = attempt.ended_at or before
    return found


def _until_started(attempt: AttemptRow, before: datetime | None, now: datetime) -> list[Span]:
    """The delay or backoff, then the queue."""
    until = attempt.started_at or now
    if before is None or before >= until:
        return []
    due = attempt.available_at
    if attempt.started_at is None and attempt.state == State.SLEEPING:
        return [Span(before, until, *_DELAYED)]
    if due is None or not before < due <= until:
        return [Span(before, until, *_QUEUED)]
    return [Span(before, due, *_DELAYED), Span(due, until, *_QUEUED)]


def _since_started(attempt: AttemptRow, checkpoints: Sequence[CheckpointRow], now: datetime) -> list[Span]:
    """Held by a worker, as far as is known; then what it is now."""
    start = attempt.started_at
    if start is None:
        return []
    style = cells.STYLES.get(attempt.state, "blue")
    if attempt.state not in (State.SLEEPING, State.PENDING):
        return [
            Span(start, attempt.ended_at or (now if attempt.state == State.RUNNING else start), _HELD, style)
        ]
    own = [c.finished_at for c in checkpoints if c.run_id == attempt.run_id and c.finished_at is not None]
    last = max([start, *own])
    sign = _QUEUED if attempt.state == State.PENDING else _ASLEEP
    if attempt.sleep_cause in (SleepCause.DELAY, SleepCause.BACKOFF):
        sign = _DELAYED
    return [Span(start, last, _HELD, "blue"), Span(last, now, *sign)]


def _steps(detail: TaskDetail) -> list[Track]:
    started = {attempt.run_id: attempt.started_at for attempt in detail.attempts}
    found: list[Track] = []
    before = detail.task.started_at
    for checkpoint in detail.checkpoints:
        end = checkpoint.finished_at
        spans: tuple[Span, ...] = ()
        note = cell(fmt.NOTHING, "bright_black")
        if end is not None:
            began = [
                moment for moment in (before, started.get(checkpoint.run_id or "")) if moment is not None
            ]
            start = min(max(began, default=end), end)
            sign, style = _ASLEEP if checkpoint.timed_out else (_HELD, "green")
            spans = (Span(start, end, sign, style),)
            note = cell(fmt.duration((end - start).total_seconds()))
            before = end
        mark = ("◷ ", "yellow") if checkpoint.timed_out else ("✓ ", "green")
        found.append(
            Track(f"step\0{checkpoint.name}", (mark, (fmt.printable(checkpoint.name), "")), spans, note)
        )
    return found


def _waits(detail: TaskDetail, now: datetime) -> list[Track]:
    since = max((c.finished_at for c in detail.checkpoints if c.finished_at is not None), default=None)
    attempt = detail.attempts[-1] if detail.attempts else None
    starts = [moment for moment in (since, attempt.started_at if attempt else None) if moment is not None]
    start = max(starts, default=now)
    return [_wait(wait, min(start, now), now) for wait in detail.waits if wait.waiting]


def _wait(wait: Waiter, start: datetime, now: datetime) -> Track:
    glyph = cells.CAUSE_GLYPHS[SleepCause.SLEEP if wait.event_name.startswith("dura.") else SleepCause.EVENT]
    left = cells.due_countdown(wait.timeout_at, now) if wait.timeout_at else cell("no end", "bright_black")
    return Track(
        f"step\0{wait.step_name}",
        ((f"{glyph} ", "magenta"), (fmt.printable(wait.step_name), "")),
        (Span(start, now, *_ASLEEP),),
        left,
        wait.timeout_at,
    )


# --- drawing ---------------------------------------------------------------------------------------------------------


def draw(track: Track, of: Scale, width: int) -> Cell:
    """The line, `width` cells long. What lasted, however short, has a cell; what is outside has none."""
    line: list[tuple[str, str]] = [_EMPTY] * width
    for span in track.spans:
        first = of.cell_of(span.start, width)
        last = max(of.cell_of(span.end, width), first + 1)
        if span.start > of.end or span.end < of.start:
            continue
        first = min(first, width - 1)
        for place in range(max(first, 0), min(max(last, first + 1), width)):
            line[place] = (span.sign, span.style)
    if track.deadline is not None and of.start <= track.deadline <= of.end and width:
        line[min(of.cell_of(track.deadline, width), width - 1)] = _DEADLINE
    return tuple(
        ("".join(sign for sign, _ in pieces), style)
        for style, pieces in (
            (style, list(group)) for style, group in groupby(line, key=lambda piece: piece[1])
        )
    )


def axis(of: Scale, width: int) -> Cell:
    """The scale in words: when it begins, its middle, how long it is."""
    left, right = f"{of.start:%H:%M:%S}", f"+{fmt.duration(of.seconds if of.seconds >= 0.01 else 0.0)}"
    middle = f"+{fmt.duration(of.seconds / 2)}"
    room = width - len(left) - len(right)
    if room < len(middle) + 4:
        return cell(f"{left}{right.rjust(max(width - len(left), 0))}"[:width], "bright_black")
    place = width // 2 - len(left)
    line = left + middle.rjust(place + len(middle) - 1)
    return cell(line + right.rjust(width - len(line)), "bright_black")
