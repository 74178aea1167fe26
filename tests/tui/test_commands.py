"""The command that an action shows does the same, on a copy of the store, through a real shell where names are hostile."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.shop import stock
from conftest import dump, rows
from dura import DurableEngine
from dura.actor import present_actor
from dura.cli import main
from dura.clock import from_text, system_clock
from dura.monitor import Monitor
from dura.records import TaskQuery, Want
from dura_tui.commands import quoted
from dura_tui.operators import Operator
from dura_tui.orders import Order, Target, order_for
from dura_tui.screens.state import key_target
from dura_tui.screens.view import task_target

NAMES = ('it\'s "q" $x `y` \\', "-dash", "a\x1b[31m\nb\tc", "ü ☃ \u202e", "x=y --payload=1", "*", "~")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("commands") / "-a store's.db"
    stock(path)
    return path


def copied(path: Path, folder: Path) -> Path:
    folder.mkdir()
    return Path(shutil.copy(path, folder / path.name))


def target(path: Path, state: str, name: str) -> Target:
    """A task as the screen shows it."""
    with Monitor(path) as monitor:
        page = monitor.snapshot(Want(tasks=TaskQuery(state=state, name=name))).tasks
    assert page is not None
    return task_target(page.tasks[0])


def key(path: Path) -> Target:
    with Monitor(path) as monitor:
        [row] = monitor.snapshot(Want(namespace="poller", state_key="cursor")).state
    return key_target(row)


def alike(path: Path, before: Path) -> dict[str, list[Any]]:
    """Everything in the store, but for ids and times that are new."""
    known = {str(value) for table in dump(before).values() for row in table for value in row}

    def plain(value: object) -> object:
        if not isinstance(value, str) or value in known:
            return value
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", lambda found: _kept(found[0], known), value)
        return re.sub(r"\b[0-9a-f]{32}\b", lambda found: _kept(found[0], known), text)

    return {table: [tuple(map(plain, row)) for row in found] for table, found in dump(path).items()}


def _kept(text: str, known: set[str]) -> str:
    return text if text in known else "…"


Make = Callable[[Path], Order]

ORDERS: dict[str, Make] = {
    "emit": lambda path: order_for(
        "emit", target(path, "sleeping", "charge_order"), event_name="approved:ord_1", payload={"by": "o'neil", "n": [1, None]}
    ),
    "emit another": lambda path: order_for("emit", None, event_name="nobody:waits", payload=None),
    "extend": lambda path: order_for(
        "extend", target(path, "running", "nightly"), until=system_clock() + timedelta(days=2)
    ),
    "requeue": lambda path: order_for("requeue", target(path, "failed", "*")),
    "requeue from a step": lambda path: order_for("requeue", target(path, "failed", "*"), from_step="parse"),
    "requeue from scratch": lambda path: order_for("requeue", target(path, "failed", "*"), keep_checkpoints=False),
    "cancel": lambda path: order_for("cancel", target(path, "running", "nightly")),
    "wake": lambda path: order_for("wake", target(path, "sleeping", "sync")),
    "set": lambda path: order_for("set", key(path), value={"page": "two\n", "ü": 1e3}),
    "delete": lambda path: order_for("delete", key(path)),
    "cleanup": lambda path: order_for("cleanup", None, before=system_clock()),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("stale", [False, True], ids=["as seen", "moved on"])
def test_the_command_of_an_action_leaves_what_the_action_leaves(
    name: str, stale: bool, tmp_path: Path, template: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = copied(template, tmp_path / "before")
    order = replace(ORDERS[name](before), reason='it\'s stuck: "again"')
    if stale:
        move_on(before, order)
    ours, theirs = copied(before, tmp_path / "ours"), copied(before, tmp_path / "theirs")
    done = Operator(str(ours)).carry_out(order).done
    command = Operator(str(theirs)).command([order])
    assert command is not None
    code = main(shlex.split(command)[1:])
    assert "Traceback" not in capsys.readouterr().err
    assert (code == 0) is done, command
    assert alike(ours, before) == alike(theirs, before)
    reasons = [entry["reason"] for entry in entries(ours) if entry["actor"] == present_actor()]
    assert reasons == [order.reason] * done
    seen = name not in ("emit another", "cleanup")
    assert done is not (stale and seen), "what has moved on is refused"


def move_on(path: Path, order: Order) -> None:
    """Somebody else was quicker."""
    engine = DurableEngine(path)
    target = order.target
    if order.action in ("extend", "cancel", "requeue", "wake"):
        assert target.task_id is not None
        if order.action in ("requeue", "wake"):
            call = engine.requeue_task if order.action == "requeue" else engine.wake_task
            call(target.task_id)
        else:
            engine.cancel_task(target.task_id)
            engine.requeue_task(target.task_id)
    elif target.key is not None:
        engine.set_state(namespace="poller", key="cursor", value={"page": 4})
    elif order.event_name == "approved:ord_1":
        engine.emit_event(event_name=order.event_name)
    engine.close()


def entries(path: Path) -> list[dict[str, Any]]:
    """The audit."""
    found = rows(path, "SELECT value FROM state WHERE namespace = 'dura.audit' ORDER BY key")
    return [json.loads(value) for (value,) in found]


def test_a_real_shell_takes_every_name_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "-a $(store)'s.db"
    DurableEngine(path).close()
    orders = [
        order_for("emit", None, event_name=name, payload={name: name}, reason=name)
        if number % 2
        else order_for("set", Target(namespace=name, key=name), value=[name], reason=name)
        for number, name in enumerate(NAMES)
    ]
    commands = Operator(str(path), actor="ann's host").command(orders)
    assert commands is not None
    assert commands.count("\n") == len(orders) - 1
    assert all(character.isprintable() or character == "\n" for character in commands)
    script = f'set -e; dura() {{ {shlex.quote(sys.executable)} -m dura "$@"; }}\n{commands}\n'
    subprocess.run(["bash", "-c", script], check=True, capture_output=True, timeout=120)
    emitted = rows(path, "SELECT event_name, payload FROM events")
    assert {name: json.loads(payload) for name, payload in emitted} == {
        name: {name: name} for name in NAMES[1::2]
    }
    kept = rows(path, "SELECT namespace, key, value FROM state WHERE namespace NOT LIKE 'dura.%'")
    assert {(name, key, json.loads(value)[0]) for name, key, value in kept} == {
        (name,) * 3 for name in NAMES[::2]
    }
    assert [(entry["actor"], entry["reason"]) for entry in entries(path)] == [
        ("ann's host", name) for name in NAMES
    ]


def test_many_runs_are_one_command_where_all_else_is_the_same(template: Path) -> None:
    operator = Operator("/s.db")
    targets = [Target(task_id=f"t{n}", run_id=f"r{n}", claim_token=n) for n in range(450)]
    commands = operator.command([order_for("requeue", each, from_step="load") for each in targets])
    assert commands is not None
    first, *rest = commands.split("\n")
    assert first.startswith("dura requeue /s.db r0 r1 ")
    assert first.endswith(" r199 --from-step=load --yes")
    assert len(rest) == 2
    cancel = operator.command([order_for("cancel", each) for each in targets[:2]])
    assert cancel == "dura cancel /s.db r0@0 r1@1 --yes"
    until = from_text("2026-01-01T00:01:00+00:00")
    extend = operator.command(
        [order_for("extend", each, until=until + timedelta(seconds=n)) for n, each in enumerate(targets[:2])]
    )
    assert extend == (
        "dura extend /s.db r0@0 --until=2026-01-01T00:01:00.000000+00:00\n"
        "dura extend /s.db r1@1 --until=2026-01-01T00:01:01.000000+00:00"
    )


def test_the_actor_is_named_only_where_the_command_would_name_another() -> None:
    order = order_for("emit", None, event_name="x")
    assert Operator("/s.db").command([order]) == "dura emit /s.db x --payload=null"
    assert Operator("/s.db", actor=present_actor()).command([order]) == "dura emit /s.db x --payload=null"
    assert str(Operator("/s.db", actor="cron").command([order])).endswith("--actor=cron")


def test_what_no_command_line_can_hold_has_no_command() -> None:
    assert Operator("/s.db").command([order_for("emit", None, event_name="a\0b")]) is None
    assert Operator("/s.db").command([order_for("emit", None, event_name="\ud800")]) is None
    with pytest.raises(ValueError, match="NUL"):
        quoted("\0")
