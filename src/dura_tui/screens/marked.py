"""What marked rows, or all that match a filter, stand for when an action is done to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from dura.records import Snapshot, TaskQuery, TaskRow, Want
from dura_tui import format as fmt
from dura_tui.orders import Found, Selection, Target
from dura_tui.screens.view import task_target

if TYPE_CHECKING:
    from dura_tui.screens.view import View

PART: Final = 500
"""Marked tasks that are looked at once more in one read."""

PAGE: Final = 1_000
"""Tasks of a page, where all pages are meant."""

MOST: Final = 5_000
"""Rows of a list without pages, where all are meant."""


def marked(view: View, records: Sequence[Any]) -> Selection | None:
    """The targets of marked rows; None if an action could not be about any of them."""
    found = (view.target_of(record) for record in records)
    targets = list(dict.fromkeys(target for target in found if target is not None))
    if not targets:
        return None
    noun = view.NOUN
    title = fmt.plural(len(targets), f"marked {noun}")
    groups = [target.many for target in targets if target.many is not None]
    if groups:
        return together(title, groups[0].noun, groups)
    if any(target.task_id is None for target in targets):
        return Selection(title, noun, lambda want, _: want, lambda _, __: Found(tuple(targets)))
    return looked_at_again(title, noun, targets)


def looked_at_again(title: str, noun: str, targets: Sequence[Target]) -> Selection:
    """Tasks, of which those that have moved on since they were seen are left out."""
    parts = [tuple(targets[start : start + PART]) for start in range(0, len(targets), PART)]

    def reads(want: Want, part: str | None) -> Want:
        ids = dict.fromkeys(target.task_id or "" for target in parts[int(part or 0)])
        return replace(want, chosen=tuple(ids))

    def finds(snapshot: Snapshot, part: str | None) -> Found | None:
        place = int(part or 0)
        following = str(place + 1) if place + 1 < len(parts) else None
        if "chosen" in snapshot.truncated:
            return Found(parts[place], following)
        rows = {row.task_id: row for row in snapshot.chosen}
        present = [(target, _now_is(target, rows.get(target.task_id or ""))) for target in parts[place]]
        return Found(
            tuple(target for target, now_is in present if not now_is),
            following,
            tuple((target, now_is) for target, now_is in present if now_is),
        )

    return Selection(title, noun, reads, finds)


def _now_is(target: Target, row: TaskRow | None) -> str:
    """What became of it; empty if it is as it was seen."""
    if row is None:
        return "removed"
    if (target.state, target.run_id) in ((row.state, row.run_id), (None, row.run_id)):
        if target.claim_token is None or target.claim_token == row.claim_token:
            return ""
        return f"{row.state}, claimed again"
    return f"{row.state}, attempt {row.attempts}"


def listed(
    title: str,
    noun: str,
    part: str,
    target: Callable[[Any], Target],
    *,
    most: int = MOST,
    state: str | None = None,
) -> Selection:
    """All rows of a list that the store reads whole, up to a limit.

    Args:
        title: What they have in common; printable.
        noun: What one of them is.
        part: The list, as `Want` and `Snapshot` name it.
        target: The target that a row is.
        most: Rows at most.
        state: The state they are all shown in, if it is one.
    """

    def finds(snapshot: Snapshot, _: str | None) -> Found:
        rows = getattr(snapshot, part)
        return Found(tuple(map(target, rows)), capped=len(rows) >= most or part in snapshot.truncated)

    limit: dict[str, Any] = {"state_keys" if part == "state" else part: most}
    return Selection(title, noun, lambda want, _: replace(want, **limit), finds, state)


def all_tasks(query: TaskQuery, title: str) -> Selection:
    """All tasks that match a query, read page by page; of a list in the order of due times, those that have one."""
    sort = "due" if query.sort.removeprefix("-") == "due" else "newest"
    asked = replace(query, sort=sort, limit=PAGE, after=None)

    def finds(snapshot: Snapshot, part: str | None) -> Found | None:
        page = snapshot.tasks
        if page is None or page.query != replace(asked, after=part):
            return None
        capped = page.truncated and page.next_page is None
        return Found(tuple(map(task_target, page.tasks)), page.next_page, capped=capped)

    return Selection(title, "task", lambda want, part: replace(want, tasks=replace(asked, after=part)), finds)


def together(title: str, noun: str, selections: Sequence[Selection]) -> Selection:
    """What several selections stand for, one after the other."""

    def place(part: str | None) -> int:
        return int(part or 0)

    def finds(snapshot: Snapshot, part: str | None) -> Found | None:
        found = selections[place(part)].finds(snapshot, None)
        following = str(place(part) + 1) if place(part) + 1 < len(selections) else None
        return found and replace(found, following=following)

    states = {selection.state for selection in selections}
    return Selection(
        title,
        noun,
        lambda want, part: selections[place(part)].reads(want, None),
        finds,
        state=states.pop() if len(states) == 1 else None,
    )
