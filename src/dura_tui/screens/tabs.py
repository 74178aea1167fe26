"""The strip of tabs: the views, and how much each holds."""

from __future__ import annotations

from dura.records import Snapshot
from dura_tui import format as fmt
from dura_tui.keys import DEFAULT_KEYMAP, VIEW_KEYS, Keymap
from dura_tui.widgets.bars import Tab

_URGENT = frozenset({"approvals", "failures"})
"""Views whose counts ask for somebody."""


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
