"""Cleanup, check and upgrade: what they do, what they say, and their exit codes."""

from __future__ import annotations

import os
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.shop import Command, Shop
from conftest import dump, plain, rows


@pytest.mark.parametrize("command", ["cleanup", "check", "upgrade"])
def test_a_missing_path_stays_missing(dura: Command, tmp_path: Path, command: str) -> None:
    done = dura(command, tmp_path / "missing.db")
    assert (done.code, done.out) == (3, "")
    assert os.listdir(tmp_path) == []


def test_cleanup_removes_what_ended_longer_ago_and_nothing_else(dura: Command, shop: Shop) -> None:
    before = rows(shop.path, "SELECT * FROM tasks")
    young = dura("cleanup", shop.path)
    assert (young.code, young.err) == (0, "")
    assert "no task ended more than 30d ago" in young.out
    assert rows(shop.path, "SELECT * FROM tasks") == before
    done = dura("cleanup", shop.path, "--older-than", "0", "--json")
    assert (done.code, done.json) == (0, {"removed": 3, "older_than_seconds": 0.0, "before": None})
    left = {task for (task,) in rows(shop.path, "SELECT task_id FROM tasks")}
    assert left == {shop.waiting, shop.running, shop.backing_off, shop.delayed, shop.pending}
    assert dura("check", shop.path).code == 0


def test_a_dry_run_counts_what_the_cleanup_then_removes(dura: Command, shop: Shop) -> None:
    before = dump(shop.path)
    assert "no task ended more than 30d ago" in dura("cleanup", shop.path, "--dry-run").out
    told = dura("cleanup", shop.path, "--older-than", "0", "--dry-run")
    assert told.code == 0
    assert told.out.startswith(
        "would remove 3 tasks that ended more than 0s ago (1 completed, 1 failed, 1 cancelled)"
    )
    counted = dura("cleanup", shop.path, "--older-than", "0", "--dry-run", "--json").json
    assert [counted[name] for name in ("completed", "failed", "cancelled", "capped")] == [1, 1, 1, False]
    assert dump(shop.path) == before
    [command] = re.findall(r"`dura (.*)` removes what was counted", told.err)
    assert dura(*shlex.split(command)).out.startswith("removed 3 tasks ")


def test_a_dry_run_takes_every_age_and_no_moment_still_to_come(dura: Command, shop: Shop) -> None:
    assert "no task ended" in dura("cleanup", shop.path, "--older-than", "1000000d", "--dry-run").out
    done = dura("cleanup", shop.path, "--before", "2100-01-01", "--dry-run")
    assert (done.code, done.out) == (2, "")
    assert "must not be later than now" in done.err


@pytest.mark.parametrize("age", ["30", "soon", "-1d", "1e3d", "99999999999999d", ""])
def test_an_age_without_a_unit_or_sense_removes_nothing(dura: Command, shop: Shop, age: str) -> None:
    before = dump(shop.path)
    assert dura("cleanup", shop.path, f"--older-than={age}").code == 2
    assert dump(shop.path) == before


def test_a_sound_store_is_said_to_be_sound(dura: Command, shop: Shop) -> None:
    done = dura("check", shop.path)
    assert (done.code, done.err) == (0, "")
    assert f"{shop.path} is sound" in done.out
    assert dura("check", shop.path, "--json").json == {
        "path": str(shop.path), "sound": True, "findings": [], "repaired": [], "as_text": [],
    }  # fmt: skip


def test_a_broken_rule_is_named_with_who_breaks_it(dura: Command, shop: Shop) -> None:
    with plain(shop.path) as connection:
        connection.execute("DELETE FROM runs WHERE task_id = ?", (shop.pending,))
    for options in ([], ["--repair"]):
        done = dura("check", shop.path, *options)
        assert done.code == 1
        assert "broken: every task has the state of its latest run" in done.out
        assert shop.pending in done.out
        assert "keep a copy" in done.err
    findings = dura("check", shop.path, "--json").json["findings"]
    assert [shop.pending] in [finding["breaches"] for finding in findings]


def test_wrong_counters_are_found_and_repaired(dura: Command, shop: Shop) -> None:
    with plain(shop.path) as connection:
        connection.execute(
            "UPDATE state SET value = '99' WHERE namespace = 'dura.counts' AND key LIKE '%failed%'"
        )
    found = dura("check", shop.path)
    assert found.code == 1
    assert "--repair" in found.err
    repaired = dura("check", shop.path, "--repair", "--json")
    assert (repaired.code, repaired.json["sound"], len(repaired.json["repaired"])) == (0, True, 1)
    assert dura("check", shop.path).code == 0
    assert dura("status", shop.path, "--json").json["totals"]["failed"] == 1


def test_a_damaged_file_is_no_traceback(dura: Command, shop: Shop) -> None:
    whole = shop.path.read_bytes()
    shop.path.write_bytes(whole[:8192] + b"\x5a" * 40_000 + whole[48_192:])
    for command in ("check", "status", "tasks"):
        done = dura(command, shop.path)
        assert (done.code, done.out) == (3, "")
        assert f"{shop.path} is damaged" in done.err


def test_an_upgrade_with_nothing_to_do_says_so(dura: Command, shop: Shop) -> None:
    done = dura("upgrade", shop.path)
    assert (done.code, done.err) == (0, "")
    assert "nothing to upgrade" in done.out
    assert dura("upgrade", shop.path, "--json").json == {
        "path": str(shop.path), "report": [], "compacted": None,
    }  # fmt: skip


def test_compacting_gives_back_what_cleanup_freed(dura: Command, shop: Shop) -> None:
    with plain(shop.path) as connection:
        connection.execute("PRAGMA auto_vacuum=NONE")
        connection.execute("VACUUM")
        connection.execute(
            "UPDATE tasks SET params = json_array(hex(zeroblob(400000))) WHERE state = 'completed'"
        )
    assert dura("cleanup", shop.path, "--older-than", "0").code == 0
    before = dump(shop.path)
    sizes = dura("upgrade", shop.path, "--compact", "--json").json["compacted"]
    assert sizes["size_after"] < sizes["size_before"]
    assert sizes["size_after"] == shop.path.stat().st_size
    assert dump(shop.path) == before
    assert "compacted" in dura("upgrade", shop.path, "--compact").out


def test_cleanup_finds_the_file_as_old_as_its_tasks_say(dura: Command, shop: Shop) -> None:
    with plain(shop.path) as connection:
        old = datetime(2020, 1, 1, tzinfo=UTC).isoformat(timespec="microseconds")
        connection.execute("UPDATE tasks SET terminal_at = ? WHERE task_id = ?", (old, shop.failed))
    assert dura("cleanup", shop.path).out.startswith("removed 1 task ")
