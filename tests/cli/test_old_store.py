"""A store of dura 1.3.0: read as it is, acted upon never, upgraded when asked."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cli.shop import Command

FIXTURE = Path(__file__).parent.parent / "fixtures" / "store-1.3.0.db"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(FIXTURE, tmp_path / "old.db"))


def test_every_look_works_and_changes_no_byte(dura: Command, old: Path) -> None:
    before = old.read_bytes()
    failed = dura("tasks", old, "--state", "failed", "--json").json["tasks"][0]["task_id"]
    for look in (
        ["status"], ["tasks"], ["leases"], ["sleeping"], ["events"], ["state"], ["state", "poller"],
        ["state", "poller", "cursor"], ["audit"], ["task", failed],
    ):  # fmt: skip
        command, *rest = look
        for form in ([], ["--json"]):
            assert dura(command, old, *rest, *form).code == 0, look
    assert old.read_bytes() == before
    assert os.listdir(old.parent) == [old.name]


def test_status_says_what_the_file_is_and_what_to_do(dura: Command, old: Path) -> None:
    assert f"dura upgrade {old}" in dura("status", old).out
    report = dura("status", old, "--json").json
    assert report["file"]["origin"] == "1.3.0"
    assert report["totals"]["completed"] == 6
    assert report["counts_exact"] is True


@pytest.mark.parametrize(
    "action",
    [
        ["emit", "approved:waiting"], ["extend", "abcd", "--by", "60"], ["requeue", "abcd"], ["cancel", "abcd"],
        ["wake", "abcd"], ["set-state", "poller", "cursor", "--value", "1"], ["delete-state", "poller", "cursor"], ["cleanup"], ["check"], ["check", "--repair"],
    ],
)  # fmt: skip
def test_whatever_could_write_is_refused_with_the_advice(dura: Command, old: Path, action: list[str]) -> None:
    before = old.read_bytes()
    command, *rest = action
    done = dura(command, old, *rest)
    assert (done.code, done.out) == (3, "")
    assert f"dura upgrade {old}" in done.err
    assert old.read_bytes() == before
    assert os.listdir(old.parent) == [old.name]


def test_upgrade_reports_once_what_it_put_right(
    dura: Command, old: Path, caplog: pytest.LogCaptureFixture
) -> None:
    done = dura("upgrade", old)
    assert (done.code, done.err) == (0, "")
    assert "upgraded the store from dura 1.3.0" in done.out
    assert "ended 3 task(s)" in done.out
    assert "nothing to upgrade" in dura("upgrade", old).out
    assert dura("check", old).code == 0
    assert dura("status", old, "--json").json["file"]["origin"] == "dura"


def test_an_upgrade_and_compaction_in_one_go_in_json(dura: Command, old: Path) -> None:
    done = dura("upgrade", old, "--compact", "--json").json
    assert done["report"][0] == "upgraded the store from dura 1.3.0"
    assert done["compacted"]["size_after"] == old.stat().st_size
