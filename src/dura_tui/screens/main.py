"""The main screen: title, tabs, the view, the outcome line, the keys. It routes keys; the views draw."""

from __future__ import annotations

import os
import textwrap
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from dura.records import Snapshot, Want
from dura_tui import screens
from dura_tui.keys import KEYS, VIEWS
from dura_tui.messages import CopyAsked
from dura_tui.screens.acting import ActingScreen
from dura_tui.screens.finding import FindingScreen
from dura_tui.screens.tabs import tabs
from dura_tui.screens.view import Hint, View
from dura_tui.start import Start
from dura_tui.widgets.bars import Freshness, Line, key_line, tab_line, title_line, trouble_text
from dura_tui.widgets.live_table import LiveTable

if TYPE_CHECKING:
    from dura_tui.screens.detail import DetailView
    from dura_tui.screens.tasks import TasksView

_OUTCOME_LINES = 3
"""How many lines the outcome of an action may take."""


class MainScreen(ActingScreen, FindingScreen):
    """One view at a time, and what is true in all of them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key.keys, key.action, key.help, show=False, id=key.id) for key in KEYS
    ]

    def __init__(self) -> None:
        """Begin with the overview."""
        super().__init__()
        self._title, self._tabs = Line(id="title"), Line(id="tabs")
        self._status, self._keys = Line(id="status"), Line(id="keys")
        self._trouble = Static(id="trouble")
        self._paints = False
        """Whether there is something to be seen."""

    def compose(self) -> ComposeResult:
        """Lines around the views."""
        yield self._title
        yield self._tabs
        yield self._trouble
        yield self._switcher
        yield self._status
        yield self._keys

    async def on_mount(self) -> None:
        """Show the first view, let the reading begin, and bring the others, whose making takes longer, after that."""
        self.view.enter()
        if self.dura.start == Start():
            self.call_after_refresh(self._bring_others)
        else:
            await self._bring_others()
            self.go(self.dura.start)
        self.dura.begin()

    async def _bring_others(self) -> None:
        if not self._switcher.is_attached:
            return  # The app ends already.
        self.dura.read_rest()
        others = {**screens.make_views(VIEWS[1:]), "detail": screens.DetailView(id="detail")}
        for view in others.values():
            view.display = False
        await self._switcher.mount(*others.values())
        self._views |= others
        await self.dura.ready()

    def _compositor_refresh(self) -> None:
        # The first layout has nothing to show yet: it tells how wide what comes next may be.
        if self._paints:
            super()._compositor_refresh()

    # --- drawing -----------------------------------------------------------------------------------------------------

    def want(self) -> Want:
        """What the view needs."""
        want = replace(self.view.want(), waiting=True, known=self.view.completing)
        return replace(want, throughput=True) if self.dura.alarms.needs_throughput else want

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Hand the view a snapshot that answers its want."""
        if self._came_back:
            self._came_back = False
            for table in self.view.query(LiveTable):
                table.came_back()
        self.view.show(snapshot, now)
        self.draw_lines(now)

    def draw_lines(self, now: datetime) -> None:
        """Draw what surrounds the view."""
        if not self._paints and self.view.size:
            self._paints = True
            # Textual would wait for its next frame.
            self.call_later(self._on_timer_update)
        width = self.size.width
        snapshot, freshness = self.dura.snapshot, self.dura.freshness()
        badges = [(" READ-ONLY ", "reverse bold")] if self.dura.operator.read_only else []
        if self.dura.demo:
            badges.insert(0, (" DEMO ", "reverse"))
        if snapshot and snapshot.hidden:
            badges.insert(0, ("secrets hidden (--reveal)", "bright_black"))
        if snapshot and snapshot.truncated:
            badges.append(("partial", "yellow"))
        if alarms := self.dura.alarms.badge:
            badges.append((alarms, "bold reverse red" if self.dura.alarms.loud else "red"))
        clock = not self.dura.settings.slow
        self._title.put(title_line(width, self.dura.path, badges, freshness, now, seconds=clock))
        self._tabs.put(tab_line(width, tabs(snapshot, self.dura.keymap), self._origin))
        self._draw_trouble(freshness, now)
        self._status.put(self._status_text(now))
        self._keys.put(key_line(width, self._hints()))

    def _draw_trouble(self, freshness: Freshness, now: datetime) -> None:
        reason = self.dura.trouble
        self._trouble.display = reason is not None
        if reason is None:
            return
        # The title has the path in full; here it would leave no room for the reason.
        reason = reason.replace(os.path.abspath(self.dura.path), os.path.basename(self.dura.path))
        self._trouble.update(trouble_text(self.size.width, reason, freshness, now))

    def _status_text(self, now: datetime) -> Text:
        text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
        outcome = self.outcome(now)
        self._status.set_class(outcome is not None, "-told")
        if outcome is not None:
            said = f"{'✓' if outcome.done else '✗'} {outcome.text}"
            width = max(self.size.width - 4, 10)
            lines = textwrap.wrap(
                said, width, max_lines=_OUTCOME_LINES, placeholder=" …", break_on_hyphens=False
            )
            return Text(" " + "\n   ".join(lines), "green" if outcome.done else "bold red", end="")
        if marks := self.marks_line():
            text.append(f"{marks}  ", "bold yellow")
        if self.dura.alarms.loud:
            quiet = self.dura.keymap.for_action("quiet")
            text.append(f"{'; '.join(self.dura.alarms.lines)}   {quiet} quiets", "bold red")
            return text
        if self.has_left:
            text.append("has left the list  ", "bold yellow")
        text.append(self.view.describe(), "bright_black")
        return text

    def _hints(self) -> list[Hint]:
        pause = ("p", "go on" if self.dura.paused else "pause", "screen.pause")
        hints = [*self.view.hints(), *self.action_hints(), ("q", "quit", "screen.quit")]
        # How to go on must be in sight, even where there is no room for all.
        hints.insert(0 if self.dura.paused else -1, pause)
        keymap = self.dura.keymap
        return [
            (keymap.for_action(action) or key, label, action)
            for key, label, action in (*hints, ("?", "help", "screen.help"))
        ]

    # --- moving ------------------------------------------------------------------------------------------------------

    def action_views(self) -> None:
        """Choose a view from a list."""

        def go(name: str | None) -> None:
            if name is not None:
                self.action_view(name)

        self.app.push_screen(screens.ViewDialog(tabs(self.dura.snapshot, self.dura.keymap), self._origin), go)

    def action_back(self) -> None:
        """Out of the marks, the filter or the keys; out of the task."""
        if not (self.unmark() or self.view.back()) and self.shown == "detail":
            self._switch(self._origin)

    def action_open(self) -> None:
        """What Enter does, for a click on its hint."""
        self.view.open()

    @property
    def _tasks(self) -> TasksView:
        return cast("TasksView", self._views["tasks"])

    def action_other_way(self) -> None:
        """Show the same another way."""
        if not self.view.toggle():
            self.dura.tell("this view is shown in one way only", done=False)

    def action_page(self, step: int) -> None:
        """Turn the page."""
        self.view.turn_page(step)

    @on(View.WantChanged)
    def _want_changed(self) -> None:
        self.dura.want_changed()

    @on(View.CursorMoved)
    def _cursor_moved(self) -> None:
        self.draw_lines(self.dura.now())

    @on(View.Redraw)
    def _redraw(self) -> None:
        now = self.dura.now()
        self.view.draw(now)
        self.draw_lines(now)

    @on(View.OpenTask)
    def _open_task(self, event: View.OpenTask) -> None:
        cast("DetailView", self._views["detail"]).show_task(event.task_id)
        self._switch("detail")

    @on(View.ListTasks)
    def _list_tasks(self, event: View.ListTasks) -> None:
        self._tasks.list_tasks(event.query)
        self.action_view("tasks")

    @on(View.ReadValue)
    def _read_value(self, event: View.ReadValue) -> None:
        self.app.push_screen(screens.ReadingDialog(event.title, event.lines, event.source))

    # --- the screen --------------------------------------------------------------------------------------------------

    def action_help(self) -> None:
        """What the view shows, and all keys."""
        lines = screens.help_lines(self.shown, self.view.about, self.dura.keymap)
        self.app.push_screen(screens.ReadingDialog("Help", lines))

    def action_pause(self) -> None:
        """Freeze the tables, or go on."""
        self.dura.pause(not self.dura.paused)
        self.draw_lines(self.dura.now())

    def action_refresh(self) -> None:
        """Read now, and draw everything again, in case something else has written to the terminal."""
        self.dura.read_now()
        self.dura.draw_anew()

    def action_quiet(self) -> None:
        """Quiet the alerts that are up."""
        if not self.dura.alarms.quiet():
            self.tell(
                "the alerts that are up are quiet already" if self.dura.alarms.lines else "no alert is up"
            )
        self.draw_lines(self.dura.now())

    def action_theme(self) -> None:
        """The next of our themes."""
        self.dura.next_theme()
        self.tell(f"theme {self.app.theme}")

    def action_quit(self) -> None:
        """End the monitor."""
        self.app.exit()

    def action_copy(self) -> None:
        """Copy the id under the cursor, or the event's name."""
        text = self.view.copied()
        if text:
            self.post_message(CopyAsked(text, text))
