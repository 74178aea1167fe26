"""Commands that act on tasks: done, refused, compared with what was seen, confirmed, and written to the audit."""

from __future__ import annotations

import getpass
import json
import os
import pty
import socket
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cli.shop import Command, Shop, claim_and_fail
from conftest import claim, dump, rows
from dura import DurableEngine

ACTIONS = {
    "extend": ["--by", "60"],
    "requeue": [],
    "cancel": [],
    "wake": [],
}


def state_of(shop: Shop, task_id: str) -> str:
    return str(rows(shop.path, "SELECT state FROM tasks WHERE task_id = ?", task_id)[0][0])


@pytest.mark.parametrize("action", ACTIONS)
def test_acting_on_a_missing_path_makes_no_file(dura: Command, tmp_path: Path, action: str) -> None:
    done = dura(action, tmp_path / "missing.db", "abcd", *ACTIONS[action])
    assert (done.code, done.out) == (3, "")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("action", ACTIONS)
def test_an_unknown_task_is_not_found_and_nothing_changes(dura: Command, shop: Shop, action: str) -> None:
    before = dump(shop.path)
    done = dura(action, shop.path, "zzzz", *ACTIONS[action])
    assert (done.code, done.out) == (1, "")
    assert "'zzzz'" in done.err
    assert dump(shop.path) == before


@pytest.mark.parametrize("action", ACTIONS)
def test_a_completed_task_refuses_every_action_with_its_state(dura: Command, shop: Shop, action: str) -> None:
    before = dump(shop.path)
    done = dura(action, shop.path, shop.completed, *ACTIONS[action])
    assert (done.code, done.out) == (1, "")
    assert f"cannot {action}" in done.err
    assert shop.completed in done.err
    assert "completed" in done.err
    assert dump(shop.path) == before


@pytest.mark.parametrize("action", ACTIONS)
def test_an_ambiguous_part_acts_on_nothing(dura: Command, shop: Shop, action: str) -> None:
    before = dump(shop.path)
    done = dura(action, shop.path, shop.failed[:6], *ACTIONS[action])
    assert done.code == 1
    assert shop.failed in done.err
    assert dump(shop.path) == before


def test_extend_lets_a_lease_end_later_and_never_sooner(dura: Command, shop: Shop) -> None:
    done = dura("extend", shop.path, shop.running[-8:], "--by", "15m", "--json")
    outcome = done.json["outcomes"][0]
    assert (done.code, outcome["done"], outcome["task_id"]) == (0, True, shop.running)
    (expires_at,) = rows(shop.path, "SELECT claim_expires_at FROM runs WHERE state = 'running'")[0]
    assert outcome["lease_ends_at"] == expires_at
    done = dura("extend", shop.path, shop.running, "--by", "5")
    assert "ends later than that already" in done.out
    assert rows(shop.path, "SELECT claim_expires_at FROM runs WHERE state = 'running'") == [(expires_at,)]


def test_a_refused_extension_says_once_that_it_cannot_be_done(dura: Command, shop: Shop) -> None:
    done = dura("extend", shop.path, shop.pending, "--by", "60")
    assert done.code == 1
    assert done.err.count("cannot extend") == 1
    assert shop.pending in done.err


def test_extend_takes_a_run_and_refuses_it_once_the_task_has_moved_on(dura: Command, shop: Shop) -> None:
    runs = dura("task", shop.path, shop.backing_off, "--json").json["attempts"]
    running = dura("task", shop.path, shop.running, "--json").json["task"]["run_id"]
    assert dura("extend", shop.path, running, "--by", "60").code == 0
    done = dura("extend", shop.path, runs[0]["run_id"], "--by", "60")
    assert done.code == 1
    assert shop.backing_off in done.err


def test_requeue_gives_a_failed_task_an_attempt_and_keeps_its_steps(dura: Command, shop: Shop) -> None:
    done = dura("requeue", shop.path, shop.failed, "--json")
    outcome = done.json["outcomes"][0]
    assert (done.code, outcome["attempt"], outcome["before"]) == (0, 2, "failed")
    assert state_of(shop, shop.failed) == "pending"
    assert len(rows(shop.path, "SELECT 1 FROM checkpoints WHERE task_id = ?", shop.failed)) == 3


@pytest.mark.parametrize(
    ("options", "kept"), [(["--from-step", "parse"], ["load"]), (["--from-scratch"], [])]
)
def test_requeue_drops_the_steps_it_is_told_to(
    dura: Command, shop: Shop, options: list[str], kept: list[str]
) -> None:
    assert dura("requeue", shop.path, shop.failed, *options).code == 0
    found = rows(shop.path, "SELECT checkpoint_name FROM checkpoints WHERE task_id = ?", shop.failed)
    assert [name for (name,) in found] == kept


def test_requeue_from_a_step_that_is_not_finished_is_refused(dura: Command, shop: Shop) -> None:
    done = dura("requeue", shop.path, shop.failed, "--from-step", "send")
    assert done.code == 1
    assert "'load', 'parse', 'store'" in done.err


def test_a_run_that_was_named_is_not_the_latest_any_more(dura: Command, shop: Shop) -> None:
    seen = dura("task", shop.path, shop.failed, "--json").json["task"]["run_id"]
    assert dura("requeue", shop.path, seen).code == 0
    assert dura("cancel", shop.path, shop.pending).code == 0
    claim_and_fail(shop.path, "import_report")
    done = dura("requeue", shop.path, seen)
    assert done.code == 1
    assert "moved on to attempt 2" in done.err


def test_what_the_command_saw_is_compared_before_it_acts(
    dura: Command, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dura.cli.acting._confirm", lambda *_: _move_on(shop))
    done = dura("requeue", shop.path, shop.failed)
    assert done.code == 1
    assert "moved on" in done.err
    assert rows(shop.path, "SELECT attempts FROM tasks WHERE task_id = ?", shop.failed) == [(2,)]


def _move_on(shop: Shop) -> None:
    engine = DurableEngine(shop.path)
    engine.requeue_task(shop.failed)
    assert claim(engine).task_id in (shop.failed, shop.pending)
    engine.cancel_task(shop.failed)
    engine.close()


def test_several_tasks_are_each_reported_and_one_refusal_decides_the_code(dura: Command, shop: Shop) -> None:
    done = dura("cancel", shop.path, shop.pending, shop.completed, "zzzz", shop.running[-8:], shop.running)
    assert done.code == 1
    assert len(done.out.splitlines()) == 2, "each task once"
    assert "its handler learns of it" in done.out
    assert shop.completed in done.err
    assert "zzzz" in done.err
    assert [state_of(shop, task) for task in (shop.pending, shop.running)] == ["cancelled", "cancelled"]
    again = dura("cancel", shop.path, shop.pending, shop.waiting, "--json")
    assert [outcome["done"] for outcome in again.json["outcomes"]] == [False, True]
    assert again.json["action"] == "cancel"


def test_a_reader_that_leaves_does_not_spare_the_tasks_that_are_left(shop: Shop) -> None:
    engine = DurableEngine(shop.path, synchronous="NORMAL")
    ids = [engine.spawn_task(name="remind", params=None).task_id for _ in range(150)]
    engine.close()
    process = subprocess.Popen(
        [sys.executable, "-m", "dura", "cancel", shop.path, *ids], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    _, complaint = process.communicate(timeout=60)
    assert (process.returncode, complaint) == (0, b"")
    found = rows(
        shop.path,
        "SELECT DISTINCT state FROM tasks WHERE task_id IN (SELECT value FROM json_each(?))",
        json.dumps(ids),
    )
    assert found == [("cancelled",)]


def test_wake_cuts_delays_and_backoffs_short_but_no_event(dura: Command, shop: Shop) -> None:
    done = dura("wake", shop.path, shop.backing_off, shop.delayed)
    assert done.code == 0
    assert [state_of(shop, task) for task in (shop.backing_off, shop.delayed)] == ["pending", "pending"]
    done = dura("wake", shop.path, shop.waiting)
    assert done.code == 1
    assert "'approved:ord_1': emit it" in done.err


def test_every_action_says_who_acted_and_why(
    dura: Command, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "203.0.113.9 50000 10.0.0.1 22")
    assert dura("extend", shop.path, shop.running, "--by", "600", "--reason", "slow bank").code == 0
    assert dura("requeue", shop.path, shop.failed, "--reason", "bank is back").code == 0
    assert dura("wake", shop.path, shop.delayed, "--actor", "cron").code == 0
    assert dura("cancel", shop.path, shop.pending).code == 0
    entries = [row["value"] for row in dura("audit", shop.path, "--json").json["audit"]]
    assert [entry["action"] for entry in entries] == ["cancel", "wake", "requeue", "extend"]
    assert entries[0]["actor"] == f"{getpass.getuser()}@{socket.gethostname()} (ssh from 203.0.113.9)"
    assert entries[1]["actor"] == "cron"
    assert [entry["reason"] for entry in entries] == [None, None, "bank is back", "slow bank"]


@pytest.mark.parametrize(
    ("answer", "code", "state"), [("y\n", 0, "cancelled"), ("n\n", 1, "pending"), ("\n", 1, "pending")]
)
def test_several_tasks_are_confirmed_on_a_terminal(shop: Shop, answer: str, code: int, state: str) -> None:
    master, slave = pty.openpty()
    os.write(master, answer.encode())
    try:
        done = subprocess.run(
            [sys.executable, "-m", "dura", "cancel", shop.path, shop.pending, shop.delayed],
            stdin=slave, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    finally:
        os.close(master)
        os.close(slave)
    assert done.returncode == code
    assert "cancel these 2 tasks? [y/N]" in done.stderr
    assert shop.pending[-8:] in done.stderr
    assert state_of(shop, shop.pending) == state


def test_one_task_and_yes_are_not_asked_about(shop: Shop) -> None:
    for ids in ([shop.pending], [shop.delayed, shop.backing_off, "--yes"]):
        master, slave = pty.openpty()
        try:
            subprocess.run(
                [sys.executable, "-m", "dura", "cancel", shop.path, *ids],
                stdin=slave, capture_output=True, timeout=60, check=True,
            )  # fmt: skip
        finally:
            os.close(master)
            os.close(slave)


def test_a_store_that_is_locked_is_busy_after_the_lock_timeout(dura: Command, shop: Shop) -> None:
    engine = DurableEngine(shop.path)

    def while_locked(_: object) -> None:
        done = dura("cancel", shop.path, shop.pending, "--lock-timeout", "0.1", "--json")
        assert (done.code, done.out) == (3, "")
        assert str(shop.path) in done.err

    engine.update_state(namespace="test", key="lock", fn=while_locked)
    engine.close()
    assert dura("cancel", shop.path, shop.pending, "--lock-timeout", "100ms").code == 0


def test_the_lease_that_extend_grants_begins_now(dura: Command, shop: Shop) -> None:
    before = datetime.fromisoformat(dura("status", shop.path, "--json").json["taken_at"])
    ends_at = dura("extend", shop.path, shop.running, "--by", "1h", "--json").json["outcomes"][0][
        "lease_ends_at"
    ]
    granted = datetime.fromisoformat(ends_at) - before
    assert timedelta(hours=1) <= granted < timedelta(hours=1, minutes=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["extend", "abcd", "--by", "0"],
        ["extend", "abcd", "--by", "soon"],
        ["extend", "abcd", "--by", "-5"],
        ["extend", "abcd"],
        ["requeue", "abcd", "--from-step", "a", "--from-scratch"],
        ["cancel"],
        ["cancel", "abcd", "--lock-timeout", "x"],
        ["wake", "ab"],
    ],
)
def test_a_wrong_command_line_does_nothing(dura: Command, shop: Shop, arguments: list[str]) -> None:
    before = dump(shop.path)
    action, *rest = [shop.running if argument == "abcd" else argument for argument in arguments]
    done = dura(action, shop.path, *rest)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) <= 2
    assert dump(shop.path) == before


def test_an_empty_actor_is_refused_before_anything_happens(dura: Command, shop: Shop) -> None:
    assert dura("cancel", shop.path, shop.pending, "--actor", "").code == 2
    assert state_of(shop, shop.pending) == "pending"
