"""What the emit dialog says will happen is what happens, however many events there are and whatever is overdue."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from textual.widgets import Input

from conftest import ManualClock, claim
from dura import DurableEngine, WorkflowSuspended
from dura_tui.payload import parse_payload
from tui.harness import monitor, running, says, text


def wait(engine: DurableEngine, event: str, seconds: float) -> str:
    engine.spawn_task(name="charge_order", params=None)
    task = claim(engine)
    with suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=task.run_id,
            task_id=task.task_id,
            step_name="approval",
            event_name=event,
            timeout_secs=seconds,
            claim_token=task.claim_token,
        )
    return task.task_id


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", "[1, -1e999]"])
def test_a_number_that_cannot_be_stored_is_refused_while_it_is_typed(text: str) -> None:
    with pytest.raises(ValueError, match="is no JSON value"):
        parse_payload(text)


async def test_a_run_that_waits_is_named_though_very_many_others_wait_for_other_events(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    last = [wait(engine, f"approved:{number}", 600 + number) for number in range(230)][-1]
    async with running(path, clock) as pilot:
        await pilot.press("e")
        await says(pilot, "Give the event a name.")
        monitor(pilot).screen.query_one("#event", Input).value = "approved:229"
        await says(pilot, "Wakes 1 run", last[-8:])
        await pilot.press("escape", "5", "slash", *"229", "enter")
        await says(pilot, "◆ awaited", last[-8:])


async def test_an_event_that_was_emitted_says_so_though_many_names_hold_its_own(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.emit_event(event_name="ready", payload=7)
    for number in range(60):
        engine.emit_event(event_name=f"ready:{number}")
    async with running(path, clock) as pilot:
        await pilot.press("e")
        await says(pilot, "Give the event a name.")
        monitor(pilot).screen.query_one("#event", Input).value = "ready"
        await says(pilot, "Already emitted", "with 7")


async def test_a_run_whose_deadline_is_past_is_not_said_to_be_woken(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    wait(engine, "approved", 10)
    late = wait(engine, "approved", 20)
    wakes = wait(engine, "approved", 600)
    clock.advance(30)
    async with running(path, clock) as pilot:
        await pilot.press("e")
        await says(pilot, "Give the event a name.")
        monitor(pilot).screen.query_one("#event", Input).value = "approved"
        await says(pilot, "Wakes 1 run", wakes[-8:], "2 runs waited until a deadline that is past")
        assert late[-8:] not in text(pilot)
    assert len(engine.emit_event(event_name="approved").woken) == 1


async def test_a_name_is_asked_about_only_once_its_waiters_were_looked_up(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    wait(engine, "approved", 600)
    async with running(path, clock) as pilot:
        await pilot.press("e")
        await says(pilot, "Give the event a name.")
        screen = monitor(pilot).screen
        screen.query_one("#event", Input).value = "approved"
        screen.query_one("#payload").focus()
        await pilot.press("ctrl+s")
        await says(pilot, "Emit this event?", "Wakes 1 run")
