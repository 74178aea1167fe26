"""Which target an action fits, as the screen shows it. Pure; the engine compares once more when it acts."""

from __future__ import annotations

from dura.states import LIVE, WAKEABLE, State
from dura_tui.orders import Target

RESERVED = "dura."
"""How the engine's own namespaces begin."""


def anything(target: Target) -> str | None:  # noqa: ARG001
    """For an action that needs nothing under the cursor."""
    return None


def holds_a_lease(target: Target) -> str | None:
    """To extend."""
    if objection := _no_task(target):
        return objection
    return None if target.state == State.RUNNING else f"{target.title} holds no lease: it is {target.state}"


def has_failed(target: Target) -> str | None:
    """To requeue."""
    if objection := _no_task(target):
        return objection
    if target.state in (State.FAILED, State.CANCELLED):
        return None
    return f"only a failed or cancelled task can be requeued: {target.title} is {target.state}"


def is_live(target: Target) -> str | None:
    """To cancel."""
    if objection := _no_task(target):
        return objection
    return None if target.state in LIVE else f"{target.title} has ended: it is {target.state}"


def can_be_woken(target: Target) -> str | None:
    """To wake."""
    if objection := _no_task(target):
        return objection
    if target.state != State.SLEEPING:
        return f"only a sleeping task can be woken: {target.title} is {target.state}"
    if target.sleep_cause is not None and target.sleep_cause not in WAKEABLE:
        what = "emit its event instead" if target.event_name else "only its own deadline ends that"
        return f"{target.title} is asleep inside a step: {what}"
    return None


def is_users_key(target: Target) -> str | None:
    """To edit or delete a key of the memory."""
    if target.namespace is None:
        return "no key of the memory under the cursor"
    if target.key is None:
        return f"the cursor is on a namespace: tab goes to the keys of {target.title}"
    if target.namespace.startswith(RESERVED):
        return f"{target.title} is the engine's own: it can only be read"
    return None


def awaits_an_event(target: Target) -> str | None:
    """To emit to many at once, where nobody types a name."""
    return None if target.event_name else "no event under the cursor"


def _no_task(target: Target) -> str | None:
    return None if target.task_id is not None else "no task under the cursor"
