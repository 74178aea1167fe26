"""How far an action on much at once is, how to stop it, and what became of each: a report that scrolls."""

from __future__ import annotations

from threading import Event, Thread
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from dura_tui import format as fmt
from dura_tui.actions import ACTIONS
from dura_tui.bulk import BulkOrder, Reason, Tally, carry_out_all
from dura_tui.messages import BulkProgress
from dura_tui.screens.dialog import Dialog
from dura_tui.widgets.cells import Cell, cell, to_text
from dura_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from dura_tui.app import DuraApp

_BAR_CELLS = 40


class ProgressDialog(Dialog[None]):
    """Carries out a bulk order; Escape stops it, then closes the report."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "stop", show=False),
        Binding("enter,q", "close", show=False),
    ]

    def __init__(self, bulk: BulkOrder) -> None:
        """Carry it out as soon as this is shown."""
        super().__init__()
        self._bulk = bulk
        self._stop = Event()
        self.tally = Tally(bulk.action, bulk.total)
        """What was told last."""
        self._line, self._counts = Static(id="bar"), Static()
        self._report = TextView(id="report")
        self._foot = Static(classes="foot")

    def box_title(self) -> Text:
        """What is being done."""
        label = ACTIONS[self._bulk.action].label.capitalize()
        return Text(f"{label}: {fmt.plural(self._bulk.total, self._bulk.noun)}")

    def body(self) -> ComposeResult:
        """A bar, the numbers, why some were left, how to stop."""
        yield self._line
        yield self._counts
        yield self._report
        yield self._foot

    def on_mount(self) -> None:
        """Begin."""
        self._report.focus()
        self.show_tally(self.tally)
        Thread(target=self._carry_out, name=f"dura-tui-{self._bulk.action}-many", daemon=True).start()

    def _carry_out(self) -> None:
        """Do it to one after another; the app is told how far it is, whatever is in front by then."""
        app = cast("DuraApp", self.app)
        carry_out_all(
            app.operator,
            self._bulk,
            progress=lambda tally: app.post_message(BulkProgress(tally)),
            stopped=lambda: self._stop.is_set() or not app.is_running,
        )

    def on_resize(self) -> None:
        """Draw the bar as wide as there is room."""
        self.show_tally(self.tally)

    def show_tally(self, tally: Tally) -> None:
        """Draw how far it is."""
        self.tally = tally
        bar = fmt.bar(tally.done, tally.total, min(_BAR_CELLS, max(self.size.width - 30, 8)))
        done = f" {fmt.number(tally.done)} of {fmt.number(tally.total)}"
        self._line.update(to_text(((bar, "blue"), (done, "bold"))))
        self._counts.update(to_text(cell(tally.line, "bold red" if tally.trouble else "")))
        lines = [line for reason in tally.reasons for line in _told(reason)]
        self._report.display = bool(lines)
        self._report.show_lines(lines)
        self._foot.update(self._how_to_go_on(tally))

    def _how_to_go_on(self, tally: Tally) -> str:
        if tally.ended:
            scroll = "j k scroll · " if tally.reasons else ""
            return f"{'stopped' if tally.stopped else 'ended'} · {scroll}esc closes"
        return "stopping …" if self._stop.is_set() else "s or esc stops it: what is done stays done"

    def action_stop(self) -> None:
        """End after the present one."""
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


def _told(reason: Reason) -> list[Cell]:
    word, style = ("skipped", "yellow") if reason.moved else ("refused", "red")
    more = reason.count - len(reason.named)
    named = ", ".join(reason.named) + (f" and {fmt.number(more)} more" if more else "")
    return [
        ((f"{word} ", style), (fmt.number(reason.count), "bold"), (f": {reason.said}", "")),
        cell(f"  {named}", "bright_black"),
    ]
