"""Which dialog an action begins with."""

from __future__ import annotations

from dura_tui import format as fmt
from dura_tui.actions import Action, Confirm
from dura_tui.orders import Order, Target
from dura_tui.screens.dialog import ConfirmDialog, Dialog, Question
from dura_tui.screens.emit import EmitDialog
from dura_tui.screens.extend import ExtendDialog
from dura_tui.screens.requeue import RequeueDialog
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell


def dialog_for(action: Action, target: Target) -> Dialog[Order] | None:
    """The dialog that completes the order; None for an action that needs none."""
    if action.name == "emit":
        return EmitDialog(target)
    if action.name == "extend":
        return ExtendDialog(target)
    if action.name == "requeue":
        return RequeueDialog(target)
    if action.confirm is Confirm.QUESTION:
        return ConfirmDialog(_cancel_question(target), Order(action=action.name, target=target))
    return None


def _cancel_question(target: Target) -> Question:
    lines: list[Cell] = [
        cell(target.title, "bold"),
        (("now ", "bright_black"), *cells.state(target.state or "")),
        cell(f"task {fmt.printable(target.task_id or '')}", "bright_black"),
    ]
    if target.state == "running":
        lines.append(
            cell("Its worker is told at its next step; what it does until then is not kept.", "yellow")
        )
    return Question("Cancel this task?", "Cancel the task", lines)
