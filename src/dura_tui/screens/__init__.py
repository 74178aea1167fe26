"""The views, one noun each, and the dialogs over them.

What the first screen does not need is asked for here by its name, and loaded then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dura.later import later

_ROOMS: Final = {
    "all_views": ("make_views",),
    "ask": ("dialog_for",),
    "choose": ("ViewDialog",),
    "cleanup": ("CleanupDialog",),
    "detail": ("DetailView",),
    "filtered": ("FilteredView",),
    "jump": ("JumpDialog",),
    "many": ("ManyDialog",),
    "progress": ("ProgressDialog",),
    "reading": ("ReadingDialog", "help_lines"),
    "saved": ("SavedDialog",),
    "sort": ("SortDialog",),
}

if TYPE_CHECKING:
    from dura_tui.screens.all_views import make_views
    from dura_tui.screens.ask import dialog_for
    from dura_tui.screens.choose import ViewDialog
    from dura_tui.screens.cleanup import CleanupDialog
    from dura_tui.screens.detail import DetailView
    from dura_tui.screens.filtered import FilteredView
    from dura_tui.screens.jump import JumpDialog
    from dura_tui.screens.many import ManyDialog
    from dura_tui.screens.progress import ProgressDialog
    from dura_tui.screens.reading import ReadingDialog, help_lines
    from dura_tui.screens.saved import SavedDialog
    from dura_tui.screens.sort import SortDialog
else:
    __getattr__ = later(__name__, _ROOMS)

__all__ = [
    "CleanupDialog",
    "DetailView",
    "FilteredView",
    "JumpDialog",
    "ManyDialog",
    "ProgressDialog",
    "ReadingDialog",
    "SavedDialog",
    "SortDialog",
    "ViewDialog",
    "dialog_for",
    "help_lines",
    "make_views",
]
