"""One action on much at once: which, how many, how, are you sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import Button, Input, OptionList, Static, TextArea

from dura.records import Snapshot, Want
from dura_tui import format as fmt
from dura_tui.actions import Action
from dura_tui.bulk import BulkOrder
from dura_tui.orders import Found, Order, Selection, Target
from dura_tui.screens.confirm import Buttons, CommandLine, reason_entry
from dura_tui.screens.dialog import Dialog
from dura_tui.screens.how import How, how_for
from dura_tui.widgets.cells import Cell, cell, to_text
from dura_tui.widgets.entry import Entry

MOST: Final = 20_000
"""Targets of one order; for more it is ordered again."""

NUMBER_KEYS: Final = "type the number, enter twice · tab moves · esc leaves"
"""The keys of a dialog that asks for a number."""

_NAMED: Final = 4
_LEFT_SHOWN: Final = 4


class ManyDialog(Dialog[BulkOrder]):
    """Returns the order on what was found, once its number was typed."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "go_on", show=False)]

    def __init__(self, action: Action, selection: Selection) -> None:
        """Look for the targets."""
        super().__init__()
        self._action = action
        self._selection = selection
        self._targets: list[Target] = []
        self._unfit: Counter[str] = Counter()
        """What others are, which the action does not fit."""
        self._moved: Counter[str] = Counter()
        """What others have become since they were marked."""
        self._events: set[str | None] = set()
        """The events of the targets: each is emitted once, for all who wait for it."""
        self._following: str | None = None
        self._found = self._more = False
        self._now: datetime | None = None
        self._refused = ""
        """The number that was entered and is not theirs."""
        self._how: How | None = how_for(action)
        self._said = Static(id="targets")
        self._count = Entry(placeholder="their number", id="count", compact=True, select_on_focus=False)
        self._reason = reason_entry()
        self._command = CommandLine(classes="command")
        self._buttons = Buttons(action.label.capitalize(), NUMBER_KEYS)

    def box_title(self) -> Text:
        """What is to be done."""
        return Text(f"{self._action.label.capitalize()}: many at once")

    def body(self) -> ComposeResult:
        """What, the way, the number, a reason."""
        yield Static(to_text(cell(self._selection.title, "bold")), classes="fact")
        yield self._said
        if self._how is not None:
            yield self._how
        yield self._count
        yield self._reason
        yield self._command
        yield self._buttons

    def on_mount(self) -> None:
        """Back is what a stray Enter presses."""
        self._buttons.no.focus(scroll_visible=False)
        self._redraw()

    # --- what it is about --------------------------------------------------------------------------------------------

    @property
    def alone(self) -> bool:
        """While it looks for the targets."""
        return not self._found

    def wants(self, want: Want) -> Want:
        """The targets, part by part, until all are found: what is acted on is what was seen here."""
        if not self._found:
            return self._selection.reads(want, self._following)
        return self._how.wants(want) if self._how is not None else want

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Take the next part of the targets, or what the way needs to know."""
        self._now = now
        if self._found:
            if self._how is not None:
                self._how.show(snapshot)
            return
        part = self._selection.finds(snapshot, self._following)
        if part is not None:
            self._take(part)
            self._redraw()
            self.post_message(Dialog.WantChanged())

    def _take(self, part: Found) -> None:
        emits = self._action.name == "emit"
        for target in part.targets:
            if emits and target.event_name in self._events:
                self._unfit["waiting for the same event"] += 1
            elif self._action.fits(target):
                self._unfit[_kind(target, with_cause=self._action.name == "wake")] += 1
            else:
                self._targets.append(target)
                self._events.add(target.event_name)
        self._moved.update(now_is for _, now_is in part.moved)
        self._following = part.following
        full = len(self._targets) >= MOST and part.following is not None
        self._more = self._more or part.capped or full or len(self._targets) > MOST
        del self._targets[MOST:]
        self._found = full or part.following is None
        if self._found and self._how is not None:
            self._how.take(self._targets)

    def orders(self, most: int | None = None) -> Sequence[Order]:
        """One for each target; none while something is missing."""
        how, now = self._how, self._now
        if not self._found or now is None or (how is not None and how.wrong()):
            return ()
        plan = Order(action=self._action.name, target=Target(), reason=self._reason.value.strip() or None)
        orders = [replace(plan, target=target) for target in self._targets[:most]]
        return orders if how is None else [how.complete(order, now) for order in orders]

    @property
    def count(self) -> int:
        """How many there would be."""
        return len(self._targets)

    # --- drawing -----------------------------------------------------------------------------------------------------

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(OptionList.OptionHighlighted)
    def _redraw(self) -> None:
        typed = number_in(self._count.value)
        if typed != self._refused:
            self._refused = ""
        self._said.update(Text("\n").join(to_text(line) for line in self._said_lines()))
        if self._found and not self._targets:
            self._offer_nothing()
        wrong = self._how is not None and bool(self._how.wrong())
        self._buttons.yes.disabled = wrong or not self._targets or typed != str(len(self._targets))
        self._command.show_orders(self)

    def _offer_nothing(self) -> None:
        for part in (self._how, self._count, self._reason):
            if part is not None:
                part.display = False
        self._buttons.leave_only()
        self._buttons.no.focus(scroll_visible=False)

    def _said_lines(self) -> list[Cell]:
        noun, count = self._selection.noun, len(self._targets)
        if not self._found:
            return [cell(f"Looking for them … {fmt.number(count)}", "bright_black")]
        lines: list[Cell] = []
        if count:
            more = ", the first; there may be more" if self._more else ""
            lines.append(
                (
                    (fmt.plural(count, noun), "bold yellow"),
                    (f"{more}. Type {fmt.number(count)} to go on.", ""),
                )
            )
            titles = ", ".join(target.title for target in self._targets[:_NAMED])
            rest = f" and {fmt.number(count - _NAMED)} more" if count > _NAMED else ""
            lines.append(cell(f"{titles}{rest}", "bright_black"))
            if self._refused:
                lines.append(not_theirs(self._refused, count))
        else:
            lines.append(cell("There is none to which this can be done.", "yellow"))
        lines += _left_out("have moved on", self._moved) + _left_out("are not for this", self._unfit)
        return lines

    # --- the operator ------------------------------------------------------------------------------------------------

    def on_key(self, event: Key) -> None:
        """Digits go to the number, wherever the focus is but in a line."""
        typing = isinstance(self.focused, Input | TextArea) or not self._count.display
        if event.character and event.character.isdigit() and not typing:
            event.stop()
            self._count.focus()
            self._count.insert_text_at_cursor(event.character)

    def action_go_on(self) -> None:
        """From the way to the number."""
        self._count.focus()

    @on(Input.Submitted)
    def _entered(self) -> None:
        typed = number_in(self._count.value)
        if self._targets and typed not in ("", str(len(self._targets))):
            self._refused = typed
            self._redraw()
            self._count.focus()
        else:
            (self._buttons.no if self._buttons.yes.disabled else self._buttons.yes).focus()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._count.focus()

    @on(Button.Pressed, "#yes")
    def _done(self) -> None:
        if not self._buttons.yes.disabled:
            orders = tuple(self.orders())
            self.dismiss(BulkOrder(self._action.name, orders, len(orders), self._selection.noun))


def number_in(typed: str) -> str:
    """The number that was typed, without the commas that it is shown with."""
    return typed.strip().replace(",", "")


def not_theirs(typed: str, count: int) -> Cell:
    """What is said of a number that was entered and is not how many they are."""
    return cell(f"✗ {fmt.clip(fmt.printable(typed), 20)} is not {fmt.number(count)}", "red")


def _kind(target: Target, *, with_cause: bool) -> str:
    """What a target is, in a word or two, for which an action does not fit it."""
    if target.state is None:
        return "without an event" if target.key is None else "the engine's own"
    return f"{target.state} ({target.sleep_cause})" if target.sleep_cause and with_cause else target.state


def _left_out(why: str, kinds: Counter[str]) -> list[Cell]:
    if not kinds:
        return []
    shown = ", ".join(f"{fmt.number(count)} {kind}" for kind, count in kinds.most_common(_LEFT_SHOWN))
    others = " …" if len(kinds) > _LEFT_SHOWN else ""
    return [cell(f"left out, they {why}: {shown}{others}", "yellow")]
