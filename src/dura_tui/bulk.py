"""One action done to many tasks: in batches, with progress, until it is stopped, and a report of what became of each.

Every task is its own transaction and is compared with what was seen of it, so that other writers come in between, and a
task that has moved on is refused while the rest goes on. Only when the store itself fails does the whole stop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from dura.errors import EngineError
from dura_tui import format as fmt
from dura_tui.actions import ACTIONS, Operator
from dura_tui.orders import Order, Target

BATCH: Final = 50
"""Tasks that are done through one opening of the store; progress is told after each batch."""

_REASONS_KEPT: Final = 100
"""Different refusals that are counted apart."""


@dataclass(frozen=True, slots=True)
class BulkOrder:
    """An action on many tasks."""

    order: Order
    """What is done to each; its own target is not used."""
    targets: tuple[Target, ...]
    """The tasks as they were seen."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How far a bulk order has come."""

    action: str
    total: int
    changed: int = 0
    skipped: int = 0
    """Tasks that the action does not fit, as they were seen."""
    refused: int = 0
    """Tasks that had moved on since."""
    reasons: tuple[tuple[str, int], ...] = field(default=())
    """Why tasks were refused, with how often, the most frequent first."""
    stopped: bool = False
    """Whether somebody stopped it."""
    trouble: str = ""
    """Why it ended early, when the store failed."""
    ended: bool = False

    @property
    def done(self) -> int:
        """Tasks that were looked at."""
        return self.changed + self.skipped + self.refused

    @property
    def line(self) -> str:
        """The report in one printable line."""
        parts = [f"changed {fmt.number(self.changed)}"]
        parts += [f"skipped {fmt.number(self.skipped)}"] * bool(self.skipped)
        parts += [f"refused {fmt.number(self.refused)}"] * bool(self.refused)
        left = self.total - self.done
        parts += [f"not tried {fmt.number(left)}"] * bool(self.ended and left)
        label = ACTIONS[self.action].label
        return f"{label}: {', '.join(parts)}" + (f"; {self.trouble}" if self.trouble else "")


def carry_out_all(
    operator: Operator, bulk: BulkOrder, *, progress: Callable[[Tally], object], stopped: Callable[[], bool]
) -> Tally:
    """Do it to one task after another. Never raises.

    Args:
        operator: Whose registry refuses it all when it is read-only.
        bulk: What to do, to which tasks.
        progress: Told after each batch how far it is.
        stopped: Asked before each task whether to end.

    Returns:
        The report, which `progress` was told too.
    """
    action = ACTIONS[bulk.order.action]
    tally = Tally(action.name, len(bulk.targets))
    reasons: Counter[str] = Counter()
    if not action.many:
        return replace(tally, trouble=f"{action.label} is done to one task at a time", ended=True)
    for batch in _batches(bulk.targets):
        try:
            with operator.engine() as engine:
                for target in batch:
                    if stopped():
                        tally = replace(tally, stopped=True)
                        break
                    if objection := operator.objection(action, target):
                        tally = replace(tally, skipped=tally.skipped + 1)
                        _count(reasons, objection, target)
                        continue
                    outcome = operator.attempt(engine, replace(bulk.order, target=target))
                    if outcome.done:
                        tally = replace(tally, changed=tally.changed + 1)
                    elif outcome.refused:
                        tally = replace(tally, refused=tally.refused + 1)
                        _count(reasons, outcome.text.partition(": ")[2], target)
                    else:
                        tally = replace(tally, trouble=outcome.text)
                        break
        except (EngineError, OSError) as error:
            tally = replace(tally, trouble=fmt.printable(f"{action.label} failed: {error}"))
        tally = replace(tally, reasons=tuple(reasons.most_common()))
        if tally.stopped or tally.trouble:
            break
        progress(tally)
    tally = replace(tally, ended=True)
    progress(tally)
    return tally


def _batches(targets: tuple[Target, ...]) -> list[tuple[Target, ...]]:
    return [targets[start : start + BATCH] for start in range(0, len(targets), BATCH)]


def _count(reasons: Counter[str], said: str, target: Target) -> None:
    """Count a reason without what tells its task from others."""
    for part in (target.title, fmt.short_id(target.task_id or ""), target.task_id or ""):
        said = said.replace(part, "…") if part else said
    if said in reasons or len(reasons) < _REASONS_KEPT:
        reasons[said] += 1
