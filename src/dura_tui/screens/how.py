"""How an action is done to many at once, where there is more than one way: what each dialog for one asks, in short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from dura.records import Snapshot, StepCount, Want
from dura_tui import format as fmt
from dura_tui.actions import Action
from dura_tui.orders import Order, Target
from dura_tui.payload import parse_payload
from dura_tui.screens.extend import DEFAULT_SECS, WRONG, extended, seconds_in
from dura_tui.widgets.editor import JsonEditor
from dura_tui.widgets.entry import Entry

_ASKED: Final = 2_000
"""Tasks whose finished steps are counted."""

_KEEP, _SCRATCH, _STEP = "keep", "scratch", "step:"


class How(Vertical):
    """A part of the dialog that completes each order."""

    DEFAULT_CSS = "How { height: auto; }"

    def take(self, targets: Sequence[Target]) -> None:
        """The targets were found."""

    def wants(self, want: Want) -> Want:
        """What must be read of them."""
        return want

    def show(self, snapshot: Snapshot) -> None:
        """Take what was read."""

    def wrong(self) -> str:
        """Why it is not complete; empty if it is."""
        return ""

    def complete(self, order: Order, now: datetime) -> Order:  # noqa: ARG002
        """The order with what was chosen here."""
        return order


class HowToRequeue(How):
    """Keep the finished steps, go back to one of them, or to none."""

    def __init__(self) -> None:
        """Offer what needs no knowledge of the steps until they are read."""
        super().__init__()
        self._ways = OptionList(id="ways", compact=True, markup=False)
        self._ids: tuple[str, ...] = ()
        self._total = 0
        self._steps: tuple[StepCount, ...] | None = None
        self._partial = False

    def compose(self) -> ComposeResult:
        """The ways."""
        yield self._ways

    def on_mount(self) -> None:
        """Fill in."""
        self._offer()

    def take(self, targets: Sequence[Target]) -> None:
        """Ask for their steps."""
        self._total = len(targets)
        self._ids = tuple(target.task_id for target in targets[:_ASKED] if target.task_id)

    def wants(self, want: Want) -> Want:
        """Their finished steps, once."""
        return replace(want, finished_steps=self._ids) if self._steps is None else want

    def show(self, snapshot: Snapshot) -> None:
        """Offer the finished steps."""
        if self._steps is None:
            self._steps = snapshot.finished_steps
            self._partial = "finished_steps" in snapshot.truncated
            self._offer()

    def _offer(self) -> None:
        ways = self._ways
        chosen = ways.highlighted or 0
        ways.clear_options()
        ways.add_option(Option("keep every finished step and go on", id=_KEEP))
        for step in self._steps or ():
            text = Text(f"again from step {fmt.printable(step.name)}{self._had(step)}")
            ways.add_option(Option(text, id=_STEP + step.name))
        ways.add_option(Option("from scratch: drop every finished step", id=_SCRATCH))
        ways.highlighted = min(chosen, ways.option_count - 1)

    def _had(self, step: StepCount) -> str:
        if self._partial:
            return f" (at least {fmt.number(step.tasks)} finished it)"
        if len(self._ids) < self._total:
            return f" ({fmt.number(step.tasks)} of the first {fmt.number(len(self._ids))} finished it)"
        without = self._total - step.tasks
        return f" ({fmt.number(without)} never finished it: refused)" if without else ""

    def complete(self, order: Order, now: datetime) -> Order:  # noqa: ARG002
        """With the chosen way."""
        place = self._ways.highlighted
        way = (self._ways.get_option_at_index(place).id if place is not None else None) or _KEEP
        step = way.removeprefix(_STEP) if way.startswith(_STEP) else None
        return replace(order, keep_checkpoints=way != _SCRATCH, from_step=step)


class HowToExtend(How):
    """By how much."""

    def __init__(self) -> None:
        """Begin with the default."""
        super().__init__()
        self._line = Entry(str(DEFAULT_SECS), id="seconds", compact=True)
        self._error = Static(classes="error")

    def compose(self) -> ComposeResult:
        """One input."""
        yield Static("Seconds more for each", classes="label")
        yield self._line
        yield self._error

    def wrong(self) -> str:
        """Whether that is no sensible number."""
        wrong = WRONG if seconds_in(self._line.value) is None else ""
        _tell(self._error, wrong)
        return wrong

    def complete(self, order: Order, now: datetime) -> Order:
        """To the moment that the seconds come to for this lease."""
        return replace(order, until=extended(order.target, seconds_in(self._line.value) or 0.0, now))


class HowToEmit(How):
    """With which payload."""

    def __init__(self) -> None:
        """Begin with null."""
        super().__init__()
        self._editor = JsonEditor(id="payload")
        self._error = Static(classes="error")
        self._payload: Any = None

    def compose(self) -> ComposeResult:
        """An editor."""
        yield Static("Payload of each, as JSON", classes="label")
        yield self._editor
        yield self._error

    def on_mount(self) -> None:
        """Fill in."""
        self._editor.put("null")

    def wrong(self) -> str:
        """Why the payload is no JSON."""
        try:
            self._payload = parse_payload(self._editor.text)
        except ValueError as error:
            _tell(self._error, f"✗ {error}")
            return str(error)
        _tell(self._error, "")
        return ""

    def complete(self, order: Order, now: datetime) -> Order:  # noqa: ARG002
        """With the payload, for the target's own event."""
        return replace(order, event_name=order.target.event_name or "", payload=self._payload)


def _tell(line: Static, text: str) -> None:
    line.update(Text(fmt.printable(text), "red"))
    line.display = bool(text)


def how_for(action: Action) -> How | None:
    """What has to be chosen for an action on many; None where there is nothing."""
    if action.name == "requeue":
        return HowToRequeue()
    if action.name == "extend":
        return HowToExtend()
    return HowToEmit() if action.name == "emit" else None
