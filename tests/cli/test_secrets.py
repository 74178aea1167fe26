"""No command shows a secret unless it is told to, and none takes the mark of a hidden one for a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.shop import Command
from conftest import dump, started
from dura import DurableEngine
from dura.cli.commands import _LOOKING

SECRET = "hunter2-qX7"


@pytest.fixture
def failed(path: Path) -> str:
    """The id of a task that failed, in a store with the secret in every kind of value."""
    engine = DurableEngine(path)
    task = started(engine, max_attempts=1, params={"user": "ann", "password": SECRET})
    engine.checkpoint(task_id=task.task_id, step_name="fetch_token", fn=lambda: SECRET)
    engine.fail_run(run_id=task.run_id, reason={"type": "Refused", "message": f"token={SECRET} was refused"})
    engine.emit_event(event_name="otp:7", payload=SECRET, actor="ann", reason=f"token: {SECRET}")
    engine.set_state(namespace="stripe", key="api_key", value={"live": SECRET, "limit": None}, actor="ann")
    engine.close()
    return task.task_id


def commands(failed: str) -> list[list[str]]:
    """Every command that looks and would show the secret."""
    return [
        ["status"], ["tasks"], ["task", failed], ["events"], ["state", "stripe"], ["state", "stripe", "api_key"], ["audit"],
        ["state", "dura.audit"],
    ]  # fmt: skip


@pytest.mark.parametrize("json", [[], ["--json"]], ids=["table", "json"])
def test_no_looking_command_shows_a_secret_and_each_says_how_to_see_it(
    dura: Command, path: Path, failed: str, json: list[str]
) -> None:
    for command, *rest in commands(failed):
        done = dura(command, path, *rest, *json)
        assert done.code == 0
        assert SECRET not in done.out + done.err
        assert "[hidden]" in done.out, command
        assert done.err.count("--reveal shows it") == 1, command


@pytest.mark.parametrize("json", [[], ["--json"]], ids=["table", "json"])
def test_reveal_shows_what_is_hidden_and_says_nothing_of_it(
    dura: Command, path: Path, failed: str, json: list[str]
) -> None:
    for command, *rest in commands(failed):
        done = dura(command, path, *rest, *json, "--reveal")
        assert done.code == 0
        assert SECRET in done.out, command
        assert "[hidden]" not in done.out
        assert "--reveal" not in done.err


def test_a_hidden_value_keeps_its_shape_in_json(dura: Command, path: Path, failed: str) -> None:
    found = dura("state", path, "stripe", "api_key", "--json").json
    assert found["value"] == {"live": "[hidden]", "limit": None}
    assert found["as_text"] == []
    assert dura("task", path, failed, "--json").json["params"] == {"user": "ann", "password": "[hidden]"}


def test_where_nothing_is_hidden_nothing_is_said(dura: Command, path: Path) -> None:
    engine = DurableEngine(path)
    engine.set_state(namespace="poller", key="cursor", value={"page": 3})
    engine.close()
    for command in (["status"], ["tasks"], ["state", "poller"]):
        assert "--reveal" not in dura(command[0], path, *command[1:]).err


def test_every_looking_command_takes_reveal(dura: Command, path: Path, failed: str) -> None:
    for command in _LOOKING:
        assert (
            command.parser()
            .parse_args([str(path), *([failed] if command.name == "task" else []), "--reveal"])
            .reveal
        )


def test_names_of_one_s_own_come_from_the_environment(
    dura: Command, path: Path, failed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DURA_HIDE", "user")
    monkeypatch.setenv("DURA_SHOW", "password")
    found = dura("task", path, failed, "--json").json
    assert found["params"] == {"user": "[hidden]", "password": SECRET}
    monkeypatch.setenv("DURA_HIDE", "user,-")
    done = dura("task", path, failed)
    assert (done.code, done.out) == (2, "")
    assert "DURA_HIDE has the pattern '-'" in done.err


def test_a_search_finds_what_is_hidden_and_does_not_show_it(dura: Command, path: Path, failed: str) -> None:
    done = dura("tasks", path, "--text", SECRET)
    assert failed in done.out
    assert SECRET not in done.out


@pytest.mark.parametrize(
    "value", ['"[hidden]"', '{"api_key": "[hidden]", "n": 1}', '["db://ann:[hidden]@db"]']
)
def test_the_mark_of_something_hidden_is_never_written_as_a_value(
    dura: Command, path: Path, failed: str, value: str
) -> None:
    copied = path.with_name("value.json")
    copied.write_text(value)
    before = dump(path)
    refused: list[list[str | Path]] = [
        ["emit", path, "go", "--payload", value],
        ["emit", path, "go", "--payload-file", copied],
        ["set-state", path, "stripe", "api_key", "--value", value],
        ["set-state", path, "stripe", "api_key", "--value-file", copied],
    ]
    for arguments in refused:
        done = dura(*arguments)
        assert (done.code, done.out) == (2, "")
        assert "holds [hidden]" in done.err
        assert "--reveal" in done.err
    assert dump(path) == before


def test_what_a_hidden_value_became_since_is_not_told_by_a_refusal(
    dura: Command, path: Path, failed: str
) -> None:
    done = dura(
        "set-state", path, "stripe", "api_key", "--value", "1", "--seen-at", "2026-01-01T00:00:00+00:00"
    )
    assert done.code == 1
    assert SECRET not in done.err
