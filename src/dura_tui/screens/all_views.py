"""All views, and how much each holds, for the strip of tabs."""

from __future__ import annotations

from dura.records import Snapshot
from dura_tui import format as fmt
from dura_tui.keys import DEFAULT_KEYMAP, VIEW_KEYS, Keymap
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
from dura_tui.widgets.bars import Tab

_URGENT = frozenset({"approvals", "failures"})
"""Views whose counts ask for somebody."""


def make_views() -> dict[str, View]:
    """A view of each kind by its name, which is its id."""
    views: tuple[View, ...] = (
        OverviewView(id="overview"),
        LeasesView(id="leases"),
        SleepingView(id="sleeping"),
        TasksView(id="tasks"),
        EventsView(id="events"),
        StateView(id="state"),
        FailuresView(id="failures"),
        ApprovalsView(id="approvals"),
        WorkersView(id="workers"),
        QueuesView(id="queues"),
        AuditView(id="audit"),
    )
    return {view.id or "": view for view in views}


def tabs(snapshot: Snapshot | None, keymap: Keymap = DEFAULT_KEYMAP) -> list[Tab]:
    """The strip of tabs; each count is that of the same look as the list behind it."""
    totals = snapshot.totals() if snapshot else {}
    counts = {
        "leases": _count(totals.get("running")),
        "sleeping": _count(totals.get("sleeping")),
        "tasks": _count(sum(totals.values())),
        "failures": _count(totals.get("failed")),
    }
    if snapshot and snapshot.waiting is not None:
        counts["approvals"] = _count(snapshot.waiting) + "+" * snapshot.waiting_capped
    return [
        Tab(
            view.name,
            keymap.for_view(view),
            view.label,
            view.short,
            counts.get(view.name, ""),
            view.name in _URGENT,
        )
        for view in VIEW_KEYS
    ]


def _count(count: int | None) -> str:
    return fmt.compact(count) if count else ""
