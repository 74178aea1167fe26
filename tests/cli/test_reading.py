"""Commands that look: what they say, in both forms, and that they change nothing."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from cli.shop import NASTY, Command, Shop
from conftest import plain
from dura import DurableEngine

LOOKS = ("status", "tasks", "leases", "sleeping", "events", "state", "audit")


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_changes_no_byte_and_leaves_nothing_beside_the_file(
    dura: Command, shop: Shop, look: str
) -> None:
    before = shop.path.read_bytes()
    for form in ([], ["--json"]):
        assert dura(look, shop.path, *form).code == 0
    assert shop.path.read_bytes() == before
    assert os.listdir(shop.path.parent) == [shop.path.name]


@pytest.mark.parametrize("look", [*LOOKS, "task"])
def test_a_missing_path_stays_missing(dura: Command, tmp_path: Path, look: str) -> None:
    missing = tmp_path / "missing.db"
    done = dura(look, missing, *(["abcd"] if look == "task" else []))
    assert (done.code, done.out) == (3, "")
    assert str(missing) in done.err
    assert os.listdir(tmp_path) == []


def test_status_counts_and_lists_what_matters(dura: Command, shop: Shop) -> None:
    done = dura("status", shop.path)
    assert (done.code, done.err) == (0, "")
    for words in ("1 run, the oldest due", "approved:ord_1", "nightly", "backoff", "orders", "import_report"):
        assert words in done.out
    report = dura("status", shop.path, "--json").json
    assert report["totals"] == {
        "pending": 1, "running": 1, "sleeping": 3, "completed": 1, "failed": 1, "cancelled": 1,
    }  # fmt: skip
    assert report["ready"] == 1
    assert report["file"]["origin"] == "dura"
    assert [lease["task_id"] for lease in report["leases"]] == [shop.running]
    assert {sleeper["cause"] for sleeper in report["sleepers"]} == {"event", "backoff", "delay"}
    assert report["failures"][0]["failure_reason"] == {"type": "TimeoutError", "message": "no answer"}
    assert sum(filter(None, report["throughput"]["completed"])) == 1
    assert report["truncated"] == []
    assert report["as_text"] == []


def test_times_in_json_are_iso_text_in_utc(dura: Command, shop: Shop) -> None:
    taken_at = dura("status", shop.path, "--json").json["taken_at"]
    assert len(taken_at) == len("2026-01-01T00:00:00.000000+00:00")
    assert datetime.fromisoformat(taken_at).utcoffset() is not None


def test_tasks_are_filtered_sorted_and_paged(dura: Command, shop: Shop) -> None:
    def ids(*options: str) -> list[str]:
        return [task["task_id"] for task in dura("tasks", shop.path, "--json", *options).json["tasks"]]

    assert len(ids()) == 8
    assert ids("--state", "failed") == [shop.failed]
    assert set(ids("--name", "charge_*")) == {shop.waiting, shop.completed}
    assert set(ids("--queue", "orders")) == {shop.waiting, shop.completed}
    assert ids("--text", "charge:ord_1") == [shop.waiting]
    assert ids("--sort", "oldest")[0] == shop.waiting
    assert (ids("--sort", "age"), ids("--sort=-age")) == (ids(), ids("--sort", "oldest"))
    first = dura("tasks", shop.path, "--json", "--limit", "5")
    assert f"--after {first.json['next_page']}" in first.err
    rest = ids("--after", first.json["next_page"])
    assert [task["task_id"] for task in first.json["tasks"]] + rest == ids()


def test_a_limit_beyond_one_page_reads_several(
    dura: Command, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dura.cli.reading._PAGE", 3)
    assert len(dura("tasks", shop.path, "--json").json["tasks"]) == 8
    seven = dura("tasks", shop.path, "--json", "--limit", "7").json
    assert len(seven["tasks"]) == 7
    assert seven["next_page"] is not None


def test_tasks_are_filtered_by_a_line_and_its_mistakes_are_marked(dura: Command, shop: Shop) -> None:
    def names(line: str) -> list[str]:
        return [task["name"] for task in dura("tasks", shop.path, "--json", "--filter", line).json["tasks"]]

    failed = dura("tasks", shop.path, "--json", "--state", "failed").json["tasks"]
    assert names("state:f") == [task["name"] for task in failed]
    assert dura("tasks", shop.path, "--filter", "name:no_such").code == 1
    assert len(dura("tasks", shop.path, "--json", "--filter", "age>0", "--limit", "3").json["tasks"]) == 3
    forth = names("")
    back = dura("tasks", shop.path, "--json", "--sort=-newest").json["tasks"]
    assert [task["name"] for task in back] == forth[::-1]
    wrong = dura("tasks", shop.path, "--filter", "name:a state:nope")
    assert wrong.code == 2
    lines = wrong.err.splitlines()
    assert "no state 'nope'" in lines[0]
    assert lines[1].index("nope") == lines[2].index("^^^^")
    assert dura("tasks", shop.path, "--sort", "sideways").code == 2


def test_tasks_that_match_nothing_are_told_apart_from_an_empty_store(
    dura: Command, shop: Shop, tmp_path: Path
) -> None:
    none = dura("tasks", shop.path, "--name", "no_such")
    assert (none.code, none.out) == (1, "")
    assert "matches" in none.err
    assert dura("tasks", shop.path, "--name", "no_such", "--json").json["tasks"] == []
    DurableEngine(tmp_path / "empty.db").close()
    empty = dura("tasks", tmp_path / "empty.db")
    assert (empty.code, empty.out) == (0, "")


def test_a_page_of_another_list_is_a_usage_error(dura: Command, shop: Shop) -> None:
    assert dura("tasks", shop.path, "--after", "nonsense").code == 2


def test_task_tells_everything(dura: Command, shop: Shop) -> None:
    done = dura("task", shop.path, shop.waiting)
    assert (done.code, done.err) == (0, "")
    for words in (
        "charge:ord_1",
        "2/3, left: approval",
        '"order_id": "ord_1"',
        "reserve",
        "approved:ord_1",
        "1 of 5",
    ):
        assert words in done.out
    detail = dura("task", shop.path, shop.waiting, "--json").json
    assert detail["params"] == {"order_id": "ord_1"}
    assert [(step["name"], step["value"]) for step in detail["checkpoints"]] == [
        ("reserve", {"items": 2}),
        ("charge", "ch_1"),
    ]
    assert detail["waits"][0]["waiting"] is True
    assert detail["task"]["steps_total"] == 3


def test_a_failure_is_printed_with_its_traceback_and_obeyed_by_no_terminal(dura: Command, shop: Shop) -> None:
    done = dura("task", shop.path, shop.failed)
    assert "ValueError: [/bold] \\x1b[31mred\\x1b[0m" in done.out
    assert "  line 1" in done.out
    assert "\\u202e" in done.out
    assert "\x1b" not in done.out
    assert done.out.count("second line") == 1, "the traceback's end repeats what was said"
    assert "line 1" not in dura("task", shop.path, shop.failed, "--failures", "0").out
    attempt = dura("task", shop.path, shop.failed, "--json").json["attempts"][0]
    assert attempt["failure_reason"]["message"] == NASTY


def test_one_row_is_one_line_in_a_pipe_with_ids_in_full(dura: Command, shop: Shop) -> None:
    lines = dura("tasks", shop.path).out.splitlines()
    assert len(lines) == 1 + 8
    assert {line.split()[0] for line in lines[1:]} >= {shop.failed, shop.waiting, shop.pending}
    assert not any(line.endswith(" ") for line in lines)
    assert len({line.index("charge_order") for line in lines if "charge_order" in line}) == 1


def test_a_part_of_an_id_finds_its_task(dura: Command, shop: Shop) -> None:
    run_id = dura("task", shop.path, shop.failed, "--json").json["task"]["run_id"]
    for part in (shop.failed, shop.failed[-8:], shop.failed[10:30], run_id):
        assert dura("task", shop.path, part, "--json").json["task"]["task_id"] == shop.failed


def test_an_ambiguous_part_lists_the_candidates(dura: Command, shop: Shop) -> None:
    done = dura("task", shop.path, shop.failed[:4])
    assert (done.code, done.out) == (1, "")
    for words in ("8 tasks", shop.failed, shop.waiting, "charge:ord_1", "running"):
        assert words in done.err


def test_a_part_that_finds_nothing_and_one_that_is_too_short(dura: Command, shop: Shop) -> None:
    assert dura("task", shop.path, "zzzz").code == 1
    assert dura("task", shop.path, shop.failed[-3:]).code == 2


def test_events_list_awaited_with_waiters_and_emitted(dura: Command, shop: Shop) -> None:
    done = dura("events", shop.path)
    assert shop.waiting in done.out
    assert '{"eur": 1}' in done.out
    found = dura("events", shop.path, "--json").json
    assert [event["event_name"] for event in found["awaited"]] == ["approved:ord_1"]
    assert found["awaited"][0]["waiters"][0]["step_name"] == "approval"
    assert [(event["event_name"], event["payload"]) for event in found["events"]] == [
        ("rates:today", {"eur": 1})
    ]


def test_events_are_found_by_a_part_of_their_names(dura: Command, shop: Shop) -> None:
    found = dura("events", shop.path, "--like", "RATES", "--json")
    assert (found.code, found.json["awaited"], len(found.json["events"])) == (0, [], 1)
    assert dura("events", shop.path, "--like", "nothing").code == 1


def test_state_lists_namespaces_keys_and_prints_one_value(dura: Command, shop: Shop) -> None:
    spaces = dura("state", shop.path, "--json").json["namespaces"]
    assert {"namespace": "poller", "keys": 2, "capped": False} in spaces
    keys = dura("state", shop.path, "poller", "--json").json["state"]
    assert [(row["key"], row["value"]) for row in keys] == [("cursor", {"page": 3}), ("note", "plain")]
    assert dura("state", shop.path, "poller", "cursor").out == '{"page": 3}\n'
    assert dura("state", shop.path, "poller", "note", "--json").json["value"] == "plain"
    assert "1 key" in dura("state", shop.path, "poller", "--limit", "1").err


def test_options_may_stand_between_positional_arguments(dura: Command, shop: Shop) -> None:
    assert dura("state", shop.path, "--json", "poller", "--limit", "9", "cursor").json["value"] == {"page": 3}


def test_state_that_is_not_there_is_not_found(dura: Command, shop: Shop) -> None:
    done = dura("state", shop.path, "nobody")
    assert (done.code, done.out) == (1, "")
    assert "has no namespace 'nobody'" in done.err
    done = dura("state", shop.path, "poller", "nothing")
    assert (done.code, done.out) == (1, "")
    assert "poller/nothing" in done.err


def test_a_value_longer_than_a_list_carries_is_cut_there_and_whole_by_itself(
    dura: Command, path: Path
) -> None:
    engine = DurableEngine(path)
    engine.set_state(namespace="big", key="text", value="x" * 100_000)
    engine.close()
    listed = dura("state", path, "big", "--json").json
    assert listed["as_text"] == ["state[0].value"]
    assert listed["state"][0]["value"].endswith("…")
    assert dura("state", path, "big", "text", "--json").json["value"] == "x" * 100_000
    assert len(dura("state", path, "big").out.splitlines()[1]) < 1_000


def test_a_stored_value_that_is_no_json_stays_text(dura: Command, shop: Shop) -> None:
    with plain(shop.path) as connection:
        connection.execute("UPDATE state SET value = '[NaN]' WHERE key = 'note'")
        connection.execute("UPDATE state SET value = '1e999' WHERE key = 'cursor'")
    found = dura("state", shop.path, "poller", "--json").json
    assert [row["value"] for row in found["state"]] == ["1e999", "[NaN]"]
    assert found["as_text"] == ["state[0].value", "state[1].value"]


@pytest.mark.parametrize("depth", [300, 900, 990, 5_000])
def test_a_deeply_nested_value_is_no_traceback(dura: Command, shop: Shop, depth: int) -> None:
    with plain(shop.path) as connection:
        connection.execute("UPDATE state SET value = ? WHERE key = 'note'", ("[" * depth + "]" * depth,))
    assert dura("state", shop.path, "poller", "note").code == 0
    assert dura("state", shop.path, "poller", "note", "--json").code in (0, 1)
    assert dura("state", shop.path, "poller").code == 0


def test_a_very_long_name_among_short_ones_is_listed_at_once(dura: Command, shop: Shop) -> None:
    engine = DurableEngine(shop.path)
    engine.emit_event(event_name="e" * 200_000)
    engine.close()
    seen = dura("events", shop.path)
    assert seen.code == 0
    assert "e" * 200_000 in seen.out
    assert not any(line.endswith(" ") for line in seen.out.splitlines())


def test_audit_tells_who_did_what_and_why(dura: Command, shop: Shop) -> None:
    assert dura("cancel", shop.path, shop.pending, "--actor", "ana", "--reason", "ordered [twice]").code == 0
    out = dura("audit", shop.path).out
    for words in ("cancel", shop.pending, "ana", "ordered [twice]", "pending → cancelled"):
        assert words in out
    entry = dura("audit", shop.path, "--json").json["audit"][0]["value"]
    assert (entry["actor"], entry["action"], entry["target"]) == ("ana", "cancel", shop.pending)
