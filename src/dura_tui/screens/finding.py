"""How the main screen finds things: filters, orders, saved filters, a task by its id, and the bookmark of a view."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dura.errors import InvalidFilter
from dura.filters import parse
from dura_tui import format as fmt
from dura_tui import saved, screens
from dura_tui.filter import FILTERED
from dura_tui.keys import VIEWS
from dura_tui.messages import CopyAsked
from dura_tui.saved import SavedFilter
from dura_tui.screens.showing import ShowingScreen
from dura_tui.screens.view import View
from dura_tui.start import Start, WrongStart, command


def present(view: View, name: str) -> Start:
    """What a view shows, so that one can come back to it.

    Args:
        view: The view.
        name: Its name; of a task's detail, `detail`.
    """
    if name in FILTERED:
        return Start(name, view.filter_now, view.sort_now)
    target = view.target() if name == "detail" else None
    return Start("tasks", f"id:{target.task_id}") if target and target.task_id else Start(name)


def check(views: Mapping[str, View], start: Start) -> None:
    """Say whether a bookmark can be shown.

    Raises:
        WrongStart: There is no such view or order, or the view has no filter.
        InvalidFilter: The filter means nothing there.
    """
    if start.view not in VIEWS:
        raise WrongStart(f"there is no view {start.view!r}: use one of {', '.join(VIEWS)}")
    view, filtered = views[start.view], FILTERED.get(start.view)
    if filtered is not None:
        parse(start.filter, filtered.fields)
    elif start.filter or start.sort:
        raise WrongStart(f"the {start.view} is neither filtered nor sorted: only {', '.join(FILTERED)} are")
    if start.sort and not view.sorts:
        raise WrongStart(f"the {start.view} has an order of its own only: leave out {start.sort!r}")
    if start.sort and start.sort.removeprefix("-") not in view.sorts:
        raise WrongStart(
            f"the {start.view} cannot be sorted by {start.sort!r}: use one of {', '.join(view.sorts)}, "
            "with a - before it for the other way round"
        )


class FindingScreen(ShowingScreen):
    """What the main screen does to find things."""

    def go(self, start: Start) -> None:
        """Show what a bookmark or a saved filter says; what it cannot be is told."""
        try:
            check(self._views, start)
        except (WrongStart, InvalidFilter) as error:
            self.app.notify(fmt.printable(str(error)), severity="warning", markup=False, timeout=8)
            return
        view = self._views[start.view]
        view.set_filter(start.filter)
        view.set_sort(start.sort)
        self.action_view(start.view)

    # --- the keys ----------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Filter the list, or the tasks from a view that has no filter."""
        if not self.view.edit_filter():
            self.action_view("tasks")
            self.view.edit_filter()

    def action_sort(self) -> None:
        """Choose the column by which the list is sorted."""
        view = self.view
        if isinstance(view, screens.FilteredView) and view.sorts:

            def chosen(sort: str | None) -> None:
                if sort is not None:
                    view.set_sort(sort)

            self.app.push_screen(screens.SortDialog(view.sorts, view.ORDER, view.sort_now), chosen)
        else:
            self._has_one_order()

    def action_reverse(self) -> None:
        """Turn the order round."""
        view = self.view
        if isinstance(view, screens.FilteredView) and view.sort_now:
            back = view.sort_now.startswith("-")
            view.set_sort(view.sort_now.removeprefix("-") if back else f"-{view.sort_now}")
        elif view.sorts:
            key = self.dura.keymap.for_action("sort")
            self.dura.tell(f"only an order by a column is turned round: {key} chooses one", done=False)
        else:
            self._has_one_order()

    def _has_one_order(self) -> None:
        self.dura.tell("this view has one order only", done=False)

    def action_jump(self) -> None:
        """Go to a task by a part of its id."""

        def found(task_id: str | None) -> None:
            self.dura.want_changed()
            if task_id is not None:
                self.post_message(View.OpenTask(task_id))

        self.app.push_screen(screens.JumpDialog(), found)

    def action_saved(self) -> None:
        """Choose a saved filter, or keep the present one."""
        now = present(self.view, self.shown)

        def chosen(kept: SavedFilter | None) -> None:
            if kept is not None:
                self.go(kept.start)

        kept = now if now.filter or now.sort else None
        self.app.push_screen(screens.SavedDialog(saved.default_path(), kept), chosen)

    def action_bookmark(self) -> None:
        """Copy the command that begins with what is shown."""
        text = command(
            os.path.abspath(self.dura.path),
            present(self.view, self.shown),
            read_only=self.dura.operator.read_only,
        )
        self.post_message(CopyAsked(text, fmt.printable(text)))
