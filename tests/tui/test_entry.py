"""Lines to type in: what a name or a paste holds is kept, and never reaches the terminal as it is."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from textual.events import Paste
from textual.widgets import Input, TextArea

from conftest import ManualClock, claim
from dura import DurableEngine, WorkflowSuspended
from tui.harness import go_to, monitor, running, says, text, until

EVIL = "ok\x1b]0;title\x07\x9b31m\u202e\ttab\nend"
HELD = "\x1b\x07\x9b\u202e\t"


@pytest.fixture
def waiting(engine: DurableEngine) -> str:
    """A task of a hostile name that waits for an event of that name."""
    ref = engine.spawn_task(name=EVIL, params=None)
    task = claim(engine)
    with suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=task.run_id,
            task_id=task.task_id,
            step_name="approval",
            event_name=EVIL,
            timeout_secs=600,
            claim_token=task.claim_token,
        )
    return ref.task_id


async def test_event_name_in_the_dialog_is_drawn_harmless_and_emitted_as_it_is(
    path: Path, engine: DurableEngine, waiting: str, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "5", f"awaited\0{EVIL}")
        await pilot.press("e")
        await says(pilot, "Wakes 1 run")
        assert not set(HELD) & set(text(pilot))
        await pilot.press("ctrl+s")
        await says(pilot, "Emit this event?")
        await pilot.press("y")
        await says(pilot, "woke 1 run")
        await until(pilot, lambda: engine.get_task(waiting).state == "pending")


async def test_name_in_the_filter_line_is_drawn_harmless_and_still_finds_its_tasks(
    path: Path, waiting: str, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("enter")
        await says(pilot, "1 to 1 of 1")
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(monitor(pilot).focused, Input))
        await pilot.pause()
        assert not set(HELD) & set(text(pilot))
        await pilot.press("enter")
        await says(pilot, "1 to 1 of 1", waiting[-8:])


async def test_pasted_lines_of_a_payload_are_all_kept(path: Path, waiting: str, clock: ManualClock) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "5", f"awaited\0{EVIL}")
        await pilot.press("e")
        await says(pilot, "Wakes 1 run")
        payload = monitor(pilot).screen.query_one("#payload", TextArea)
        assert payload.has_focus
        payload.text = ""
        pasted = '{\n  "by": "ann",\n  "ok": true\n}\n'
        payload.post_message(Paste(pasted))
        await until(pilot, lambda: payload.text == pasted)


async def test_what_a_terminal_could_obey_is_pasted_into_a_payload_as_its_json_escape(
    path: Path, waiting: str, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "5", f"awaited\0{EVIL}")
        await pilot.press("e")
        payload = monitor(pilot).screen.query_one("#payload", TextArea)
        payload.text = ""
        payload.post_message(Paste('"a\x9b31m\u202e\U000e0001"'))
        await until(pilot, lambda: payload.text == r'"a\u009b31m\u202e\udb40\udc01"')
        assert json.loads(payload.text) == "a\x9b31m\u202e\U000e0001"
        assert not set("\x9b\u202e") & set(text(pilot))
