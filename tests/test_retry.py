"""When a failed attempt is tried again: pure functions, asked at their edges."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from dura import InvalidValue, RetryStrategy
from dura.clock import FOREVER, later
from dura.retry import (
    HOT_LOOP_ATTEMPT,
    HOT_LOOP_SECONDS,
    deferral_seconds,
    delay_seconds,
    next_delay,
)


def lowest(low: float, high: float) -> float:
    return low


def highest(low: float, high: float) -> float:
    return high


def delays(strategy: RetryStrategy, attempts: int, spread: Any = lowest) -> list[float]:
    stored = strategy.to_dict()
    return [delay_seconds(stored, attempt, spread=spread) for attempt in range(1, attempts + 1)]


def test_without_a_strategy_or_with_none_there_is_no_delay() -> None:
    assert delay_seconds(None, 1) == 0
    assert delays(RetryStrategy(), 3) == [0, 0, 0]
    assert delays(RetryStrategy(kind="none", base_seconds=99), 3) == [0, 0, 0]


def test_fixed_waits_the_same_each_time() -> None:
    assert delays(RetryStrategy(kind="fixed", base_seconds=7), 3) == [7, 7, 7]


def test_exponential_multiplies_up_to_its_cap() -> None:
    strategy = RetryStrategy(kind="exponential", base_seconds=2, factor=3, max_seconds=50)
    assert delays(strategy, 5) == [2, 6, 18, 50, 50]


def test_exponential_without_a_cap_stops_at_a_hundred_times_its_base() -> None:
    assert delays(RetryStrategy(kind="exponential", base_seconds=1, factor=10), 5) == [1, 10, 100, 100, 100]


@pytest.mark.parametrize("kind", ["fixed", "exponential"])
def test_jitter_adds_at_most_its_share_and_never_passes_the_cap(kind: str) -> None:
    strategy = RetryStrategy(kind=kind, base_seconds=10, max_seconds=60, jitter_factor=0.5)
    assert delays(strategy, 1, highest) == [15]
    assert max(delays(strategy, 2_000, highest)) <= 60
    drawn = random.Random(7)
    for attempt in range(1, 200):
        low = delay_seconds(strategy.to_dict(), attempt, spread=lowest)
        assert low <= delay_seconds(strategy.to_dict(), attempt, spread=drawn.uniform) <= min(low * 1.5, 60)


EXTREMES = {
    "base near the largest float": RetryStrategy(kind="exponential", base_seconds=1e307),
    "cap near the largest float": RetryStrategy(kind="exponential", base_seconds=1e-300, max_seconds=1e308),
    "smallest base": RetryStrategy(kind="exponential", base_seconds=5e-324, max_seconds=1e308, factor=1e308),
    "largest factor": RetryStrategy(kind="exponential", base_seconds=1e10, factor=1.7e308),
    "smallest factor": RetryStrategy(kind="exponential", base_seconds=1, factor=1.0000000000000002),
    "largest jitter": RetryStrategy(kind="exponential", base_seconds=1e10, jitter_factor=1.7e308),
    "largest fixed": RetryStrategy(kind="fixed", base_seconds=1.7e308),
    "largest fixed jitter": RetryStrategy(kind="fixed", base_seconds=1.7e308, jitter_factor=1.7e308),
}


@pytest.mark.parametrize("strategy", EXTREMES.values(), ids=EXTREMES.keys())
@pytest.mark.parametrize("attempt", [0, 1, 2, 1_100, 10**9, 2**63 - 1])
@pytest.mark.parametrize("spread", [lowest, highest], ids=["no jitter", "full jitter"])
def test_no_accepted_strategy_overflows(strategy: RetryStrategy, attempt: int, spread: Any) -> None:
    delay = delay_seconds(strategy.to_dict(), attempt, spread=spread)
    assert delay >= 0
    assert not math.isnan(delay)
    assert later("2026-01-01T00:00:00.000000+00:00", delay) <= FOREVER


WRONG: dict[str, dict[str, Any]] = {
    "unknown kind": {"kind": "linear"},
    "kind of another type": {"kind": ["fixed"]},
    "negative base": {"base_seconds": -1},
    "nan base": {"base_seconds": math.nan},
    "infinite base": {"base_seconds": math.inf},
    "text as base": {"base_seconds": "1"},
    "bool as base": {"base_seconds": True},
    "base that no float holds": {"base_seconds": 10**400},
    "no base": {"base_seconds": None},
    "zero factor": {"factor": 0},
    "factor that does not grow": {"kind": "exponential", "factor": 1},
    "nan factor": {"factor": math.nan},
    "zero exponential base": {"kind": "exponential", "base_seconds": 0},
    "negative jitter": {"jitter_factor": -0.1},
    "nan jitter": {"jitter_factor": math.nan},
    "zero cap": {"max_seconds": 0},
    "negative cap": {"max_seconds": -1},
    "nan cap": {"max_seconds": math.nan},
    "infinite cap": {"max_seconds": math.inf},
    "cap that no float holds": {"max_seconds": 10**400},
    "cap below the base": {"base_seconds": 10, "max_seconds": 9},
}


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG.keys())
def test_a_strategy_that_could_not_be_carried_out_is_refused_when_made(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        RetryStrategy(**fields)


UNREADABLE: dict[str, Any] = {
    "text": "exponential",
    "list": [1, 2],
    "number": 7,
    "true": True,
    "unknown field": {"kind": "fixed", "colour": "red"},
    "unknown kind": {"kind": "fibonacci"},
    "no number": {"kind": "fixed", "base_seconds": "soon"},
}


@pytest.mark.parametrize("stored", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_strategy_stored_by_other_software_is_one_clear_error(stored: Any) -> None:
    with pytest.raises(InvalidValue):
        delay_seconds(stored, 1)


def test_no_delay_and_no_limit_pauses_from_the_tenth_attempt_on() -> None:
    pauses = [next_delay(None, failed, None) for failed in range(1, 13)]
    assert pauses == [0.0] * (HOT_LOOP_ATTEMPT - 2) + [HOT_LOOP_SECONDS] * 4
    fixed_zero = RetryStrategy(kind="fixed", base_seconds=0).to_dict()
    assert next_delay(fixed_zero, 9, None) == HOT_LOOP_SECONDS


def test_a_limit_or_a_delay_makes_no_pause() -> None:
    assert next_delay(None, 50, 100) == 0
    fixed = RetryStrategy(kind="fixed", base_seconds=0.25, jitter_factor=0).to_dict()
    assert next_delay(fixed, 50, None) == 0.25


def test_deferrals_double_from_one_second_to_thirty_and_are_jittered_below() -> None:
    assert [deferral_seconds(n, spread=highest) for n in range(8)] == [1, 2, 4, 8, 16, 30, 30, 30]
    assert [deferral_seconds(n, spread=lowest) for n in (0, 5, 10_000)] == [0.8, 24, 24]
