"""The views' side of the main screen: which one is shown, and how one goes to another."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, cast

from textual.screen import Screen
from textual.widgets import ContentSwitcher

from dura_tui.keys import VIEWS
from dura_tui.screens.overview import OverviewView
from dura_tui.screens.view import View

if TYPE_CHECKING:
    from dura_tui.app import DuraApp


class ShowingScreen(Screen[None]):
    """What the main screen does to show one view at a time."""

    def __init__(self) -> None:
        """Begin with the overview."""
        super().__init__()
        self.shown = VIEWS[0]
        """The name of the view that is shown; `detail` for the task detail."""
        self._origin = self._before = VIEWS[0]
        self._came_back = False
        """Whether the view was out of sight, and nothing was read for it since."""
        self._views: dict[str, View] = {VIEWS[0]: OverviewView(id=VIEWS[0])}
        self._switcher = ContentSwitcher(self._views[VIEWS[0]], initial=VIEWS[0])

    @property
    def dura(self) -> DuraApp:
        """The app, by its own type."""
        return cast("DuraApp", self.app)

    @property
    def view(self) -> View:
        """The view that is shown."""
        return self._views[self.shown]

    def draw(self, now: datetime) -> None:
        """Time has passed."""
        if not self.dura.paused:
            self.view.draw(now)
        self.draw_lines(now)

    def draw_lines(self, now: datetime) -> None:
        """Draw what surrounds the view."""

    def action_view(self, name: str) -> None:
        """Show a view."""
        if name != self._origin:
            self._before = self._origin
        self._origin = name
        self._switch(name)

    def action_last_view(self) -> None:
        """Show the view that was shown before this one."""
        self.action_view(self._before)

    def action_neighbour(self, step: int) -> None:
        """The view beside this one."""
        self.action_view(VIEWS[(VIEWS.index(self._origin) + step) % len(VIEWS)])

    def _switch(self, name: str) -> None:
        if name not in self._views:
            return  # Clicked in the moment before it is there.
        self._came_back = self._came_back or name != self.shown
        self.shown = name
        self._switcher.current = name
        self.view.enter()
        self.dura.want_changed()
        self.draw(self.dura.now())
