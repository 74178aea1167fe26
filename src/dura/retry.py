"""When a failed attempt is tried again: the strategy, and the delay it gives. Pure functions, injected randomness."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from dura.errors import InvalidValue, shown

_KINDS: Final = ("none", "fixed", "exponential")

_DEFAULT_CEILING: Final = 100
"""Exponential delays without `max_seconds` stop growing at this many times `base_seconds`."""

HOT_LOOP_ATTEMPT: Final = 10
"""From this attempt on, a task with no delay and no `max_attempts` waits."""

HOT_LOOP_SECONDS: Final = 1.0
"""How long it waits then."""


@dataclass(frozen=True, kw_only=True)
class RetryStrategy:
    """How long to wait before a failed task is tried again.

    `none` tries again at once; `fixed` waits `base_seconds`; `exponential` waits
    `base_seconds * factor ** (attempt - 1)`. Jitter adds up to `jitter_factor` of the delay, at random. No delay, jitter
    included, is longer than `max_seconds`; without it an exponential delay stops at 100 times `base_seconds`.

    Raises:
        ValueError: A value is out of range or no finite number (`InvalidValue`, a ValueError).
    """

    kind: str = "none"
    """`none`, `fixed` or `exponential`."""
    base_seconds: float = 30.0
    """The first delay, in seconds."""
    factor: float = 2.0
    """What each further exponential delay is multiplied by; more than 1 for `exponential`."""
    max_seconds: float | None = None
    """The longest delay, in seconds, jitter included."""
    jitter_factor: float = 0.2
    """The largest random share added to a delay: 0.2 adds up to 20 %."""

    def __post_init__(self) -> None:
        """Refuse a strategy that could not be carried out later, when an attempt has failed."""
        if not isinstance(self.kind, str) or self.kind not in _KINDS:
            raise InvalidValue(f"kind must be one of {', '.join(_KINDS)}, not {shown(self.kind)}")
        numbers = {
            "base_seconds": self.base_seconds,
            "factor": self.factor,
            "jitter_factor": self.jitter_factor,
        }
        if self.max_seconds is not None:
            numbers["max_seconds"] = self.max_seconds
        for field, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
                raise InvalidValue(f"{field} must be a finite number, not {shown(value)}")
        if self.base_seconds < 0:
            raise InvalidValue(f"base_seconds must be 0 or more, not {self.base_seconds!r}")
        if self.factor <= 0:
            raise InvalidValue(f"factor must be more than 0, not {self.factor!r}")
        if self.jitter_factor < 0:
            raise InvalidValue(f"jitter_factor must be 0 or more, not {self.jitter_factor!r}")
        if self.max_seconds is not None and self.max_seconds <= 0:
            raise InvalidValue(f"max_seconds must be more than 0, not {self.max_seconds!r}")
        if self.max_seconds is not None and self.max_seconds < self.base_seconds:
            raise InvalidValue(
                f"max_seconds ({self.max_seconds!r}) must not be below base_seconds ({self.base_seconds!r})"
            )
        if self.kind == "exponential" and self.base_seconds == 0:
            raise InvalidValue("an exponential strategy needs base_seconds above 0")
        if self.kind == "exponential" and self.factor <= 1:
            raise InvalidValue(
                "an exponential strategy needs a factor above 1 (use kind='fixed' for a steady delay)"
            )

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict, the form in which the store keeps a strategy."""
        return asdict(self)


def _finite(value: float) -> bool:
    """Whether a number is finite as a float too; `math.isfinite` raises for a larger int."""
    return -sys.float_info.max <= value <= sys.float_info.max


def delay_seconds(
    strategy: Mapping[str, Any] | None,
    failed_attempt: int,
    *,
    spread: Callable[[float, float], float] = random.uniform,
) -> float:
    """Seconds to wait after attempt number `failed_attempt` failed.

    Args:
        strategy: A stored strategy (`RetryStrategy.to_dict`), or None for no delay.
        failed_attempt: The attempt that failed, counted from 1.
        spread: Draws the jitter from a range; for tests.

    Raises:
        InvalidValue: A strategy stored by other software is not one of ours.
    """
    if strategy is None:
        return 0.0
    try:
        checked = RetryStrategy(**strategy)
    except TypeError as error:
        raise InvalidValue(f"the stored retry strategy {strategy!r} cannot be read: {error}") from error
    if checked.kind == "none":
        return 0.0
    delay = float(checked.base_seconds)
    ceiling = math.inf if checked.max_seconds is None else float(checked.max_seconds)
    if checked.kind == "exponential":
        if checked.max_seconds is None:
            ceiling = delay * _DEFAULT_CEILING
        delay = min(delay * _power(checked.factor, failed_attempt - 1), ceiling)
    return min(delay + spread(0.0, min(checked.jitter_factor * delay, sys.float_info.max)), ceiling)


def _power(factor: float, exponent: int) -> float:
    """`factor ** exponent`, infinite where that is more than a float holds (for 2.0, from the 1024th power on)."""
    try:
        return float(factor) ** max(exponent, 0)
    except OverflowError:
        return math.inf


def next_delay(strategy: Mapping[str, Any] | None, failed_attempt: int, max_attempts: int | None) -> float:
    """`delay_seconds`, and a pause where no delay and no limit would make a hot loop of a broken task."""
    delay = delay_seconds(strategy, failed_attempt)
    if delay <= 0 and max_attempts is None and failed_attempt + 1 >= HOT_LOOP_ATTEMPT:
        return HOT_LOOP_SECONDS
    return max(delay, 0.0)


def deferral_seconds(deferrals: int, *, spread: Callable[[float, float], float] = random.uniform) -> float:
    """Seconds for which a run whose name a worker does not know is left to others: 1 s doubling to 30 s, jittered."""
    base = min(30.0, 2.0 ** min(deferrals, 5))
    return spread(base * 0.8, base)
