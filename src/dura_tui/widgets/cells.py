"""Cells: pieces of styled text that tables compare and draw.

A cell is a plain tuple, so that two looks at a store can be compared cell by cell and only what differs is drawn again.
Styles are the sixteen names of a terminal's own palette, which the theme turns into its colours; a state is always
told by its glyph and its word, and by its colour only besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from rich.text import Text

from dura.records import QueueRow, Sleeper, TaskRow
from dura.states import SleepCause, State
from dura_tui import format as fmt

Cell = tuple[tuple[str, str], ...]
"""Pieces of (text, style); the text is printable."""

EMPTY: Final[Cell] = ()

GLYPHS: Final[dict[str, str]] = {
    State.PENDING: "○",
    State.RUNNING: "●",
    State.SLEEPING: "◐",
    State.COMPLETED: "✓",
    State.FAILED: "✗",
    State.CANCELLED: "⊘",
}
STYLES: Final[dict[str, str]] = {
    State.PENDING: "yellow",
    State.RUNNING: "blue",
    State.SLEEPING: "magenta",
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.CANCELLED: "bright_black",
}
CAUSE_GLYPHS: Final[dict[str, str]] = {
    SleepCause.EVENT: "◆",
    SleepCause.BACKOFF: "↻",
    SleepCause.DELAY: "◷",
    SleepCause.SLEEP: "◐",
    SleepCause.DEFERRED: "?",
}

PRESENCE: Final = {
    "alive": ("● alive", "green"),
    "gone": ("✗ gone", "bold red"),
    "unknown": ("? unknown", "bright_black"),
}
"""Whether a worker's process is there, by glyph and word."""

_BARS: Final = " ▁▂▃▄▅▆▇█"


def cell(text: str, style: str = "") -> Cell:
    """A cell of one piece."""
    return ((text, style),)


def to_text(pieces: Cell, justify: str = "left") -> Text:
    """What a terminal draws for a cell; never parsed as markup, cut with an ellipsis."""
    text = Text(justify="right" if justify == "right" else "left", no_wrap=True, overflow="ellipsis", end="")
    for piece, style in pieces:
        text.append(piece, style or None)
    return text


def plain(pieces: Cell) -> str:
    """A cell's text without its styles."""
    return "".join(piece for piece, _ in pieces)


def state(name: str) -> Cell:
    """A state by glyph and word, for example `● running`."""
    return cell(f"{GLYPHS.get(name, '·')} {fmt.printable(name)}", STYLES.get(name, ""))


def cause(name: str | None) -> Cell:
    """Why a run sleeps, by glyph and word, for example `↻ backoff`."""
    if name is None:
        return cell(f"{GLYPHS[State.SLEEPING]} asleep", "magenta")
    return cell(
        f"{CAUSE_GLYPHS.get(name, '·')} {fmt.printable(name)}", "yellow" if name == "deferred" else "magenta"
    )


def presence(name: str) -> Cell:
    """Whether a worker's process is there, for example `✗ gone`."""
    return cell(*PRESENCE.get(name, (fmt.printable(name), "")))


def drains_in(queue: QueueRow) -> Cell:
    """When nothing of a queue is ready any more, if it goes on like that; `grows` or `stands` if that is never."""
    seconds = queue.drain_seconds
    if seconds is None:
        return cell("grows" if queue.in_per_minute > queue.out_per_minute else "stands", "bold yellow")
    return cell(f"~{fmt.whole_duration(seconds)}") if seconds else cell("empty", "bright_black")


def lease_countdown(expires_at: datetime | None, now: datetime) -> Cell:
    """How long a lease has left: calm, then yellow under 30 s, red under 10 s and once it has run out."""
    text = fmt.countdown(expires_at, now)
    left = (expires_at - now).total_seconds() if expires_at is not None else 3600.0
    return cell(text, "bold red" if left <= 10 else "bold yellow" if left <= 30 else "")


def due_countdown(due_at: datetime | None, now: datetime) -> Cell:
    """How long until a sleeper is due; yellow once it is overdue, which says that no worker takes it up."""
    overdue = due_at is not None and (now - due_at).total_seconds() >= 1
    return cell(fmt.countdown(due_at, now), "bold yellow" if overdue else "")


def waits_for(sleeper: Sleeper) -> Cell:
    """What ends a sleep, in words."""
    if sleeper.stray:
        return cell("nothing: its task is over; it will wake all the same", "yellow")
    step = f"  step {fmt.printable(sleeper.step_name)}" if sleeper.step_name else ""
    if sleeper.cause == "event":
        return ((fmt.printable(sleeper.event_name or "?"), "cyan"), (step, "bright_black"))
    if sleeper.cause == "backoff":
        return cell(f"attempt {sleeper.attempt}, after a failure")
    if sleeper.cause == "delay":
        return cell("its start time")
    if sleeper.cause == "deferred":
        return cell(f"a worker that knows it; put back {fmt.plural(sleeper.deferrals, 'time')}", "yellow")
    return (("its own timer", ""), (step, "bright_black"))


def progress(task: TaskRow, width: int = 6) -> Cell:
    """Steps done as a bar and as numbers, with `~` before a total that is only usual for the name; no bar without one."""
    done, total, usual = task.steps_done, task.steps_total, ""
    if not task.steps_declared and task.state == State.COMPLETED:
        total = done
    elif not task.steps_declared:
        usual = "~"
    if not total:
        return cell(f"{done} done", "") if done else cell(fmt.NOTHING, "bright_black")
    filled = fmt.bar(done, total, width)
    full = filled.rstrip("░")
    return (
        (full, STYLES.get(task.state, "blue")),
        (filled[len(full) :], "bright_black"),
        (f" {done}/{usual}{total}", ""),
    )


def attempts(value: int, limit: int | None) -> Cell:
    """Attempts against their limit; yellow on the last one."""
    return cell(
        fmt.of_limit(value, limit), "yellow" if limit is not None and limit > 1 and value >= limit else ""
    )


def bars(values: Sequence[int | None], height: int) -> list[str]:
    """A bar chart of text lines, top line first, one column a value; `·` at the foot where nothing is known."""
    peak = max((value for value in values if value), default=0)
    lines = []
    for level in range(height - 1, -1, -1):
        line = ""
        for value in values:
            if value is None:
                line += "·" if level == 0 else " "
                continue
            # A value that is not zero is never invisible.
            eighths = max(round(value / peak * height * 8), 1) if value else 0
            line += _BARS[min(max(eighths - level * 8, 0), 8)]
        lines.append(line)
    return lines
