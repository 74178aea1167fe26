"""From what somebody types to the one task that is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dura.cli.exits import CommandFailed, Exit
from dura.display import printable
from dura.monitor import Monitor
from dura.records import TaskRow

_SHORTEST_PART: Final = 4
_CANDIDATES: Final = 10
_CLAIM: Final = re.compile(r"(?P<run>.+)@(?P<token>\d{1,18})")


@dataclass(frozen=True, slots=True)
class Found:
    """The task that is meant, as it was found."""

    task: TaskRow
    run_id: str
    """The run to act upon: the one that was named, else the task's latest."""
    claim_token: int | None = None
    """The claim that was named beside the run; None: none was."""


def find_task(monitor: Monitor, part: str) -> Found:
    """The task with an id, or any part of it that no other has, or with the run of an id.

    Args:
        monitor: Where to look.
        part: At least 4 characters of a task's id, or the whole id of a run, to which `@` and the token of a claim may be
            added.

    Raises:
        CommandFailed: There is none, or there are several, which the message lists.
    """
    if len(part) < _SHORTEST_PART:
        raise CommandFailed(
            f"{part!r} is too short for an id: give at least {_SHORTEST_PART} characters of it", Exit.USAGE
        )
    if claim := _CLAIM.fullmatch(part):
        found = monitor.find_tasks(claim["run"], 2)
        if len(found) == 1 and claim["run"] not in found[0].task_id:
            return Found(found[0], claim["run"], int(claim["token"]))
        raise CommandFailed(f"{monitor.path} has no run {claim['run']!r}, whose claim {part!r} would be")
    found = monitor.find_tasks(part, _CANDIDATES + 1)
    if not found:
        raise CommandFailed(f"{monitor.path} has no task with {part!r} in its id; `dura tasks` lists them")
    if len(found) > 1:
        raise CommandFailed(_several(part, found))
    task = found[0]
    return Found(task, task.run_id if part in task.task_id else part)


def _several(part: str, found: tuple[TaskRow, ...]) -> str:
    more = len(found) > _CANDIDATES
    lines = [
        f"{part!r} is in the ids of {'more than ' if more else ''}{min(len(found), _CANDIDATES)} tasks; "
        "give more of the one you mean:"
    ]
    shown = found[:_CANDIDATES]
    widest = max(len(printable(task.name)) for task in shown)
    for task in shown:
        line = (
            f"{task.task_id}  {task.state:<9}  {printable(task.name):<{widest}}  {task.idempotency_key or ''}"
        )
        lines.append(line.rstrip())
    return "\n".join(lines)
