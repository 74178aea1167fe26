"""Drive the monitor as another user: `python driver.py PATH UID MOMENT VIEWS ID …`, run by root. Prints what happened, as JSON.

What the monitor needs is loaded by a first drive on a store of our own: this interpreter may lie where the user may not go.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from conftest import ManualClock
from dura import DurableEngine
from dura_tui.actions import ACTIONS
from dura_tui.orders import Outcome
from tui.harness import Shop, fill, monitor, running
from world.driving import drive, show


async def main(path: Path, uid: int, moment: str, views: str, *ids: str) -> None:
    clock = ManualClock()
    clock.moment = datetime.fromisoformat(moment)
    with TemporaryDirectory() as folder:
        engine = DurableEngine(Path(folder) / "store.db", clock=clock)
        shop = fill(engine)
        await _drive(Path(folder) / "store.db", clock, shop, ("4",))
        engine.close()
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    report = await _drive(path, clock, Shop(*ids), tuple(views.split(",")))
    sys.stdout.write(json.dumps({**report, "uid": os.getuid()}))


async def _drive(path: Path, clock: ManualClock, shop: Shop, views: tuple[str, ...]) -> dict[str, Any]:
    tried: list[tuple[str, bool, bool, str]] = []
    pressed = 0
    async with running(path, clock) as pilot:
        app = monitor(pilot)
        told = app.main.report

        def note(outcome: Outcome) -> None:
            if outcome.action in ACTIONS:
                tried.append((outcome.action, outcome.done, outcome.refused, outcome.text))
            told(outcome)

        app.main.report = note  # type: ignore[method-assign]
        for number in views:
            await show(pilot, number, shop.running)
            pressed += await drive(pilot, number, shop, palette=False)
        return {"pressed": pressed, "tried": tried, "trouble": app.trouble}


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
