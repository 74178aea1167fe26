"""The actions' side of the main screen: marks, what an action is about, its dialog, and how it ended."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from dura.states import LIVE
from dura_tui import format as fmt
from dura_tui import guards, screens
from dura_tui.actions import ACTIONS, Action, Confirm
from dura_tui.orders import Order, Outcome, Selection, Target
from dura_tui.screens.marked import marked
from dura_tui.screens.showing import ShowingScreen
from dura_tui.screens.view import Hint
from dura_tui.widgets.live_table import LiveTable

if TYPE_CHECKING:
    from dura_tui.bulk import BulkOrder

_OUTCOME_SECONDS: Final = 12.0
"""How long the outcome of an action stays in the line above the keys."""


class ActingScreen(ShowingScreen):
    """What the main screen does about actions."""

    _told: tuple[Outcome, datetime] | None = None

    @property
    def has_left(self) -> bool:
        """Whether the row under the cursor has left its list."""
        return isinstance(self.focused, LiveTable) and self.focused.ghost is not None

    # --- marks -------------------------------------------------------------------------------------------------------

    def action_mark(self) -> None:
        """Mark the row under the cursor, or take its mark away."""
        if (table := self.view.marking()) is not None:
            table.marks.toggle()
            self.draw_lines(self.dura.now())

    def action_mark_range(self) -> None:
        """Mark all rows from the one that was marked last."""
        if (table := self.view.marking()) is not None:
            table.marks.stretch()
            self.draw_lines(self.dura.now())

    def action_mark_all(self) -> None:
        """Mean all that matches the filter, or no longer."""
        table = self.view.marking()
        if table is None:
            return
        if self.view.matching() is None:
            self.report(Outcome("mark", done=False, text="actions here are done to marked rows, or to one"))
            return
        table.marks.all()
        self.draw_lines(self.dura.now())

    def action_unmark(self) -> None:
        """Take all marks away."""
        self.unmark()

    def unmark(self) -> bool:
        """Take all marks away; whether there were any."""
        table = self.view.marking()
        if table is None or not table.marks:
            return False
        table.marks.clear()
        self.draw_lines(self.dura.now())
        return True

    def marks_line(self) -> str:
        """What is marked, for the status line; empty if nothing is."""
        table = self.view.marking()
        if table is None or not table.marks:
            return ""
        if table.marks.everything:
            selection = self.view.matching()
            return f"* {selection.title}" if selection else ""
        missing = f", {table.marks.missing} of them not listed here" if table.marks.missing else ""
        return f"* {fmt.number(len(table.marks))} marked{missing}"

    def selection(self) -> Selection | None:
        """What an action is about, when it is not the row under the cursor alone."""
        table = self.view.marking()
        if table is None or not table.marks:
            return None
        return self.view.matching() if table.marks.everything else marked(self.view, table.marks.records)

    # --- actions -----------------------------------------------------------------------------------------------------

    def action_hints(self) -> list[Hint]:
        """The actions that apply now, and the marks' keys."""
        operator, selection = self.dura.operator, self.selection()
        if selection is not None:
            offered = [ACTIONS[name] for name in self.view.ACTS]
            fit = [each for each in offered if operator.objection_to_many(each, selection.state) is None]
            return [*map(_hint, fit), ("u", "unmark", "screen.unmark")]
        target = self.view.target()
        fit = [
            action
            for action in ACTIONS.values()
            if operator.objection(action, target) is None and self._offers(action, target)
        ]
        table = self.view.marking()
        marking = table is not None and bool(table.keys) and not operator.read_only
        marks = [("space", "mark", "screen.mark"), ("*", "mark all", "screen.mark_all")] * marking
        return [*map(_hint, fit), *marks]

    def _offers(self, action: Action, target: Target | None) -> bool:
        """Whether the key line shows an action that fits: what fits anywhere is shown where it is likely meant."""
        if action.objection is not guards.anything or action.name in self.view.ACTS:
            return True
        awaited = target is not None and target.event_name and target.state in (None, *LIVE)
        return action.name == "emit" and bool(awaited)

    def action_act(self, name: str) -> None:
        """Begin an action on what is marked, else on what is under the cursor, as it is shown now."""
        action, target = ACTIONS[name], self.view.target() or Target()
        counted = action.confirm is Confirm.COUNT
        selection = None if counted else self.selection()
        operator = self.dura.operator
        if selection is not None:
            objection = operator.objection_to_many(action, selection.state)
        else:
            selection = target.many
            objection = operator.objection(action, target)
        if objection is not None:
            self.report(Outcome(name, done=False, text=objection))
        elif counted:
            self.app.push_screen(screens.CleanupDialog(), self._asked_for_many)
        elif selection is not None:
            self.app.push_screen(screens.ManyDialog(action, selection), self._asked_for_many)
        else:
            self.app.push_screen(screens.dialog_for(action, target, left=self.has_left), self._asked)

    def _asked(self, order: Order | None) -> None:
        self.dura.want_changed()
        if order is not None:
            self.dura.carry_out(order)

    def _asked_for_many(self, bulk: BulkOrder | None) -> None:
        self.dura.want_changed()
        if bulk is not None:
            self.unmark()
            self.app.push_screen(screens.ProgressDialog(bulk))

    def report(self, outcome: Outcome) -> None:
        """Show how an action ended, for a while, in the line above the keys."""
        now = self.dura.now()
        self._told = (outcome, now)
        self.draw_lines(now)

    def tell(self, text: str) -> None:
        """Say something in the same line."""
        self.report(Outcome("", done=True, text=text))

    def outcome(self, now: datetime) -> Outcome | None:
        """What was told last, while it is still to be shown."""
        if self._told is not None and (now - self._told[1]).total_seconds() > _OUTCOME_SECONDS:
            self._told = None
        return self._told[0] if self._told is not None else None


def _hint(action: Action) -> Hint:
    return (action.key, action.label, f"screen.act('{action.name}')")
