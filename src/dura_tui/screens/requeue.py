"""Requeue a failed or cancelled task: which finished steps its new run keeps, and so which step runs next."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from dura.records import Snapshot, TaskDetail, Want
from dura_tui import format as fmt
from dura_tui.orders import Target, order_for
from dura_tui.screens.confirm import Buttons, OrderDialog, Question
from dura_tui.widgets.cells import Cell, cell, to_text

_KEEP, _SCRATCH, _STEP = "keep", "scratch", "step:"


class RequeueDialog(OrderDialog):
    """Returns the order to requeue, once it was confirmed."""

    HEADING: ClassVar[str] = "Requeue the task"

    def __init__(self, target: Target) -> None:
        """Keep what was seen."""
        super().__init__()
        self._target = target
        self._detail: TaskDetail | None = None
        self._ways = OptionList(id="ways", compact=True, markup=False)
        self._said = Static(id="forecast")

    def body(self) -> ComposeResult:
        """The ways to requeue, in one list."""
        yield Static(to_text(cell(self._target.title, "bold")))
        yield self._ways
        yield self._said
        yield Buttons("Requeue …")

    def on_mount(self) -> None:
        """Offer what needs no knowledge of the steps until they are read."""
        self._offer()
        self._ways.focus()

    def wants(self, want: Want) -> Want:
        """The task's finished steps."""
        return replace(want, task_id=self._target.task_id)

    def show(self, snapshot: Snapshot, now: datetime) -> None:  # noqa: ARG002
        """Offer the finished steps."""
        detail = snapshot.task
        if detail is None or detail.task.task_id != self._target.task_id:
            return
        if self._detail is None or self._detail.checkpoints != detail.checkpoints:
            self._detail = detail
            self._offer()

    def _steps(self) -> list[str]:
        return [checkpoint.name for checkpoint in self._detail.checkpoints] if self._detail else []

    def _offer(self) -> None:
        ways = self._ways
        chosen = ways.highlighted or 0
        ways.clear_options()
        steps = self._steps()
        kept = f"keep {fmt.plural(len(steps), 'finished step')}" if steps else "keep finished steps"
        ways.add_option(Option(Text(f"{kept} and go on"), id=_KEEP))
        for name in steps:
            ways.add_option(Option(Text(f"again from step {fmt.printable(name)}"), id=f"{_STEP}{name}"))
        ways.add_option(Option(Text("from scratch: drop every finished step"), id=_SCRATCH))
        ways.highlighted = min(chosen, ways.option_count - 1)

    def _way(self) -> str:
        ways = self._ways
        place = ways.highlighted
        return (ways.get_option_at_index(place).id if place is not None else None) or _KEEP

    def _forecast(self) -> str:
        steps, way = self._steps(), self._way()
        if self._detail is None:
            return "Reading its steps …"
        if way == _SCRATCH:
            kept: list[str] = []
        elif way.startswith(_STEP):
            kept = steps[: steps.index(way.removeprefix(_STEP))]
        else:
            kept = steps
        following = next((name for name in self._detail.steps if name not in kept), None)
        replayed = f"kept: {', '.join(map(fmt.printable, kept))}" if kept else "no step is kept"
        return f"{replayed}; next: {fmt.printable(following)}" if following else replayed

    @on(OptionList.OptionHighlighted)
    def _highlighted(self) -> None:
        self._said.update(Text(self._forecast()))

    @on(OptionList.OptionSelected)
    @on(Button.Pressed, "#yes")
    def _ask(self) -> None:
        way = self._way()
        order = order_for(
            "requeue",
            self._target,
            keep_checkpoints=way != _SCRATCH,
            from_step=way.removeprefix(_STEP) if way.startswith(_STEP) else None,
        )
        lines: list[Cell] = [
            cell(self._target.title, "bold"),
            (("gets a new run; ", ""), (self._forecast(), "yellow" if way != _KEEP else "")),
        ]
        self.confirm(Question("Requeue this task?", "Requeue", lines), order)
