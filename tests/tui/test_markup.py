"""Text from the store is text: no markup, no escape sequence, nothing clickable, wherever it is shown."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from conftest import ManualClock, claim
from dura import DurableEngine, WorkflowSuspended
from dura_tui.keys import VIEW_KEYS
from tui.harness import go_to, monitor, running, says, table, text, until

EVIL = "[b]x[/] [/no]\x1b[2J"
SEEN = "[b]x[/] [/no]\\x1b[2J"


@pytest.fixture
def evil(engine: DurableEngine) -> tuple[str, str]:
    """A failed task and a waiting one, every name of which is hostile."""
    failed = engine.spawn_task(
        name=EVIL, params={EVIL: EVIL}, max_attempts=1, steps=[EVIL], queue=EVIL, idempotency_key=EVIL
    )
    task = claim(engine, worker_id=EVIL)
    engine.checkpoint(
        task_id=task.task_id,
        step_name=EVIL,
        fn=lambda: EVIL,
        owner_run_id=task.run_id,
        claim_token=task.claim_token,
    )
    engine.fail_run(
        run_id=task.run_id,
        reason={"type": EVIL, "message": EVIL, "traceback": EVIL},
        claim_token=task.claim_token,
    )
    waiting = engine.spawn_task(name=EVIL, params=None, queue=EVIL)
    task = claim(engine, worker_id=EVIL)
    with suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=task.run_id,
            task_id=task.task_id,
            step_name=EVIL,
            event_name=EVIL,
            timeout_secs=9,
            claim_token=task.claim_token,
        )
    engine.spawn_task(name=EVIL, params=None, queue=EVIL)
    claim(engine, worker_id=EVIL)
    engine.emit_event(event_name=EVIL + "2", payload=EVIL, actor=EVIL)
    engine.set_state(namespace=EVIL, key=EVIL, value=EVIL)
    return failed.task_id, waiting.task_id


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_hostile_text_is_shown_as_it_is_in_every_view(
    size: tuple[int, int], path: Path, evil: tuple[str, str], clock: ManualClock
) -> None:
    failed, waiting = evil
    async with running(path, clock, size=size) as pilot:
        for view in VIEW_KEYS:
            await pilot.press(view.key)
            await says(pilot, "[b]x[/]")
            assert "\x1b" not in text(pilot)
        await go_to(pilot, "4", failed)
        await says(pilot, "[b]x[/]")
        await pilot.press("R")
        await says(pilot, f"again from step {SEEN}")
        await pilot.press("down", "enter")
        await says(pilot, "Requeue this task?", SEEN)
        await pilot.press("escape", "escape", "enter")
        await until(pilot, lambda: table(pilot).key == f"step\0{EVIL}")
        await pilot.press("enter")
        await says(pilot, f"step {SEEN}")
        await pilot.press("escape", "G", "k", "k", "enter")
        await says(pilot, "why attempt 1 failed", f"{SEEN}: {SEEN}")
        await pilot.press("escape", "c")
        await says(pilot, f"{SEEN} {failed[-8:]} has ended")
        await go_to(pilot, "5", f"awaited\0{EVIL}")
        await pilot.press("e")
        await says(pilot, "Emit an event", "Wakes 1 run", f"{SEEN} {waiting[-8:]}")
        assert monitor(pilot).trouble is None
