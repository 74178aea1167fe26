"""Times as text: written as `datetime` would write them, and reckoned with as it reckons."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from dura.clock import later, present, system_clock, to_text

FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_later_is_what_datetime_says() -> None:
    chance = random.Random(1)
    for _ in range(2_000):
        moment = FIRST + chance.random() * (LAST - FIRST)
        span = timedelta(seconds=chance.choice([0, 1, -1, 0.05, 120, 86_400, -1e9, 1e9]) * chance.random())
        try:
            expected = to_text(moment + span)
        except OverflowError:
            continue
        assert later(to_text(moment), span.total_seconds()) == expected


@pytest.mark.parametrize("seconds", [1e12, 1e300, 10**400])
def test_later_than_the_calendar_is_its_end_and_earlier_its_beginning(seconds: float) -> None:
    now = to_text(system_clock())
    assert later(now, seconds) == "9999-12-31T23:59:59.999998+00:00"
    assert later(now, -seconds) == "0001-01-01T00:00:00.000000+00:00"


def test_the_present_is_the_clocks_time() -> None:
    for _ in range(1_000):
        before = to_text(system_clock())
        assert before <= present(system_clock) <= to_text(system_clock())
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert present(lambda: moment) == "2026-01-02T03:04:05.000006+00:00"
