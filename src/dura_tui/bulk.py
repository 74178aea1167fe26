"""One action done to much: in batches, with progress, until it is stopped, and a report of what became of each.

Each target is a transaction of its own and is compared with what was seen of it, so that other writers come in between, and
one that has moved on is skipped while the rest goes on. Only when the store itself fails does the whole stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from dura.errors import EngineError
from dura_tui import format as fmt
from dura_tui.actions import ACTIONS
from dura_tui.operators import Operator
from dura_tui.orders import Order, Target

BATCH: Final = 50
"""Targets that are done through one opening of the store; progress is told after each batch."""

_REASONS_KEPT: Final = 100
"""Different reasons that are counted apart."""

_NAMED: Final = 20
"""Targets that are named for each reason."""


@dataclass(frozen=True, slots=True)
class BulkOrder:
    """An action on many targets, or on the whole store."""

    action: str
    orders: tuple[Order, ...]
    """One for each target, as it was seen."""
    total: int
    """How much it is about: as many as there are orders, or the tasks that a cleanup would remove."""
    noun: str = "task"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why targets were left as they are."""

    said: str
    moved: bool
    """Whether they had moved on since they were seen."""
    count: int = 0
    named: tuple[str, ...] = ()
    """The first of them."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How far a bulk order has come."""

    action: str
    total: int
    changed: int = 0
    skipped: int = 0
    """Targets that had moved on since they were seen."""
    refused: int = 0
    """Targets that the action does not fit."""
    reasons: tuple[Reason, ...] = field(default=())
    """Why targets were skipped or refused, the most frequent first."""
    stopped: bool = False
    """Whether somebody stopped it."""
    trouble: str = ""
    """Why it ended early, when the store failed."""
    ended: bool = False

    @property
    def done(self) -> int:
        """Targets that were looked at."""
        return self.changed + self.skipped + self.refused

    @property
    def line(self) -> str:
        """The report in one printable line."""
        parts = [f"{'removed' if self.action == 'cleanup' else 'changed'} {fmt.number(self.changed)}"]
        parts += [f"skipped {fmt.number(self.skipped)} (moved on)"] * bool(self.skipped)
        parts += [f"refused {fmt.number(self.refused)}"] * bool(self.refused)
        left = self.total - self.done
        parts += [f"not tried {fmt.number(left)}"] * bool(self.ended and left > 0 and self._broke_off)
        label = ACTIONS[self.action].label
        return f"{label}: {', '.join(parts)}" + (f"; {self.trouble}" if self.trouble else "")

    @property
    def _broke_off(self) -> bool:
        return self.stopped or bool(self.trouble)


def carry_out_all(
    operator: Operator, bulk: BulkOrder, *, progress: Callable[[Tally], object], stopped: Callable[[], bool]
) -> Tally:
    """Do it to one target after another. Never raises.

    Args:
        operator: Who acts; refuses it all when it is read-only.
        bulk: What to do, to which targets.
        progress: Told after each batch how far it is.
        stopped: Asked before each target whether to end.

    Returns:
        The report, which `progress` was told too.
    """
    tally = Tally(bulk.action, bulk.total)
    if bulk.action == "cleanup":
        tally = _clean_up(operator, bulk, tally, progress, stopped)
    elif objection := operator.objection_to_many(ACTIONS[bulk.action]):
        tally = replace(tally, trouble=objection)
    else:
        tally = _one_by_one(operator, bulk, tally, progress, stopped)
    tally = replace(tally, ended=True)
    progress(tally)
    return tally


def _one_by_one(
    operator: Operator,
    bulk: BulkOrder,
    tally: Tally,
    progress: Callable[[Tally], object],
    stopped: Callable[[], bool],
) -> Tally:
    action = ACTIONS[bulk.action]
    reasons: dict[str, Reason] = {}
    for start in range(0, len(bulk.orders), BATCH):
        try:
            with operator.engine() as engine:
                for order in bulk.orders[start : start + BATCH]:
                    if stopped():
                        tally = replace(tally, stopped=True)
                        break
                    if objection := action.fits(order.target):
                        tally = replace(tally, refused=tally.refused + 1)
                        _note(reasons, objection, order.target, moved=False)
                        continue
                    outcome = operator.attempt(engine, order)
                    if outcome.done:
                        tally = replace(tally, changed=tally.changed + 1)
                        continue
                    if not outcome.refused:
                        tally = replace(tally, trouble=outcome.text)
                        break
                    tally = replace(
                        tally,
                        skipped=tally.skipped + outcome.moved,
                        refused=tally.refused + (not outcome.moved),
                    )
                    _note(reasons, outcome.text.partition(": ")[2], order.target, moved=outcome.moved)
        except (EngineError, OSError) as error:
            tally = replace(tally, trouble=fmt.printable(f"{action.label} failed: {error}"))
        tally = replace(tally, reasons=tuple(sorted(reasons.values(), key=lambda reason: -reason.count)))
        if tally.stopped or tally.trouble:
            break
        progress(tally)
    return tally


def _clean_up(
    operator: Operator,
    bulk: BulkOrder,
    tally: Tally,
    progress: Callable[[Tally], object],
    stopped: Callable[[], bool],
) -> Tally:
    action = ACTIONS[bulk.action]
    [order] = bulk.orders
    if objection := operator.objection(action, None):
        return replace(tally, trouble=objection)
    halted = False

    def halt() -> bool:
        nonlocal halted
        halted = halted or stopped()
        return halted

    def tell(removed: int) -> None:
        nonlocal tally
        tally = replace(tally, changed=removed)
        progress(tally)

    try:
        with operator.engine() as engine:
            engine.cleanup(
                before=order.before, actor=operator.actor, reason=order.reason, progress=tell, stopped=halt
            )
    except (EngineError, OSError) as error:
        return replace(tally, trouble=fmt.printable(f"{action.label} failed: {error}"))
    return replace(tally, stopped=halted)


def _note(reasons: dict[str, Reason], said: str, target: Target, *, moved: bool) -> None:
    """Count a reason without what tells its target from others."""
    for part in (target.title, *map(fmt.short_id, (target.task_id or "", target.run_id or ""))):
        said = said.replace(part, "…") if part else said
    if said not in reasons and len(reasons) >= _REASONS_KEPT:
        said = "other reasons"
    reason = reasons.get(said) or Reason(said, moved)
    named = (*reason.named, target.title) if len(reason.named) < _NAMED else reason.named
    reasons[said] = replace(reason, count=reason.count + 1, named=named)
