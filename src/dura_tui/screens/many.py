"""One action on many tasks: which, how many, are you sure; then how far it is, and what became of them."""

from __future__ import annotations

from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from dura.records import Snapshot, Want
from dura_tui import format as fmt
from dura_tui.actions import Action
from dura_tui.bulk import BulkOrder, Tally
from dura_tui.orders import Selection, Target, order_for
from dura_tui.screens.dialog import Buttons, Dialog
from dura_tui.widgets.cells import Cell, cell, to_text
from dura_tui.widgets.entry import Entry

if TYPE_CHECKING:
    from dura_tui.app import DuraApp

_REASONS_SHOWN = 5
_BAR_CELLS = 40
_KEEP, _SCRATCH = "keep", "scratch"


class ManyDialog(Dialog[BulkOrder]):
    """Returns the order on the tasks that were found, once their number was typed."""

    def __init__(self, action: Action, selection: Selection) -> None:
        """Look for the tasks."""
        super().__init__()
        self._action = action
        self._selection = selection
        self._found: tuple[tuple[Target, ...], bool] | None = None
        self._ways = OptionList(id="ways", compact=True, markup=False)
        self._said = Static(id="found")
        self._count = Entry(placeholder="their number", id="count", compact=True, select_on_focus=False)
        self._reason = Entry(
            placeholder="reason, kept with each audit entry (optional)", id="reason", compact=True
        )
        self._buttons = Buttons(action.label.capitalize())

    def box_title(self) -> Text:
        """What is to be done."""
        return Text(f"{self._action.label.capitalize()} many tasks")

    def body(self) -> ComposeResult:
        """The tasks, the way, their number, a reason."""
        yield Static(to_text(cell(self._selection.title, "bold")))
        yield self._said
        if self._action.name == "requeue":
            yield self._ways
        yield self._count
        yield self._reason
        yield self._buttons
        yield Static("type the number, enter twice · tab moves · esc leaves", classes="foot")

    def on_mount(self) -> None:
        """Cancel is what a stray Enter presses."""
        if self._action.name == "requeue":
            self._ways.add_option(Option("keep every finished step and go on", id=_KEEP))
            self._ways.add_option(Option("from scratch: drop every finished step", id=_SCRATCH))
            self._ways.highlighted = 0
        self._buttons.no.focus()
        self._redraw()

    def wants(self, want: Want) -> Want:
        """The tasks, until they are found: what is acted on is what was seen here."""
        return want if self._found is not None else self._selection.reads(want)

    def show(self, snapshot: Snapshot, now: datetime) -> None:  # noqa: ARG002
        """Take the tasks."""
        if self._found is None:
            self._found = self._selection.finds(snapshot)
            self._redraw()
            self.post_message(Dialog.WantChanged())

    @property
    def _targets(self) -> tuple[Target, ...]:
        return self._found[0] if self._found else ()

    def _redraw(self) -> None:
        self._said.update(to_text(self._said_line()))
        typed = self._count.value.strip().replace(",", "")
        self._buttons.yes.disabled = not self._targets or typed != str(len(self._targets))

    def _said_line(self) -> Cell:
        if self._found is None:
            return cell("Looking for them …", "bright_black")
        targets, more = self._found
        if not targets:
            return cell("None of them is there any more.", "yellow")
        number = fmt.number(len(targets))
        what = f" {'task' if len(targets) == 1 else 'tasks'}, {'those that ended last; there may be more' if more else 'all there are'}"
        return ((number, "bold yellow"), (f"{what}. Type {number} to {self._action.label} them.", ""))

    def on_key(self, event: Key) -> None:
        """Digits go to the number, wherever the focus is but in a line."""
        if event.character and event.character.isdigit() and not isinstance(self.focused, Input):
            event.stop()
            self._count.focus()
            self._count.insert_text_at_cursor(event.character)

    @on(Input.Changed, "#count")
    def _typed(self) -> None:
        self._redraw()

    @on(Input.Submitted)
    def _entered(self) -> None:
        (self._buttons.no if self._buttons.yes.disabled else self._buttons.yes).focus()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._count.focus()

    @on(Button.Pressed, "#yes")
    def _done(self) -> None:
        if self._buttons.yes.disabled:
            return
        order = order_for(
            self._action.name,
            None,
            reason=self._reason.value.strip() or None,
            keep_checkpoints=self._ways.highlighted != 1,
        )
        self.dismiss(BulkOrder(order, self._targets))

    @on(Button.Pressed, "#no")
    def _pressed_no(self) -> None:
        self.action_leave()


class ProgressDialog(Dialog[None]):
    """How far a bulk order is; Escape stops it, then closes the report."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "stop", show=False),
        Binding("enter,q", "close", show=False),
    ]

    def __init__(self, bulk: BulkOrder) -> None:
        """Carry it out as soon as this is shown."""
        super().__init__()
        self._bulk = bulk
        self._stop = Event()
        self.tally = Tally(bulk.order.action, len(bulk.targets))
        """What was told last."""
        self._line, self._report, self._foot = Static(id="bar"), Static(), Static(classes="foot")

    def box_title(self) -> Text:
        """What is being done."""
        return Text(f"{self._bulk.order.action.capitalize()} {fmt.plural(len(self._bulk.targets), 'task')}")

    def body(self) -> ComposeResult:
        """A bar, the numbers, how to stop."""
        yield self._line
        yield self._report
        yield self._foot

    def on_mount(self) -> None:
        """Begin."""
        self.show_tally(self.tally)
        cast("DuraApp", self.app).carry_out_all(self._bulk, self._stop.is_set)

    def show_tally(self, tally: Tally) -> None:
        """Draw how far it is."""
        self.tally = tally
        bar = fmt.bar(tally.done, tally.total, min(_BAR_CELLS, max(self.size.width - 30, 8)))
        done = f" {fmt.number(tally.done)} of {fmt.number(tally.total)}"
        self._line.update(to_text(((bar, "blue"), (done, "bold"))))
        lines: list[Cell] = [cell(tally.line, "bold red" if tally.trouble else "")]
        for reason, count in tally.reasons[:_REASONS_SHOWN]:
            lines.append(
                (("  ", ""), (fmt.number(count), "yellow"), (f" times: {fmt.clip(reason, 120)}", ""))
            )
        if len(tally.reasons) > _REASONS_SHOWN:
            lines.append(cell(f"  and {len(tally.reasons) - _REASONS_SHOWN} other reasons", "bright_black"))
        self._report.update(Text("\n").join(to_text(line) for line in lines))
        stopping = "stopping …" if self._stop.is_set() else "s or esc stops it after the present task"
        self._foot.update(
            f"{'stopped' if tally.stopped else 'ended'} · esc closes" if tally.ended else stopping
        )

    def action_stop(self) -> None:
        """End after the present task."""
        if not self.tally.ended:
            self._stop.set()
            self.show_tally(self.tally)

    def action_close(self) -> None:
        """Close the report, once there is one."""
        if self.tally.ended:
            self.dismiss(None)

    def action_leave(self) -> None:
        """Stop, then close."""
        self.action_close() if self.tally.ended else self.action_stop()
