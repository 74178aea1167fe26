"""The task list: filtered, sorted, a page at a time.

Where an index gives the order, a page is a walk along it that ends with the page; a walk that runs out of time hands back
what it has found, and the next page goes on from where it stopped. Where none does, the newest tasks that match, at most
10,000, are sorted here. On a file of ours:

    state       newest, oldest               due                    priority       others
    any         as spawned                   sleepers and leases    sorted here    sorted here
    pending     sorted here, or as spawned   as claimed             as claimed     sorted here
    running     sorted here, or as spawned   as leases run out      sorted here    sorted here
    sleeping    sorted here, or as spawned   as due                 sorted here    sorted here
    final       as ended                     as ended               sorted here    sorted here

The other way round (`-due`) is sorted here, but for `-newest` and `-oldest`, which are each other's. A 1.3.0 file has an
index on states alone: with a state, `newest` and `oldest` go as spawned, the rest is sorted here.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import closing
from typing import Final

from dura.errors import InvalidValue
from dura.records import TASK_SORTS, Condition, TaskPage, TaskQuery
from dura.states import TERMINAL, State
from dura.store.views import walks
from dura.store.views.conditions import SAID
from dura.store.views.look import Look, OutOfTimeError
from dura.store.views.progress import Progress
from dura.store.views.taskrows import task_rows
from dura.store.views.walks import FEW, Key, Walk, Wanted

_OPPOSITE: Final = {"-newest": "oldest", "-oldest": "newest"}

_LARGEST_PAGE: Final = 1_000

_Way = Callable[[Look, Wanted, Key | None], Walk]
_Page = tuple[list[int], Key | None]
"""Rowids of tasks, and the key after which the next page begins; None if this is the last."""


def task_page(look: Look, query: TaskQuery, progress: Progress) -> TaskPage:
    """A page of tasks.

    With `due` and no state, the list holds the tasks that have a due time: sleeping and running ones.

    Raises:
        InvalidValue: The query names an unknown state, field or sort, or a page of another list.
    """
    sort = _sort(query)
    conditions = _conditions(query)
    wanted = walks.asked(look, conditions)
    limit = min(query.limit, _LARGEST_PAGE)
    way = _ordered_way(look, wanted.state, sort)
    # Sorting here gives the keys that a walk of the sort's name has, so that either continues the other's pages.
    order = sort if way is None else way.__name__
    after = _position(query.after, order)
    sorted_of = None
    if way is None:
        seqs, last, sorted_of = _sorted_here(look, sort, wanted, after, limit)
    else:
        seqs, last = _along(way(look, wanted, after), after, limit)
    truncated = look.cut
    look.more_time()
    return TaskPage(
        query=query,
        tasks=task_rows(look, seqs, progress),
        next_page=None if last is None else _page_after(order, last),
        truncated=truncated,
        sorted_of=sorted_of,
    )


def _sort(query: TaskQuery) -> str:
    if query.sort.removeprefix("-") not in TASK_SORTS:
        raise InvalidValue(
            f"sort must be one of {', '.join(TASK_SORTS)}, with or without a - before it, not {query.sort!r}"
        )
    return _OPPOSITE.get(query.sort, query.sort)


def _conditions(query: TaskQuery) -> tuple[Condition, ...]:
    if query.limit < 1:
        raise InvalidValue(f"limit must be 1 or more, not {query.limit!r}")
    conditions = query.conditions
    if query.sort.removeprefix("-") == "due" and not any(found.field == "state" for found in conditions):
        return (*conditions, Condition(field="state", values=(State.SLEEPING.value, State.RUNNING.value)))
    return conditions


# --- which way --------------------------------------------------------------------------------------------------------


def _ordered_way(look: Look, state: State | None, sort: str) -> _Way | None:
    """The walk that gives the order wanted; None if no index does."""
    if state is None:
        return {"newest": walks.newest, "oldest": walks.oldest, "due": walks.due}.get(sort)
    if "tasks_terminal" not in look.indexes:
        return {"newest": walks.newest_of_state, "oldest": walks.oldest_of_state}.get(sort)
    if state in TERMINAL:
        return {"newest": walks.last_ended, "due": walks.last_ended, "oldest": walks.first_ended}.get(sort)
    if sort in ("newest", "oldest"):
        as_spawned = walks.newest if sort == "newest" else walks.oldest
        return None if walks.few(look, state) else as_spawned
    if sort == "due" or (sort, state) == ("priority", State.PENDING):
        return _alive(state)
    return None


def _any_way(look: Look, state: State | None, sort: str) -> _Way:
    """A walk over the tasks of the state wanted that meets the newest of them early, if not in order."""
    if state is None:
        return walks.due if sort.endswith("due") else walks.newest
    if "tasks_terminal" not in look.indexes:
        return walks.newest_of_state
    return walks.last_ended if state in TERMINAL else _alive(state)


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
    look: Look, sort: str, wanted: Wanted, after: Key | None, limit: int
) -> tuple[list[int], Key | None, int | None]:
    """The tasks that come after the key when the newest that match are sorted; and how many, if there are more."""
    seqs, more = _along(_any_way(look, wanted.state, sort)(look, wanted, None), None, FEW)
    if more is not None:
        look.shorten()
    look.more_time()
    back = sort.startswith("-")
    keys = _sort_keys(look, sort.removeprefix("-"), seqs)
    rest = sorted(
        ((key, seq) for key, seq in keys if after is None or (key < after if back else key > after)),
        reverse=back,
    )
    page = rest[:limit]
    last = page[-1][0] if len(rest) > limit else None
    return [seq for _, seq in page], last, None if more is None else len(seqs)


def _sort_keys(look: Look, sort: str, seqs: list[int]) -> list[tuple[Key, int]]:
    if sort == "newest":
        return [((-seq,), seq) for seq in seqs]
    if sort == "oldest":
        return [((seq,), seq) for seq in seqs]
    rows = look.rows(_SORT_KEYS.replace("MORE", _MORE_KEYS.get(sort, "NULL AS more")), (json.dumps(seqs),))
    match sort:
        case "priority":
            return [((row["priority"], row["since"], row["seq"]), row["seq"]) for row in rows]
        case "due":
            return [((row["due"], row["seq"]), row["seq"]) for row in rows]
        case "progress" | "error":
            return [((row["more"], -row["seq"]), row["seq"]) for row in rows]
        case _:
            return [((row[sort], -row["seq"]), row["seq"]) for row in rows]


_SORT_KEYS: Final = """
    SELECT t.rowid AS seq, -t.attempts AS attempts, t.task_name AS name, -COALESCE(r.priority, 0) AS priority, t.queue,
           t.state, t.task_id AS id, COALESCE(r.available_at, '') AS since,
           COALESCE(CASE r.state WHEN 'running' THEN r.claim_expires_at WHEN 'sleeping' THEN r.available_at END, '~')
               AS due, MORE
    FROM json_each(?) pick CROSS JOIN tasks t ON t.rowid = pick.value
    LEFT JOIN runs r ON r.run_id = t.last_attempt_run
"""

_MORE_KEYS: Final = {
    "progress": "-(SELECT COUNT(*) FROM checkpoints c WHERE c.task_id = t.task_id) AS more",
    "error": f"COALESCE({SAID}, '~') AS more",
}
"""What takes a look into other tables: the most finished steps first, and errors by type and message."""


# --- pages ------------------------------------------------------------------------------------------------------------


_LARGEST: Final = 2**63 - 1

_KEY_KINDS: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("newest", "oldest", "newest_of_state", "oldest_of_state"), (int,)),
    **dict.fromkeys(("attempts", "progress"), (int, int)),
    **dict.fromkeys(("priority", "pending"), (int, str, int)),
}
"""What the keys of an order consist of, where it is not a text and a rowid."""


def _page_after(order: str, key: Key) -> str:
    return urlsafe_b64encode(json.dumps([order, *key]).encode()).decode()


def _position(page: str | None, order: str) -> Key | None:
    if page is None:
        return None
    try:
        of, *key = json.loads(urlsafe_b64decode(page))
    except (ValueError, TypeError, RecursionError):
        of, key = None, []
    kinds = _KEY_KINDS.get(order.removeprefix("-"), (str, int))
    fits = tuple(map(type, key)) == kinds and all(
        abs(part) <= _LARGEST for part in key if isinstance(part, int)
    )
    if of != order or not fits:
        raise InvalidValue(
            "this is no page of the list as it is sorted and filtered now: begin with the first page"
        )
    return tuple(key)
