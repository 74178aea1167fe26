"""What the monitor's tests stand on: the real app on a real file, its screen as text, and a store with one of each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import DataTable

from conftest import ManualClock, claim
from dura import DurableEngine, RetryStrategy, WorkflowSuspended
from dura_tui.app import DuraApp
from dura_tui.screens.view import View
from dura_tui.widgets.live_table import LiveTable
from tui.settling import LONGEST, settled

EVENT = "approved:ord_1"

Screen = Pilot[None]


@dataclass(frozen=True, slots=True)
class Shop:
    """The ids of a store's tasks, one in each state and for each cause of sleep that can be told apart."""

    pending: str
    running: str
    waiting: str
    backed_off: str
    delayed: str
    failed: str
    cancelled: str
    completed: str


def fill(engine: DurableEngine) -> Shop:
    """Make one task of each kind. The clock stands still meanwhile."""

    def started(name: str, lease: float = 60, **options: Any) -> tuple[str, str, int]:
        ref = engine.spawn_task(name=name, **{"params": {"order": name}, **options})
        task = claim(engine, worker_id="web1:4711:1", timeout_secs=lease)
        assert task.run_id == ref.run_id
        assert task.claim_token is not None
        return task.task_id, task.run_id, task.claim_token

    task_id, run_id, token = started("send_receipt")
    engine.complete_run(run_id=run_id, result={"sent": True}, claim_token=token)
    completed = task_id

    failed, run_id, token = started("import_catalog", max_attempts=1, steps=["load", "parse", "store"])
    for step in ("load", "parse"):
        engine.checkpoint(
            task_id=failed, step_name=step, fn=lambda: {"rows": 3}, owner_run_id=run_id, claim_token=token
        )
    engine.fail_run(
        run_id=run_id,
        reason={
            "type": "ValueError",
            "message": "row 7 has no price",
            "traceback": "File catalog.py, line 12\nValueError",
        },
        claim_token=token,
    )

    waiting, run_id, token = started(
        "charge_order", steps=["charge", "approval", "receipt"], idempotency_key="ord_1"
    )
    engine.checkpoint(
        task_id=waiting, step_name="charge", fn=lambda: "ch_1", owner_run_id=run_id, claim_token=token
    )
    with suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=run_id,
            task_id=waiting,
            step_name="approval",
            event_name=EVENT,
            timeout_secs=600,
            claim_token=token,
        )

    backed_off, run_id, token = started(
        "sync_crm", retry=RetryStrategy(kind="fixed", base_seconds=90, jitter_factor=0)
    )
    engine.fail_run(run_id=run_id, reason={"type": "TimeoutError", "message": "no answer"}, claim_token=token)

    delayed = engine.spawn_task(name="remind", params=None, available_after=timedelta(seconds=300)).task_id
    cancelled = engine.spawn_task(name="remind", params=None).task_id
    engine.cancel_task(cancelled)
    running, _, _ = started("resize_image", steps=["a", "b"])
    pending = engine.spawn_task(name="send_receipt", params={"to": "ann"}).task_id
    engine.emit_event(event_name="catalog.ready", payload={"rows": 3})
    engine.set_state(namespace="feeds", key="cursor", value={"page": 12})
    return Shop(pending, running, waiting, backed_off, delayed, failed, cancelled, completed)


@asynccontextmanager
async def running(
    path: Path, clock: ManualClock, *, size: tuple[int, int] = (80, 24), **options: Any
) -> AsyncIterator[Screen]:
    """The app on a file, as soon as it shows it."""
    app = DuraApp(str(path), clock=clock, refresh=0.2, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: not app.typing and (app.snapshot or app.trouble) is not None)
        await pilot.pause()
        _press_to_the_end(pilot)
        yield pilot


def _press_to_the_end(pilot: Screen) -> None:
    """Have `press` return when each key has done its work."""
    press = pilot.press

    async def pressed(*keys: str) -> None:
        for key in keys:
            await press(key)
            await until(pilot, lambda: not pilot.app.is_running or not monitor(pilot).typing)

    pilot.press = pressed  # type: ignore[method-assign]


async def until(pilot: Screen, condition: Callable[[], object]) -> None:
    """Wait for a fact about the app, not for a time; give up with what the screen shows."""
    deadline = time.monotonic() + LONGEST
    await settled(pilot.app)
    while not condition():
        assert time.monotonic() < deadline, f"did not come true in time:\n{text(pilot)}"
        await asyncio.sleep(0.005)
        await settled(pilot.app)


async def says(pilot: Screen, *words: str) -> None:
    """Wait until the screen shows all of these words."""
    await until(pilot, lambda: all(word in text(pilot) for word in words))


async def gone(pilot: Screen, word: str) -> None:
    """Wait until the screen shows this no more."""
    await until(pilot, lambda: word not in text(pilot))


def monitor(pilot: Screen) -> DuraApp:
    """The app by its own type."""
    app = pilot.app
    assert isinstance(app, DuraApp)
    return app


def text(pilot: Screen) -> str:
    """What the screen shows, line by line."""
    return "\n".join(strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips())


def view(pilot: Screen) -> View:
    """The view that is shown, below any dialog."""
    return monitor(pilot).main.view


def table(pilot: Screen) -> LiveTable[Any]:
    """The table that the keys go to, or would if no dialog were open."""
    focused = monitor(pilot).main.focused
    return focused if isinstance(focused, LiveTable) else view(pilot).query_one(LiveTable)


async def go_to(pilot: Screen, number: str, key: str) -> None:
    """Show a view and put the cursor on a row."""
    await pilot.press(number)
    await until(pilot, lambda: key in table(pilot).keys)
    table(pilot).move_to(key)
    await pilot.pause()
    assert table(pilot).key == key


def header(pilot: Screen) -> str:
    """The tab line."""
    return text(pilot).splitlines()[1]


def rows_shown(pilot: Screen) -> int:
    """How many rows the view's table holds."""
    return view(pilot).query_one(DataTable).row_count


async def tick(pilot: Screen, clock: ManualClock, seconds: float) -> None:
    """Let time pass on the clock, and the screen notice."""
    clock.advance(seconds)
    monitor(pilot).tick()
    await pilot.pause()
