"""From any part of a task's id to the task, while it is typed or pasted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from dura.records import Snapshot, TaskRow, Want
from dura_tui import format as fmt
from dura_tui.screens.dialog import Dialog
from dura_tui.widgets import cells
from dura_tui.widgets.cells import cell, to_text
from dura_tui.widgets.entry import Entry

_MOST: Final = 20
_LONGEST: Final = 200


class JumpDialog(Dialog[str]):
    """Returns the id of the task that is meant."""

    HEADING: ClassVar[str] = "Jump to a task"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("up,ctrl+p", "move(-1)", show=False, priority=True),
    ]

    def __init__(self) -> None:
        """Begin with nothing typed."""
        super().__init__()
        self._entry = Entry(
            placeholder="any part of its id, or the whole id of its run", id="jump", compact=True
        )
        self._list = OptionList(id="found", compact=True, markup=False)
        self._foot = Static(classes="foot")
        self._found: tuple[TaskRow, ...] | None = None
        self._asked = ""
        self._pressed = False

    def body(self) -> ComposeResult:
        """The part, and the tasks that have it."""
        yield self._entry
        yield self._list
        yield self._foot

    def on_mount(self) -> None:
        """Fill in."""
        self._list.display = False
        self._list.can_focus = False
        self._entry.focus()
        self._say()

    def wants(self, want: Want) -> Want:
        """The tasks with the part that is typed."""
        return replace(want, find=self._asked, found=_MOST + 1) if self._asked else want

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Show who has it; the cursor stays with its task."""
        if not self._asked:
            return
        before, marked = self._found, self._list.highlighted
        self._found = snapshot.found
        cut = "found" in snapshot.truncated
        ids = [task.task_id for task in self._found[:_MOST]]
        kept = before[marked].task_id if before and marked is not None and marked < len(before) else None
        self._list.clear_options()
        self._list.add_options([Option(_line(task, now), id=task.task_id) for task in self._found[:_MOST]])
        self._list.display = bool(ids)
        if ids:
            self._list.highlighted = ids.index(kept) if kept in ids else 0
        self._say(cut=cut)
        if self._pressed:
            self._pressed = False
            if len(ids) == 1:
                self.dismiss(ids[0])

    def _say(self, *, cut: bool = False) -> None:
        text = "enter opens it · ↓ ↑ choose · esc leaves"
        if self._asked and self._found is None:
            text = "looking …"
        elif self._found is not None and not self._found:
            text = "the search took too long: type more of it" if cut else "no task has this in its id"
        elif self._found is not None and len(self._found) > _MOST:
            text = f"more than {_MOST}, the latest ids first: type more · {text}"
        elif cut:
            text = f"there may be more: the search took too long · {text}"
        self._foot.update(Text(text))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        asked = event.value.strip()[:_LONGEST]
        if asked == self._asked:
            return
        self._asked = asked
        self._found, self._pressed = None, False
        if not asked:
            self._list.display = False
        self._say()
        self.post_message(self.WantChanged())

    @on(Input.Submitted)
    def _enter(self, event: Input.Submitted) -> None:
        """Open the marked task; one that is still looked for, as soon as it is the only one found."""
        event.stop()
        if self._found is None:
            self._pressed = bool(self._asked)
        elif self._found and self._list.highlighted is not None:
            self.dismiss(self._found[self._list.highlighted].task_id)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id)

    def action_move(self, step: int) -> None:
        """Mark the next task, or the one before."""
        if self._found:
            count = min(len(self._found), _MOST)
            self._list.highlighted = ((self._list.highlighted or 0) + step) % count


def _line(task: TaskRow, now: datetime) -> Text:
    key = f"  key {task.idempotency_key}" if task.idempotency_key else ""
    line = to_text(
        (
            *cells.state(task.state),
            (f"  {fmt.printable(task.name)}", "bold"),
            (f"  {fmt.printable(task.task_id)}", "bright_black"),
            *cell(fmt.printable(f"  {fmt.ago(task.enqueued_at, now)}{key}"), "bright_black"),
        )
    )
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
