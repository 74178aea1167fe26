"""All views. Loading them takes as long as loading the rest: it is done when the first one is on the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dura_tui.screens.approvals import ApprovalsView
from dura_tui.screens.audit import AuditView
from dura_tui.screens.events import EventsView
from dura_tui.screens.failures import FailuresView
from dura_tui.screens.leases import LeasesView
from dura_tui.screens.overview import OverviewView
from dura_tui.screens.queues import QueuesView
from dura_tui.screens.sleeping import SleepingView
from dura_tui.screens.state import StateView
from dura_tui.screens.tasks import TasksView
from dura_tui.screens.view import View
from dura_tui.screens.workers import WorkersView

KINDS: Final[dict[str, type[View]]] = {
    "overview": OverviewView,
    "leases": LeasesView,
    "sleeping": SleepingView,
    "tasks": TasksView,
    "events": EventsView,
    "state": StateView,
    "failures": FailuresView,
    "approvals": ApprovalsView,
    "workers": WorkersView,
    "queues": QueuesView,
    "audit": AuditView,
}
"""The views by name, which is also their id."""


def make_views(names: Iterable[str] = KINDS) -> dict[str, View]:
    """A view of each of these kinds, by its name."""
    return {name: KINDS[name](id=name) for name in names}
