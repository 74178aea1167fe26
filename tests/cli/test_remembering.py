"""State set and deleted by hand, claims named beside their runs, and what cleanup leaves in the audit."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.shop import Command, Shop
from conftest import claim, dump, rows
from dura import DurableEngine
from dura.clock import system_clock


def value(shop: Shop, key: str) -> Any:
    found = rows(shop.path, "SELECT value FROM state WHERE namespace = 'poller' AND key = ?", key)
    return json.loads(found[0][0]) if found else None


def last_entry(shop: Shop) -> dict[str, Any]:
    [(entry,)] = rows(
        shop.path, "SELECT value FROM state WHERE namespace = 'dura.audit' ORDER BY key DESC LIMIT 1"
    )
    return dict(json.loads(entry))


def test_a_key_is_set_with_who_why_and_what_was_there(dura: Command, shop: Shop) -> None:
    done = dura(
        "set-state",
        shop.path,
        "poller",
        "cursor",
        "--value",
        '{"page": 4}',
        "--actor",
        "ann",
        "--reason",
        "skip",
    )
    assert (done.code, done.out) == (0, "set poller/cursor\n")
    assert value(shop, "cursor") == {"page": 4}
    entry = last_entry(shop)
    assert {name: entry[name] for name in ("actor", "action", "target", "before", "after", "reason")} == {
        "actor": "ann", "action": "set", "target": "poller/cursor", "before": '{"page": 3}',
        "after": '{"page": 4}', "reason": "skip",
    }  # fmt: skip
    assert "set" in dura("audit", shop.path).out


def test_a_value_comes_from_a_file_as_well(dura: Command, shop: Shop, tmp_path: Path) -> None:
    file = tmp_path / "value.json"
    file.write_text("[1, 2]")
    done = dura("set-state", shop.path, "poller", "new", "--value-file", file, "--json")
    assert (done.code, done.json) == (0, {"namespace": "poller", "key": "new", "done": "set"})
    assert value(shop, "new") == [1, 2]


def test_a_name_that_begins_with_a_hyphen_stands_behind_two(dura: Command, shop: Shop) -> None:
    done = dura("set-state", "--value=1", "--reason=-r", "--", shop.path, "-n", "--k")
    assert (done.code, done.out) == (0, "set -n/--k\n")
    assert rows(shop.path, "SELECT value FROM state WHERE namespace = '-n' AND key = '--k'") == [("1",)]


def test_what_was_written_since_it_was_seen_is_refused(dura: Command, shop: Shop) -> None:
    seen = dura("state", shop.path, "poller", "cursor", "--json").json["updated_at"]
    assert dura("set-state", shop.path, "poller", "cursor", "--value", "1", "--seen-at", seen).code == 0
    before = dump(shop.path)
    for command in (["set-state", "--value=2"], ["delete-state"]):
        done = dura(command[0], shop.path, "poller", "cursor", *command[1:], "--seen-at", seen)
        assert (done.code, done.out) == (1, "")
        assert "it was written again since" in done.err
    assert dump(shop.path) == before


def test_a_key_is_deleted_once(dura: Command, shop: Shop) -> None:
    assert dura("delete-state", shop.path, "poller", "note").code == 0
    assert value(shop, "note") is None
    done = dura("delete-state", shop.path, "poller", "note")
    assert done.code == 1
    assert "has no state 'poller/note'" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["poller", "cursor"], "--value"),
        (["poller", "cursor", "--value", "yes"], "is no JSON"),
        (["poller", "cursor", "--value", "1", "--seen-at", "soon"], "no time as ISO text"),
        (["dura.audit", "x", "--value", "1"], "reserved"),
    ],
)
def test_what_cannot_be_set_changes_nothing(
    dura: Command, shop: Shop, arguments: list[str], said: str
) -> None:
    before = dump(shop.path)
    done = dura("set-state", shop.path, *arguments)
    assert done.code == 2
    assert said in done.err
    assert dump(shop.path) == before


# --- claims and moments -----------------------------------------------------------------------------------------------


def run_of(shop: Shop, task_id: str) -> tuple[str, int]:
    [(run_id, token)] = rows(shop.path, "SELECT run_id, claim_token FROM runs WHERE task_id = ?", task_id)
    return run_id, token


@pytest.mark.parametrize("action", [["extend", "--by", "9000"], ["cancel"]])
def test_a_claim_that_was_seen_is_acted_upon_and_no_later_one(
    dura: Command, shop: Shop, action: list[str]
) -> None:
    run_id, token = run_of(shop, shop.running)
    later = DurableEngine(shop.path, clock=lambda: system_clock() + timedelta(hours=1))
    while claim(later, worker_id="other").run_id != run_id:
        pass
    later.close()
    before = dump(shop.path)
    stale = dura(action[0], shop.path, f"{run_id}@{token}", *action[1:])
    assert (stale.code, stale.out) == (1, "")
    assert "has been claimed again since" in stale.err
    assert dump(shop.path) == before
    assert dura(action[0], shop.path, f"{run_id}@{token + 1}", *action[1:]).code == 0


def test_a_claim_is_named_where_claims_are_compared_only(dura: Command, shop: Shop) -> None:
    before = dump(shop.path)
    run_id, token = run_of(shop, shop.delayed)
    done = dura("wake", shop.path, f"{run_id}@{token}")
    assert done.code == 2
    assert "wake compares the run alone" in done.err
    assert dura("cancel", shop.path, "nowhere@1").code == 1
    assert dump(shop.path) == before


def test_a_lease_is_extended_to_a_moment(dura: Command, shop: Shop) -> None:
    until = system_clock() + timedelta(hours=3)
    done = dura("extend", shop.path, shop.running, "--until", until.isoformat(), "--json").json["outcomes"][0]
    assert abs((datetime.fromisoformat(done["lease_ends_at"]) - until).total_seconds()) < 30
    past = dura("extend", shop.path, shop.running, "--until", "2026-01-01")
    assert past.code == 2
    assert "later than now" in past.err


def test_cleanup_by_a_moment_is_audited(dura: Command, shop: Shop) -> None:
    moment = system_clock()
    done = dura("cleanup", shop.path, "--before", moment.isoformat(), "--reason", "disk", "--json")
    text = moment.isoformat(timespec="microseconds")
    assert done.json == {"removed": 3, "older_than_seconds": None, "before": text}
    entry = last_entry(shop)
    assert (entry["action"], entry["target"], entry["after"], entry["reason"]) == (
        "cleanup", f"tasks that ended before {text}", "removed 3", "disk",
    )  # fmt: skip
    assert "no task ended before" in dura("cleanup", shop.path, "--before", moment.isoformat()).out
    assert dura("cleanup", shop.path, "--before", "2999-01-01").code == 2
