"""The strip of tabs: what it drops where there is no room, and what it keeps."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from dura_tui.keys import VIEW_KEYS, VIEWS
from dura_tui.widgets.bars import Tab, tab_line

COUNTS = {"leases": "12", "sleeping": "3", "tasks": "12.3k", "failures": "46", "approvals": "999+"}


def strip(width: int, active: str) -> str:
    tabs = [
        Tab(view.name, view.key, view.label, view.short, COUNTS.get(view.name, ""), view.name in ("failures", "approvals"))
        for view in VIEW_KEYS
    ]  # fmt: skip
    return tab_line(width, tabs, active).plain


@pytest.mark.parametrize("active", VIEWS)
@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 140, 200])
def test_the_strip_fits_and_names_the_view_in_front_with_every_key(width: int, active: str) -> None:
    line = strip(width, active)
    assert cell_len(line) <= width
    view = next(view for view in VIEW_KEYS if view.name == active)
    assert f"{view.key} {view.label}" in line
    assert all(view.key in line for view in VIEW_KEYS)


@pytest.mark.parametrize("active", [view for view in VIEWS if view in COUNTS])
def test_the_count_of_the_view_in_front_is_shown_at_80_cells(active: str) -> None:
    view = next(view for view in VIEW_KEYS if view.name == active)
    assert f"{view.key} {view.label} {COUNTS[active]}" in strip(80, active)


def test_with_room_for_all_everything_is_said_in_full() -> None:
    line = strip(200, "overview")
    assert all(f"{view.key} {view.label}" in line for view in VIEW_KEYS)
    assert all(count in line for count in COUNTS.values())


def test_what_asks_for_somebody_is_counted_before_the_rest() -> None:
    assert "7Fail:46" in strip(80, "state")
    assert "Task:" not in strip(80, "state")
