"""The task list: filtered, sorted, a page at a time.

Where an index gives the order, a page is a walk along it that ends with the page; a walk that runs out of time hands back
what it has found, and the next page goes on from where it stopped. Where none does, the newest tasks that match, at most
10,000, are sorted here. On a file of ours:

    state       newest, oldest               due                    priority       attempts, name
    any         as spawned                   sleepers and leases    sorted here    sorted here
    pending     sorted here, or as spawned   as claimed             as claimed     sorted here
    running     sorted here, or as spawned   as leases run out      sorted here    sorted here
    sleeping    sorted here, or as spawned   as due                 sorted here    sorted here
    final       as ended                     as ended               sorted here    sorted here

A 1.3.0 file has an index on states alone: with a state, `newest` and `oldest` go as spawned, the rest is sorted here.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final

from dura.errors import InvalidValue
from dura.records import TaskPage, TaskQuery
from dura.states import TERMINAL, State
from dura.store.views import walks
from dura.store.views.look import Look, OutOfTimeError
from dura.store.views.progress import Progress
from dura.store.views.taskrows import task_rows
from dura.store.views.walks import FEW, Key, Walk

SORTS: Final = ("newest", "oldest", "due", "priority", "attempts", "name")

_LARGEST_PAGE: Final = 1_000

_Way = Callable[[Look, dict[str, Any], Key | None], Walk]
_Page = tuple[list[int], Key | None]
"""Rowids of tasks, and the key after which the next page begins; None if this is the last."""


def task_page(look: Look, query: TaskQuery, progress: Progress) -> TaskPage:
    """A page of tasks.

    With `due` and no state, the list holds the tasks that have a due time: sleeping and running ones.

    Raises:
        InvalidValue: The query names an unknown state or sort, or a page of another list.
    """
    _check(query)
    values = walks.filter_values(query)
    limit = min(query.limit, _LARGEST_PAGE)
    way = _ordered_way(look, query)
    # Sorting here gives the keys that a walk of the sort's name has, so that either continues the other's pages.
    order = query.sort if way is None else way.__name__
    after = _position(query.after, order)
    if way is None:
        seqs, last = _sorted_here(look, query, values, after, limit)
    else:
        seqs, last = _along(way(look, values, after), after, limit)
    truncated = look.cut
    look.more_time()
    return TaskPage(
        query=query,
        tasks=task_rows(look, seqs, progress),
        next_page=None if last is None else _page_after(order, last),
        truncated=truncated,
    )


def _check(query: TaskQuery) -> None:
    if query.sort not in SORTS:
        raise InvalidValue(f"sort must be one of {', '.join(SORTS)}, not {query.sort!r}")
    if query.state is not None and query.state not in list(State):
        raise InvalidValue(f"state must be one of {', '.join(State)}, not {query.state!r}")
    if query.limit < 1:
        raise InvalidValue(f"limit must be 1 or more, not {query.limit!r}")


# --- which way --------------------------------------------------------------------------------------------------------


def _ordered_way(look: Look, query: TaskQuery) -> _Way | None:
    """The walk that gives the order wanted; None if no index does."""
    if query.state is None:
        return {"newest": walks.newest, "oldest": walks.oldest, "due": walks.due}.get(query.sort)
    if "tasks_terminal" not in look.indexes:
        return {"newest": walks.newest_of_state, "oldest": walks.oldest_of_state}.get(query.sort)
    if query.state in TERMINAL:
        return {"newest": walks.last_ended, "due": walks.last_ended, "oldest": walks.first_ended}.get(
            query.sort
        )
    if query.sort in ("newest", "oldest"):
        as_spawned = walks.newest if query.sort == "newest" else walks.oldest
        return None if walks.few(look, State(query.state)) else as_spawned
    if query.sort == "due" or (query.sort, query.state) == ("priority", State.PENDING):
        return _alive(State(query.state))
    return None


def _any_way(look: Look, query: TaskQuery) -> _Way:
    """A walk over the tasks of the state wanted that meets the newest of them early, if not in order."""
    if query.state is None:
        return walks.newest
    if "tasks_terminal" not in look.indexes:
        return walks.newest_of_state
    return walks.last_ended if query.state in TERMINAL else _alive(State(query.state))


def _alive(state: State) -> _Way:
    if state is State.PENDING:
        return walks.pending
    return walks.running if state is State.RUNNING else walks.sleeping


# --- going there ------------------------------------------------------------------------------------------------------


def _along(walk: Walk, after: Key | None, limit: int) -> _Page:
    """The first tasks on the walk that match."""
    seqs: list[int] = []
    last, passed_last = after, after
    with closing(walk):
        try:
            for passed in walk:
                if passed.matches:
                    if len(seqs) == limit:
                        return seqs, last
                    seqs.append(passed.seq)
                    last = passed.key
                passed_last = passed.key
        except OutOfTimeError:
            return seqs, passed_last
    return seqs, None


def _sorted_here(
    look: Look, query: TaskQuery, values: dict[str, Any], after: Key | None, limit: int
) -> _Page:
    """The tasks that come after the key when the newest that match are sorted."""
    seqs, more = _along(_any_way(look, query)(look, values, None), None, FEW)
    if more is not None:
        look.shorten()
    look.more_time()
    keys = _sort_keys(look, query.sort, seqs)
    rest = sorted((key, seq) for key, seq in keys if after is None or key > after)
    page = rest[:limit]
    return [seq for _, seq in page], page[-1][0] if len(rest) > limit else None


def _sort_keys(look: Look, sort: str, seqs: list[int]) -> list[tuple[Key, int]]:
    if sort == "newest":
        return [((-seq,), seq) for seq in seqs]
    if sort == "oldest":
        return [((seq,), seq) for seq in seqs]
    rows = look.rows(
        """
        SELECT t.rowid AS seq, -t.attempts AS attempts, t.task_name AS name, -COALESCE(r.priority, 0) AS priority,
               COALESCE(r.available_at, '') AS since,
               COALESCE(CASE r.state WHEN 'running' THEN r.claim_expires_at WHEN 'sleeping' THEN r.available_at END, '~')
                   AS due
        FROM json_each(?) pick CROSS JOIN tasks t ON t.rowid = pick.value
        LEFT JOIN runs r ON r.run_id = t.last_attempt_run
        """,
        (json.dumps(seqs),),
    )
    match sort:
        case "priority":
            return [((row["priority"], row["since"], row["seq"]), row["seq"]) for row in rows]
        case "due":
            return [((row["due"], row["seq"]), row["seq"]) for row in rows]
        case _:
            return [((row[sort], -row["seq"]), row["seq"]) for row in rows]


# --- pages ------------------------------------------------------------------------------------------------------------


def _page_after(order: str, key: Key) -> str:
    return urlsafe_b64encode(json.dumps([order, *key]).encode()).decode()


def _position(page: str | None, order: str) -> Key | None:
    if page is None:
        return None
    try:
        of, *key = json.loads(urlsafe_b64decode(page))
    except (ValueError, TypeError):
        of, key = None, []
    if of != order:
        raise InvalidValue(
            "this is no page of the list as it is sorted and filtered now: begin with the first page"
        )
    return tuple(key)
