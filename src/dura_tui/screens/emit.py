"""Emit an event: its name with completion, a payload to begin with, checked as JSON, and the runs it would wake."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.suggester import Suggester
from textual.widgets import Button, Input, Static, TextArea

from dura.records import AwaitedEvent, EventRow, PayloadTemplate, Snapshot, Waiter, Want
from dura.redaction import MARK
from dura_tui import format as fmt
from dura_tui.orders import Target, order_for
from dura_tui.payload import parse_payload
from dura_tui.screens.confirm import Buttons, OrderDialog, Question
from dura_tui.widgets.cells import Cell, cell, to_text
from dura_tui.widgets.editor import JsonEditor, blank, fillable, harmless
from dura_tui.widgets.entry import Entry

_AWAITED: Final = 200
_NAMES_SHOWN: Final = 4
_WOKEN_SHOWN: Final = 4
_NAME_CELLS: Final = 160
_NULL: Final = "null"
_WAITER_CELLS: Final = 40
"""What is longer is cut in its middle: a name must not push the buttons off the screen."""


class _AwaitedNames(Suggester):
    """Completes with the names that runs wait for."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.names: tuple[str, ...] = ()

    async def get_suggestion(self, value: str) -> str | None:
        return next(
            (name for name in self.names if value and name.startswith(value) and name.isprintable()), None
        )


class EmitDialog(OrderDialog):
    """Returns the order to emit, once it was confirmed."""

    HEADING: ClassVar[str] = "Emit an event"
    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "complete(1)", show=False),
        Binding("up", "complete(-1)", show=False),
        Binding("ctrl+t", "template", show=False),
        Binding("ctrl+s", "ask", show=False),
    ]

    def __init__(self, target: Target) -> None:
        """Begin with the event under the cursor, if there is one."""
        super().__init__()
        self._target = target
        self._name = target.event_name or ""
        self._awaited: tuple[AwaitedEvent, ...] = ()
        self._emitted: EventRow | None = None
        self._waited_for: AwaitedEvent | None = None
        self._read_for: str | None = None
        """The name that the last two are about."""
        self._asking = False
        self._now: datetime | None = None
        self._suggester = _AwaitedNames()
        self._event_line = Entry(
            self._name, placeholder="approved:ord_1", id="event", suggester=self._suggester, compact=True
        )
        self._editor = JsonEditor(id="payload")
        self._template: PayloadTemplate | None = None
        self._offered = _NULL
        """What was last put into the editor; while it still stands there, a template may take its place."""
        self._names, self._error, self._preview = Static(), Static(), Static(id="emit-preview")
        self._from = Static(id="template", classes="label")
        self._buttons = Buttons("Emit …", "tab moves · ^t another template · ^s emits …")

    def body(self) -> ComposeResult:
        """Two inputs with what is known about them below each."""
        yield Static("Event name", classes="label")
        yield self._event_line
        yield self._names
        yield self._from
        yield self._editor
        yield self._error
        yield self._preview
        yield self._buttons

    def on_mount(self) -> None:
        """Begin where something is missing."""
        self._editor.put(_NULL)
        (self._editor if self._name else self._event_line).focus(scroll_visible=False)
        self._redraw()

    def wants(self, want: Want) -> Want:
        """Who waits for what, whether this name was emitted before, and what its payload may look like."""
        name = self._name or None
        return replace(want, awaited=_AWAITED, event=name, template=name)

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Draw the preview afresh."""
        self._now = now
        self._awaited = snapshot.awaited
        self._emitted, self._waited_for = snapshot.event, snapshot.event_waits
        self._read_for = None if "event" in snapshot.truncated else self._name
        self._suggester.names = tuple(event.event_name for event in snapshot.awaited)
        self._take(snapshot.template)
        self._redraw()
        if self._asking:
            self._ask()

    # --- the template -------------------------------------------------------------------------------------------------

    def _take(self, template: PayloadTemplate | None) -> None:
        """Offer what is known of such payloads, unless somebody has begun to write."""
        if template is not None and template.event_name != self._name:
            return
        before, self._template = self._template, template
        if self._editor.text == self._offered and _ways(before) != _ways(template):
            self._offer(_ways(template)[0])

    def _offer(self, text: str) -> None:
        self._editor.put(text)
        self._offered = self._editor.text

    def action_template(self) -> None:
        """The next way to begin."""
        ways = [harmless(way) for way in _ways(self._template)]
        place = ways.index(self._editor.text) + 1 if self._editor.text in ways else 0
        self._offer(ways[place % len(ways)])

    def _from_line(self) -> Cell:
        template, text = self._template, self._editor.text
        if template is None or text == _NULL:
            return cell("Payload, as JSON")
        name = fmt.clip_middle(fmt.printable(template.taken_from), _WAITER_CELLS)
        when = f", {fmt.ago(template.at, self._now)} ago" if self._now and template.at else ""
        if text == harmless(fillable(template.payload)):
            of = "Payload by template" if template.source == "state" else "Payload of"
            todo = "fill in what is hidden" if MARK in template.payload else "check it"
            return ((f"{of} ", ""), (f"{name}{when}", "yellow"), (f": {todo}", ""))
        if text == harmless(blank(template.payload)):
            return (("Payload like that of ", ""), (f"{name}{when}", "yellow"), (": fill it in", ""))
        return (("Payload, as JSON; template: ", ""), (name, ""))

    # --- what is known -----------------------------------------------------------------------------------------------

    def _payload(self) -> tuple[Any, str]:
        try:
            return parse_payload(self._editor.text), ""
        except ValueError as error:
            return None, fmt.printable(str(error))

    def _preview_lines(self) -> list[Cell]:
        if not self._name:
            return [cell("Give the event a name.", "bright_black")]
        if self._read_for != self._name:
            return [cell("Looking who waits for it …", "bright_black")]
        before = self._emitted
        if before is not None:
            when = f"{fmt.ago(before.emitted_at, self._now)} ago" if self._now else ""
            return [
                cell(f"! Already emitted {when}, with {fmt.json_line(before.payload, 60)}.", "bold yellow"),
                cell("  The first write wins: emitting it again changes nothing.", "yellow"),
            ]
        return _wakes(self._waited_for, self._now)

    def _matching_names(self) -> list[str]:
        part = (self._name or "").lower()
        return [event.event_name for event in self._awaited if part in event.event_name.lower()]

    def _redraw(self) -> None:
        names = self._matching_names()
        text = Text(no_wrap=True, overflow="ellipsis")
        if names and names != [self._name]:
            text.append("awaited, ↓ chooses: ", "bright_black")
            text.append("  ".join(fmt.printable(name) for name in names[:_NAMES_SHOWN]), "cyan")
            if len(names) > _NAMES_SHOWN:
                text.append(f"  … {len(names) - _NAMES_SHOWN} more", "bright_black")
        _, error = self._payload()
        self._from.update(to_text(self._from_line()))
        for line, said in ((self._names, text), (self._error, to_text(cell(error and f"✗ {error}", "red")))):
            line.update(said)
            line.display = bool(said)
        preview = Text("\n").join(to_text(line) for line in self._preview_lines())
        self._preview.update(preview)
        self._buttons.yes.disabled = bool(error) or not self._name

    # --- the operator ------------------------------------------------------------------------------------------------

    def action_complete(self, step: int) -> None:
        """Put the next awaited name into the name's input."""
        line = self._event_line
        if not line.has_focus or not self._awaited:
            return
        names = [event.event_name for event in self._awaited if event.event_name.isprintable()]
        place = names.index(self._name) + step if self._name in names else (0 if step > 0 else -1)
        if names:
            line.value = names[place % len(names)]
            line.cursor_position = len(line.value)

    @on(Input.Changed)
    def _typed(self) -> None:
        self._name, self._asking = self._event_line.value, False
        self._redraw()
        self.post_message(self.WantChanged())

    @on(TextArea.Changed)
    def _edited(self) -> None:
        self._asking = False
        self._redraw()

    @on(Input.Submitted, "#event")
    def _name_done(self) -> None:
        self._editor.focus()

    def action_ask(self) -> None:
        """Ask for the confirmation."""
        self._ask()

    @on(Button.Pressed, "#yes")
    def _ask(self) -> None:
        payload, error = self._payload()
        if error or not self._name:
            return
        # Nobody confirms what they cannot see: with the name just typed, the answer is a moment away.
        self._asking = self._read_for != self._name
        if self._asking:
            return
        lines: list[Cell] = [
            (
                ("event    ", "bright_black"),
                (fmt.clip_middle(fmt.printable(self._name), _NAME_CELLS), "bold"),
            ),
            (
                ("payload  ", "bright_black"),
                (fmt.clip(fmt.json_line(self._editor.text), 120), ""),
            ),
            *self._preview_lines(),
        ]
        order = order_for("emit", self._target, event_name=self._name, payload=payload)
        self.confirm(Question("Emit this event?", "Emit", lines), order)


def _ways(template: PayloadTemplate | None) -> list[str]:
    """How a payload may begin, the first being offered: a template as it is, of an event its keys alone, to be filled in."""
    if template is None or fmt.is_cut(template.payload):
        return [_NULL]
    whole, shape = fillable(template.payload), blank(template.payload)
    ways = (whole, shape, _NULL) if template.source == "state" else (shape, whole, _NULL)
    return list(dict.fromkeys(ways))


def _wakes(event: AwaitedEvent | None, now: datetime | None) -> list[Cell]:
    """What emitting the event does to those that wait for it; one whose deadline is past times out whatever comes."""
    waiters = event.waiters if event else ()
    late = [waiter for waiter in waiters if now and waiter.timeout_at and waiter.timeout_at <= now]
    count = event.waiter_count - len(late) if event else 0
    too_late = [
        cell(f"{fmt.plural(len(late), 'run')} waited until a deadline that is past: too late.", "yellow")
    ] * bool(late)
    if not count:
        return [
            *too_late,
            cell("No run waits for it now." if not late else "No other run waits for it now.", "yellow"),
            cell("A run that waits for it later goes on at once.", "bright_black"),
        ]
    shown = [waiter for waiter in waiters if waiter not in late][:_WOKEN_SHOWN]
    more = [cell(f"  … and {fmt.number(count - len(shown))} more", "bright_black")] * (count > len(shown))
    return [
        (("Wakes ", ""), (fmt.plural(count, "run"), "bold green"), (":", "")),
        *map(_waiter_line, shown),
        *more,
        *too_late,
    ]


def _waiter_line(waiter: Waiter) -> Cell:
    return (
        ("  ◆ ", "magenta"),
        (fmt.clip_middle(fmt.printable(waiter.name), _WAITER_CELLS), ""),
        (f" {fmt.short_id(waiter.task_id)}", "bright_black"),
        (f"  step {fmt.clip_middle(fmt.printable(waiter.step_name), _WAITER_CELLS)}", "bright_black"),
    )
