"""What a filter asks of a task: conditions that must all hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """One condition on a task, or on the task of a run."""

    field: str
    """What is looked at: `name`, `queue`, `state`, `step` and `worker` are compared as a whole, or with a pattern in which `*`
    stands for anything; of `id`, `key`, `error` and `event` a part will do. `text` is a part of the id, of the idempotency
    key or of the parameters. `age` and `attempts` are measured."""
    values: tuple[str, ...] = ()
    """Any of these will do; empty for what is measured."""
    relation: str = ":"
    """`:` for equal or alike; of what is measured also `>`, `>=`, `<` and `<=`."""
    amount: float = 0.0
    """What is measured against: seconds of age, a number of attempts."""
    negated: bool = False
    """Whether it must not hold."""
