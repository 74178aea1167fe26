"""Which dialog an action on one target begins with."""

from __future__ import annotations

from dura.states import State
from dura_tui import format as fmt
from dura_tui.actions import Action
from dura_tui.orders import Order, Target
from dura_tui.screens.confirm import ConfirmDialog, Question
from dura_tui.screens.dialog import Dialog
from dura_tui.screens.edit import EditDialog
from dura_tui.screens.emit import EmitDialog
from dura_tui.screens.extend import ExtendDialog
from dura_tui.screens.requeue import RequeueDialog
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell


def dialog_for(action: Action, target: Target, *, left: bool = False) -> Dialog[Order]:
    """The dialog that completes the order.

    Args:
        action: What is to be done.
        target: To what.
        left: Whether it has left the list it was seen in, so that nothing is known of how it is now.
    """
    if action.name == "emit":
        return EmitDialog(target)
    if action.name == "extend":
        return ExtendDialog(target)
    if action.name == "requeue":
        return RequeueDialog(target)
    if action.name == "set":
        return EditDialog(target)
    question = {"cancel": _cancel, "wake": _wake, "delete": _delete}[action.name]
    return ConfirmDialog(question(target, left), Order(action=action.name, target=target))


def _cancel(target: Target, left: bool) -> Question:
    lines = _task_lines(target, left)
    if target.state == State.RUNNING:
        lines.append(
            cell("Its worker is told at its next step; what it does until then is not kept.", "yellow")
        )
    return Question("Cancel this task?", "Cancel the task", lines)


def _wake(target: Target, left: bool) -> Question:
    lines = _task_lines(target, left)
    if target.sleep_cause:
        lines.append(cell(f"It is due at once, instead of when its {target.sleep_cause} ends."))
    return Question("Wake this task?", "Wake", lines)


def _delete(target: Target, left: bool) -> Question:
    return Question(
        "Delete this key?",
        "Delete",
        [
            cell(fmt.printable(f"{target.namespace} / {target.key}"), "bold"),
            (("has left the list; held " if left else "holds ", "bright_black"), (target.value, "")),
            cell("It cannot be undone; the audit keeps the first 500 characters.", "yellow"),
        ],
    )


def _task_lines(target: Target, left: bool) -> list[Cell]:
    return [
        cell(target.title, "bold"),
        (("has left the list; was " if left else "now ", "bright_black"), *cells.state(target.state or "")),
        cell(f"task {fmt.printable(target.task_id or '')}", "bright_black"),
    ]
