"""The audit: who did what to which task, when and why, written in the transaction of the action itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from dura.ids import new_id
from dura.store.state import put
from dura.store.transaction import Transaction

NAMESPACE: Final = "dura.audit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Actor:
    """Who acts, and why; actions of programs have neither and leave no entry."""

    actor: str | None
    reason: str | None


def record(
    tx: Transaction, by: Actor, *, action: str, target: str, run_id: str | None = None,
    before: str | None = None, after: str | None = None, entry_id: str | None = None,
) -> None:  # fmt: skip
    """Write an entry, if there is an actor.

    Args:
        tx: The action's transaction.
        by: Who and why.
        action: emit, extend, requeue, cancel, wake, set, delete or cleanup.
        target: The task's id, the event's name, the namespace and key, or what was cleaned up.
        run_id: The run that was acted upon.
        before: Its state before.
        after: What it is now.
        entry_id: The entry to write anew, of an action that takes several transactions; a new one by default.
    """
    if by.actor is None:
        return
    entry = {
        "at": tx.now, "actor": by.actor, "action": action, "target": target, "run_id": run_id,
        "before": before, "after": after, "reason": by.reason,
    }  # fmt: skip
    put(tx, NAMESPACE, [(entry_id or new_id(), json.dumps(entry))])
