"""The monitor shows no secret unless it is told to, says so, and never writes back the mark of a hidden one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Input, TextArea

from conftest import ManualClock, dump
from dura import DurableEngine
from dura.redaction import MARK, Redaction
from dura_tui.cli import main
from dura_tui.keys import VIEW_KEYS
from dura_tui.operators import Operator
from dura_tui.orders import Target, order_for
from dura_tui.payload import parse_payload
from dura_tui.widgets.editor import fillable
from secret_store import SECRET, fill
from tui.harness import Screen, go_to, monitor, running, says, table, text, until, view

WIDE = (200, 50)


@pytest.fixture
def failed(engine: DurableEngine) -> str:
    """The id of a task that failed, in a store with the secret in every kind of value."""
    return fill(engine)


async def all_views(pilot: Screen, task_id: str) -> str:
    """What the views show, one after the other, a task and the keys of a namespace among them."""
    seen = []
    for key in VIEW_KEYS:
        await pilot.press(key.key)
        await until(pilot, lambda: table(pilot).row_count > 0 or "No" in text(pilot))
        seen.append(text(pilot))
    await go_to(pilot, "4", task_id)
    await pilot.press("enter")
    await until(pilot, lambda: view(pilot).id == "detail" and table(pilot).row_count > 0)
    for _ in range(table(pilot).row_count):
        await pilot.press("j")
        seen.append(text(pilot))
    await pilot.press("6")
    for namespace in ("stripe", "app.secrets"):
        view(pilot).query_one("#state-namespaces").focus()
        await until(pilot, lambda: f"namespace\0{namespace}" in table(pilot).keys)  # noqa: B023
        table(pilot).move_to(f"namespace\0{namespace}")
        await says(pilot, {"stripe": "api_key", "app.secrets": "paypal"}[namespace])
        seen.append(text(pilot))
    return "\n".join(seen)


async def test_no_view_shows_a_secret_and_the_title_says_how_to_see_it(
    path: Path, engine: DurableEngine, clock: ManualClock, failed: str
) -> None:
    async with running(path, clock, size=WIDE) as pilot:
        seen = await all_views(pilot, failed)
        assert SECRET not in seen
        assert seen.count(MARK) > 10
        assert "secrets hidden (--reveal)" in text(pilot).splitlines()[0]


async def test_revealed_everything_is_shown_and_nothing_is_said_of_it(
    path: Path, engine: DurableEngine, clock: ManualClock, failed: str
) -> None:
    async with running(path, clock, size=WIDE, redaction=None) as pilot:
        seen = await all_views(pilot, failed)
        assert seen.count(SECRET) > 10
        assert MARK not in seen
        assert "--reveal" not in seen


async def test_where_nothing_is_hidden_nothing_is_said(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.set_state(namespace="poller", key="cursor", value={"page": 3, "tokens_used": 5})
    async with running(path, clock) as pilot:
        await pilot.press("6")
        await says(pilot, "cursor")
        assert "--reveal" not in text(pilot)


async def test_a_value_read_in_full_says_how_to_see_it_and_is_copied_as_it_is_shown(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.set_state(namespace="stripe", key="account", value={"api_key": SECRET, "limit": 5})
    async with running(path, clock) as pilot:
        await go_to(pilot, "6", "namespace\0stripe")
        await pilot.press("enter")
        await until(pilot, lambda: table(pilot).key == "account")
        await pilot.press("enter")
        await says(pilot, '"api_key": "[hidden]"', "start with --reveal")
        await pilot.press("y")
        await until(pilot, lambda: monitor(pilot).clipboard)
        assert json.loads(monitor(pilot).clipboard) == {"api_key": MARK, "limit": 5}
        await pilot.press("slash", *"hunter", "enter")
        await says(pilot, "nothing has hunter")


async def test_the_rules_of_the_command_line_are_those_of_the_screen(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.set_state(namespace="shop", key="settings", value={"iban": SECRET, "session": "shown"})
    async with running(
        path, clock, size=WIDE, redaction=Redaction(hide=("iban",), show=("session",))
    ) as pilot:
        await pilot.press("6")
        await says(pilot, '"iban": "[hidden]"', '"session": "shown"')


# --- never written back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [(f'"{MARK}"', 1), (f'{{\n "a": [\n  "db://ann:{MARK}@db"\n ]\n}}', 3), (f'{{"{MARK}": 1}}', 1)],
)
def test_a_value_with_the_mark_of_something_hidden_is_refused_while_it_is_typed(text: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"^\[hidden\] at line {line} stands for a value that is not shown"):
        parse_payload(text)


def test_a_mark_written_with_escapes_is_one_too() -> None:
    with pytest.raises(ValueError, match="is not shown"):
        parse_payload('"\\u005bhidden]"')


def test_what_is_hidden_is_null_in_a_payload_to_begin_with() -> None:
    payload = json.dumps({"by": "ann", "token": MARK, "url": f"db://ann:{MARK}@db", "list": [1, MARK]})
    assert json.loads(fillable(payload)) == {"by": "ann", "token": None, "url": None, "list": [1, None]}
    assert fillable(f"no JSON, {MARK}") == "null"
    assert fillable('{"by": "ann"}') == '{\n  "by": "ann"\n}'


async def test_a_payload_like_a_hidden_one_begins_with_null_and_is_emitted_without_the_mark(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.emit_event(event_name="login:1", payload={"by": "ann", "token": SECRET})
    async with running(path, clock, size=(120, 40)) as pilot:
        await pilot.press("e")
        await says(pilot, "Give the event a name.")
        pilot.app.screen.query_one("#event", Input).value = "login:2"
        await says(pilot, "Payload like that of login:1", '"token": null')
        pilot.app.screen.query_one("#payload").focus()
        await pilot.press("ctrl+t")
        await says(pilot, "Payload of login:1", "fill in what is hidden", '"by": "ann"', '"token": null')
        assert SECRET not in text(pilot)
        assert MARK not in pilot.app.screen.query_one("#payload", TextArea).text
        await pilot.press("ctrl+s")
        await says(pilot, "Emit this event?")
        await pilot.press("y")
        await says(pilot, "✓ emitted login:2")
    payload = next(row[2] for row in dump(path)["events"] if row[1] == "login:2")
    assert json.loads(payload) == {"by": "ann", "token": None}


async def test_a_mark_that_was_copied_from_the_screen_cannot_be_emitted(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    before = dump(path)
    async with running(path, clock, size=(120, 40)) as pilot:
        await pilot.press("e")
        await says(pilot, "Give the event a name.")
        pilot.app.screen.query_one("#event", Input).value = "login:2"
        pilot.app.screen.query_one("#payload", TextArea).text = f'{{"token": "{MARK}"}}'
        await says(pilot, "stands for a value that is not shown")
        await pilot.press("ctrl+s", "y", "enter")
        assert "Emit this event?" not in text(pilot)
    assert dump(path) == before


@pytest.mark.parametrize("value", [MARK, {"token": MARK}, [f"db://ann:{MARK}@db"]])
def test_no_order_writes_the_mark_whatever_dialog_it_comes_from(
    path: Path, engine: DurableEngine, value: object
) -> None:
    engine.set_state(namespace="stripe", key="account", value={"token": SECRET})
    before = dump(path)
    operator = Operator(str(path), actor="test")
    for order in (
        order_for("emit", Target(), event_name="login:2", payload=value),
        order_for("set", Target(namespace="stripe", key="account"), value=value),
    ):
        outcome = operator.carry_out(order)
        assert (outcome.done, outcome.refused) == (False, True)
        assert MARK in outcome.text
    assert dump(path) == before


async def test_a_hidden_value_is_edited_only_once_its_marks_are_replaced(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.set_state(namespace="stripe", key="account", value={"token": SECRET, "limit": 5})
    before = dump(path)
    async with running(path, clock, size=(120, 40)) as pilot:
        await go_to(pilot, "6", "namespace\0stripe")
        await pilot.press("enter")
        await until(pilot, lambda: table(pilot).key == "account")
        await pilot.press("E")
        await says(pilot, '"token": "[hidden]"', "stands for a value that is not shown")
        assert SECRET not in text(pilot)
        await pilot.press("ctrl+s")
        assert "Set this value?" not in text(pilot)
        assert dump(path) == before
        pilot.app.screen.query_one("#value", TextArea).text = '{"token": "new", "limit": 5}'
        await pilot.press("ctrl+s")
        await says(pilot, "Set this value?")
        assert SECRET not in text(pilot)
        await pilot.press("y")
        await says(pilot, "✓ set stripe/account")
        assert engine.get_state(namespace="stripe", key="account")["token"] == "new"
        await pilot.press("a")
        await says(pilot, "stripe/account")
        assert SECRET not in text(pilot)


# --- one look --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["--once", "--json"])
def test_one_look_shows_no_secret_unless_it_is_told_to(
    path: Path, engine: DurableEngine, failed: str, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert main([str(path), form]) == 0
    hidden = capsys.readouterr()
    assert SECRET not in hidden.out
    assert MARK in hidden.out
    assert "--reveal shows it" in hidden.err
    assert main([str(path), form, "--reveal"]) == 0
    shown = capsys.readouterr()
    assert SECRET in shown.out
    assert shown.err == ""


def test_a_pattern_that_matches_nothing_ends_the_monitor_before_it_begins(
    path: Path, engine: DurableEngine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DURA_HIDE", "--")
    assert main([str(path), "--once"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "DURA_HIDE has the pattern '--'" in told.err
