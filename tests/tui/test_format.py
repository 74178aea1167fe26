"""Facts as text: exact where an operator decides by them, and harmless whatever a store holds."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from rich.cells import cell_len

from dura.records import Lease, Sleeper, TaskRow
from dura.states import SleepCause, State
from dura_tui import format as fmt
from dura_tui.screens.tasks import next_cell
from dura_tui.widgets import cells

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MOMENTS = (
    None,
    datetime.min.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
    *(
        NOW + timedelta(seconds=seconds)
        for seconds in (-1e6, -3600, -60, -1.5, -1, -0.4, 0, 0.4, 1, 59.9, 60, 3600, 1e6)
    ),
)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (90, "1m 30s"),
        (59.2, "1m 00s"),
        (0.4, "1s"),
        (0, "now"),
        (-0.9, "now"),
        (-1, "overdue 1s"),
        (-4.7, "overdue 4s"),
        (-125, "overdue 2m"),
        (-7300, "overdue 2h"),
        (7500, "2h 05m"),
        (3 * 86400 + 3600, "3d 1h"),
    ],
)
def test_a_countdown_reads_down_to_now_and_then_overdue(seconds: float, words: str) -> None:
    assert fmt.countdown(NOW + timedelta(seconds=seconds), NOW) == words


def test_a_moment_that_never_comes_has_no_countdown() -> None:
    assert fmt.countdown(None, NOW) == fmt.NOTHING


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("cause", [None, *SleepCause])
@pytest.mark.parametrize("moment", MOMENTS)
def test_no_state_and_time_gives_a_negative_or_a_crash(
    state: State, cause: SleepCause | None, moment: datetime | None
) -> None:
    task = TaskRow(
        task_id="t", run_id="r", name="n", queue="q", state=state, attempts=1, max_attempts=None, priority=0,
        enqueued_at=moment, started_at=moment, ended_at=moment, due_at=moment, sleep_cause=cause, wake_event=None,
        claim_token=1, steps_done=0, steps_total=None, steps_declared=False, idempotency_key=None, error=None,
    )  # fmt: skip
    sleeper = Sleeper(
        run_id="r", task_id="t", name="n", queue="q", attempt=1, cause=cause or "", due_at=moment, event_name=None,
        step_name=None, deferrals=0,
    )  # fmt: skip
    lease = Lease(
        run_id="r", task_id="t", name="n", queue="q", attempt=1, max_attempts=None, reclaims=0, max_reclaims=0,
        claim_token=1, worker_id="w", started_at=moment, expires_at=moment,
    )  # fmt: skip
    said = (
        *map(
            cells.plain,
            (next_cell(task, NOW), cells.due_countdown(sleeper.due_at, NOW), cells.waits_for(sleeper)),
        ),
        cells.plain(cells.lease_countdown(lease.expires_at, NOW)),
        fmt.ago(moment, NOW),
        fmt.at(moment, NOW),
        fmt.countdown(moment, NOW),
    )
    assert not any(f"-{digit}" in words.split(" ")[0] for words in said[:-2] for digit in range(10)), said
    assert all(said)


def test_whatever_a_store_holds_becomes_one_line_that_a_terminal_can_take() -> None:
    dice = Random(7)
    odd = [
        "\x1b[31m",
        "\n",
        "\r",
        "\t",
        "\x00",
        "\x07",
        "\x9b",
        "\u202e",
        "\u200b",
        "\u2028",
        "\ud800",
        "\ufe0f",
        "\x7f",
    ]
    for _ in range(500):
        text = "".join(
            dice.choice([*odd, "a", "é", "漢", "[/x]", chr(dice.randrange(0x110000))]) for _ in range(12)
        )
        line = fmt.printable(text)
        assert not any(
            unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in line
        )
        line.encode()
        for width in (0, 1, 2, 7, 20):
            assert cell_len(fmt.clip(line, width)) <= width
            assert cell_len(fmt.clip_middle(line, width)) <= width


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (12_345, "12 kB"),
        (999_999, "1.0 MB"),
        (7_300_000_000, "7.3 GB"),
    ],
)
def test_sizes_are_short_and_in_powers_of_a_thousand(value: int, words: str) -> None:
    assert fmt.size(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (9999, "9999"), (12_345, "12.3k"), (999_960, "1.0M"), (5_400_000_000, "5.4G")],
)
def test_counts_fit_five_cells(value: int, words: str) -> None:
    assert fmt.compact(value) == words
    assert len(words) <= 5


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.02, "20ms"), (5, "5s"), (61, "1m 01s"), (600, "10m"), (3660, "1h 01m"), (90_000, "1d 1h")],
)
def test_durations_have_two_units_at_most(seconds: float, words: str) -> None:
    assert fmt.duration(seconds) == words


def test_a_bar_is_full_only_when_all_is_done_and_empty_only_when_nothing_is() -> None:
    for total in range(1, 40):
        for done in range(total + 3):
            drawn = fmt.bar(done, total, 6)
            assert len(drawn) == 6
            assert (drawn == "█" * 6) == (done >= total)
            assert (drawn == "░" * 6) == (done == 0)


def test_a_failure_is_its_type_and_message_and_keeps_its_traceback_for_reading() -> None:
    reason = json.dumps(
        {"type": "ValueError", "message": "no [bold]price", "traceback": "File x\n  y()", "code": 7}
    )
    assert fmt.failure(reason) == "ValueError: no [bold]price"
    assert fmt.failure_lines(reason) == [
        "ValueError: no [bold]price",
        "",
        "File x",
        "  y()",
        "",
        "{",
        '  "code": 7',
        "}",
    ]
    assert fmt.failure('"just text"') == '"just text"'
    assert fmt.failure("no json {") == "no json {"
    assert fmt.failure_lines("[1]") == ["[", "  1", "]"]


def test_bars_show_every_value_that_is_not_zero_and_mark_what_is_not_known() -> None:
    assert cells.bars([None, 0, 1, 1000], 1) == ["· ▁█"]
    assert cells.bars([4, 8], 2) == [" █", "██"]
    assert cells.bars([], 1) == [""]
