"""Where the monitor begins, and the command that begins there: a bookmark. Loads the views only to check one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from dura.errors import InvalidFilter
from dura.filters import marked

_AGES: Final = {"newest": "age", "-newest": "-age", "oldest": "-age", "-oldest": "age"}
"""The column by which the tasks are in an order that `dura tasks` knows."""


@dataclass(frozen=True, slots=True)
class Start:
    """A view, and what of it is shown in which order."""

    view: str = "overview"
    filter: str = ""
    """A filter line of that view; empty for everything."""
    sort: str = ""
    """One of its columns, with a `-` before it for the other way round; empty for its own order."""


class WrongStart(ValueError):  # noqa: N818
    """There is no such view, or it has no such filter or order; the text says what there is, in lines."""


def begin_with(view: str | None, line: str | None, sort: str | None) -> Start:
    """What the monitor is told to begin with.

    Args:
        view: A view; None for the overview, or for the tasks where they are filtered or sorted.
        line: Its filter.
        sort: Its order.

    Raises:
        WrongStart: It cannot be shown.
    """
    view = view or ("tasks" if line or sort else Start().view)
    sort = _AGES.get(sort or "", sort) if view == "tasks" else sort
    start = Start(view, line or "", sort or "")
    if start == Start():
        return start
    from dura_tui.screens import make_views
    from dura_tui.screens.finding import check

    try:
        check(make_views(), start)
    except InvalidFilter as error:
        raise WrongStart(marked(start.filter, error)) from error
    return start


def command(path: str, start: Start, *, read_only: bool = False) -> str:
    """The `dura-tui` command that shows it."""
    words = ["dura-tui", path if not path.startswith("-") else f"./{path}", "--view", start.view]
    if start.filter:
        # With =, since a filter may begin with a minus.
        words.append(f"--filter={start.filter}")
    if start.sort:
        words.append(f"--sort={start.sort}")
    if read_only:
        words.append("--read-only")
    return shlex.join(words)
