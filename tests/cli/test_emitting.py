"""The command that emits: first and again, payloads good and bad, the run that was seen."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from cli.shop import Command, Shop
from conftest import dump, rows


def test_the_first_emit_wakes_who_waits_and_says_whom(dura: Command, shop: Shop) -> None:
    done = dura("emit", shop.path, "approved:ord_1", "--payload", '{"by": "ana"}', "--reason", "phoned")
    assert (done.code, done.err) == (0, "")
    assert shop.waiting in done.out
    assert rows(shop.path, "SELECT payload FROM events WHERE event_name = 'approved:ord_1'") == [
        ('{"by": "ana"}',)
    ]
    assert rows(shop.path, "SELECT state FROM tasks WHERE task_id = ?", shop.waiting) == [("pending",)]


def test_an_event_that_existed_has_its_own_exit_code_and_changes_nothing(dura: Command, shop: Shop) -> None:
    assert dura("emit", shop.path, "approved:ord_1", "--actor", "ana").code == 0
    before = dump(shop.path)
    done = dura("emit", shop.path, "approved:ord_1", "--payload", "1")
    assert (done.code, done.out) == (1, "")
    assert "emitted before" in done.err
    assert "ago by ana" in done.err
    again = dura("emit", shop.path, "approved:ord_1", "--json")
    assert (again.code, again.json["first"], again.json["woken"]) == (1, False, [])
    assert dump(shop.path) == before


def test_json_tells_the_woken_tasks(dura: Command, shop: Shop) -> None:
    emitted = dura("emit", shop.path, "approved:ord_1", "--json").json
    assert emitted == {
        "event_name": "approved:ord_1", "first": True, "woken": [shop.waiting], "as_text": [],
    }  # fmt: skip


def test_an_event_that_nobody_waits_for_is_emitted_all_the_same(dura: Command, shop: Shop) -> None:
    done = dura("emit", shop.path, "nobody:waits")
    assert done.code == 0
    assert "no task was waiting" in done.out
    assert rows(shop.path, "SELECT payload FROM events WHERE event_name = 'nobody:waits'") == [("null",)]


def test_a_payload_comes_from_a_file_or_from_standard_input(
    dura: Command, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "payload.json").write_text('["from a file", "☃"]', "utf-8")
    assert dura("emit", shop.path, "one", "--payload-file", tmp_path / "payload.json").code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("42\n"))
    assert dura("emit", shop.path, "two", "--payload-file", "-").code == 0
    payloads = {
        event["event_name"]: event["payload"] for event in dura("events", shop.path, "--json").json["events"]
    }
    assert (payloads["one"], payloads["two"]) == (["from a file", "☃"], 42)


@pytest.mark.parametrize("payload", ["{bad", "NaN", "[1, -Infinity]", "yes", "", "1e999", "[" * 100_000])
def test_a_payload_that_is_no_json_is_a_usage_error(dura: Command, shop: Shop, payload: str) -> None:
    before = dump(shop.path)
    done = dura("emit", shop.path, "name", "--payload", payload)
    assert (done.code, done.out) == (2, "")
    assert "--payload" in done.err
    assert dump(shop.path) == before


def test_a_payload_file_that_cannot_be_read_is_named(dura: Command, shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b'"\xe9"')
    for name in ("missing", "latin", "."):
        done = dura("emit", shop.path, "name", "--payload-file", tmp_path / name)
        assert done.code == 2
        assert str(tmp_path) in done.err


def test_standard_input_that_is_closed_is_told(
    dura: Command, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    done = dura("emit", shop.path, "name", "--payload-file", "-")
    assert done.code == 2
    assert "standard input" in done.err


def test_the_run_that_was_seen_must_still_wait_for_it(dura: Command, shop: Shop) -> None:
    run_id = dura("task", shop.path, shop.waiting, "--json").json["task"]["run_id"]
    other = dura("emit", shop.path, "approved:ord_2", "--run", run_id)
    assert other.code == 1
    assert run_id in other.err
    assert dura("emit", shop.path, "approved:ord_1", "--run", run_id).code == 0
    late = dura("emit", shop.path, "approved:ord_1", "--run", run_id)
    assert late.code == 1


@pytest.mark.parametrize("name", ["", "dura.sleep", "\udce9"])
def test_a_name_that_is_none_is_a_usage_error(dura: Command, shop: Shop, name: str) -> None:
    assert dura("emit", shop.path, name).code == 2


def test_a_missing_path_stays_missing(dura: Command, tmp_path: Path) -> None:
    assert dura("emit", tmp_path / "missing.db", "x").code == 3
    assert os.listdir(tmp_path) == []
