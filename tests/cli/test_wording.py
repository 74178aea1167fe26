"""Durations read and written, text made harmless, values laid out."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dura.cli.documents import decode_strictly, document
from dura.cli.wording import (
    failure_lines,
    lease_end,
    progress,
    situation,
    sleep_of,
    until,
    value_line,
    value_lines,
)
from dura.display import printable, printable_lines, size
from dura.durations import duration, parse_duration
from dura.records import Lease, TaskRow

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("12h", 43_200), ("30d", 2_592_000), ("1h30m", 5400), ("1.5h", 5400), ("250ms", 0.25),
     ("2w", 1_209_600), (" 7D ", 604_800), ("0", 0)],
)  # fmt: skip
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "30", "1e3s", "-5s", "5 s", "5x", "m", "inf", "nan", "1h 30m", "9" * 400 + "d"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_duration(text)


def test_a_number_alone_is_seconds_only_where_that_is_meant() -> None:
    assert parse_duration("30", bare_seconds=True) == 30
    with pytest.raises(ValueError, match="30d"):
        parse_duration("30")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0s"), (0, "0s"), (0.32, "320ms"), (42.9, "42s"), (60, "1m"), (119, "1m 59s"), (750, "12m"), (3600, "1h"),
     (11_100, "3h 5m"), (86_400 * 30, "30d"), (86_400 * 4 + 3 * 3600, "4d 3h"), (86_400 * 400 + 3600, "400d")],
)  # fmt: skip
def test_durations_are_written(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_nothing_that_a_terminal_obeys_passes() -> None:
    assert printable("plain [bold] ☃ é") == "plain [bold] ☃ é"
    assert printable("\x1b]0;x\x07\x9b\x7f\r\n\t") == "\\x1b]0;x\\x07\\x9b\\x7f\\r\\n\\t"
    assert printable("\u202e\u200b\u2028\ud800\U000e0001") == "\\u202e\\u200b\\u2028\\ud800\\U000e0001"
    assert printable_lines("a\r\nb\tc\n\x1b") == ["a", "b    c", "\\x1b"]


def test_times_are_told_from_the_moment_of_the_look() -> None:
    assert until(NOW + timedelta(seconds=41.2), NOW) == "in 42s"
    assert until(NOW, NOW) == "0s ago"
    assert until(NOW - timedelta(minutes=3), NOW) == "3m ago"
    assert until(None, NOW) == "never"


def test_sizes_have_units() -> None:
    assert [size(count) for count in (0, 999, 1200, 64_000_000, 3 * 10**12)] == [
        "0 B", "999 B", "1.2 kB", "64 MB", "3.0 TB",
    ]  # fmt: skip


def test_a_sleep_is_told_by_what_ends_it() -> None:
    soon, late = NOW + timedelta(seconds=9), NOW - timedelta(seconds=9)
    assert sleep_of("backoff", None, soon, NOW) == "backoff, due in 9s"
    assert sleep_of("event", "paid:1", soon, NOW) == "paid:1, or in 9s"
    assert sleep_of("event", "paid:1", late, NOW) == "paid:1, timed out 9s ago"
    assert sleep_of("event", "paid:1", None, NOW) == "paid:1"


LEASE = Lease(
    run_id="r", task_id="t", name="n", queue="default", attempt=1, max_attempts=None, reclaims=0, max_reclaims=None,
    claim_token=1, worker_id="w", started_at=NOW, expires_at=NOW + timedelta(seconds=5),
)  # fmt: skip


def test_a_lease_says_what_its_end_does() -> None:
    poison = replace(LEASE, reclaims=2, max_reclaims=2)
    gone = NOW - timedelta(seconds=5)
    assert lease_end(LEASE, NOW) == "in 5s, then pending again"
    assert lease_end(poison, NOW) == "in 5s, then fails for good"
    assert lease_end(replace(LEASE, expires_at=gone), NOW) == "5s ago, to be taken back"
    assert lease_end(replace(poison, expires_at=gone), NOW) == "5s ago, to be failed for good"


def row(state: str, **facts: object) -> TaskRow:
    plain = TaskRow(
        task_id="t", run_id="r", name="n", queue="default", state=state, attempts=1, max_attempts=None, priority=0,
        enqueued_at=NOW, started_at=None, ended_at=NOW - timedelta(minutes=1), due_at=NOW, sleep_cause=None,
        wake_event=None, claim_token=1, steps_done=0, steps_total=None, steps_declared=False, idempotency_key=None,
        error=None,
    )  # fmt: skip
    return replace(plain, **facts)  # type: ignore[arg-type]


def test_a_task_is_told_by_the_one_thing_worth_knowing() -> None:
    assert situation(row("running"), NOW) == "lease ends 0s ago"
    assert situation(row("failed", error="E: [b]\n"), NOW) == "E: [b]\\n"
    assert situation(row("failed"), NOW) == "1m ago"
    assert situation(row("completed", error="E"), NOW) == "1m ago"
    assert situation(row("pending", error="E"), NOW) == "again after E"
    assert situation(row("pending"), NOW) == ""
    assert situation(row("unheard-of"), NOW) == ""


def test_progress_is_told_against_what_is_known_of_the_steps() -> None:
    declared: dict[str, object] = {"steps_done": 1, "steps_total": 3, "steps_declared": True}
    usual: dict[str, object] = {"steps_done": 2, "steps_total": 3}
    assert progress(row("running")) == "-"
    assert progress(row("running", steps_done=2)) == "2"
    assert progress(row("running", **usual)) == "2/~3"
    assert progress(row("completed", **usual)) == "2/2", "a completed task took the steps that it took"
    assert progress(row("completed", steps_total=3)) == "-"
    assert progress(row("completed", **declared)) == "1/3"


def test_values_are_laid_out_by_what_fits_a_line() -> None:
    assert value_lines('{"a":[1,2]}') == ['{"a": [1, 2]}']
    long = {"items": [{"product": "x" * 30, "quantity": number} for number in range(3)], "empty": []}
    lines = value_lines(json.dumps(long))
    assert json.loads("\n".join(lines)) == long
    assert max(map(len, lines)) <= 74
    assert lines[0] == "{"
    assert value_lines("no\x1b json") == ["no\\x1b json"]
    assert value_line(None) == "-"
    assert len(value_line(json.dumps("x" * 10_000))) < 500


def test_failures_of_any_shape_are_told() -> None:
    assert failure_lines('{"type": "E", "message": "m", "extra": 1}') == ["E: m", '{"extra": 1}']
    assert failure_lines('{"type": "E", "message": "m", "traceback": "Tr\\n  l\\n  ~~^^\\nE: m"}') == [
        "E: m",
        "Tr",
        "  l",
    ]
    assert failure_lines('{"traceback": ["a", 1]}') == ["a", "1"]
    for reason, told in (("[1]", ["[1]"]), ("null", ["null"]), ('"x"', ['"x"']), ("{", ["{"]), ("{}", [])):
        assert failure_lines(reason) == told


def test_strict_decoding_takes_json_alone() -> None:
    assert decode_strictly('{"a": [1.5, null]}') == {"a": [1.5, None]}
    for text in ("NaN", "-Infinity", "1e999", "[" * 100_000, "", "{'a': 1}"):
        with pytest.raises(ValueError, match=r"\w"):
            decode_strictly(text)


def test_a_lease_in_a_document_has_its_derived_fact_and_iso_times() -> None:
    made = document(leases=(LEASE,))
    assert made["leases"][0]["fails_at_expiry"] is False
    assert made["leases"][0]["started_at"] == "2026-01-01T12:00:00.000000+00:00"
