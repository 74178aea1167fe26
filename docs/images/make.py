"""Takes the monitor's pictures for README and docs from the app itself, over the demo store: `make images`."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from textual.pilot import Pilot

from dura_tui.app import DuraApp
from dura_tui.demo import DemoStore

SIZE = (100, 28)
HERE = Path(__file__).parent

SCENES = {
    "overview": ["1"],
    "jump": ["colon", *"0"],
    "leases": ["escape", "2"],
    "sleeping": ["3"],
    "tasks": ["4"],
    "filter": ["slash", *"-state:completed age<1h name:", "tab", "tab"],
    "detail": ["escape", "slash", *"state:failed", "enter", "enter"],
    "timeline": ["t"],
    "requeue": ["t", "t", "escape", "R"],
    "events": ["escape", "5"],
    "emit": [*"jjjj", "e"],
    "state": ["escape", "6"],
    "edit": ["enter", "E"],
    "failures": ["escape", "7"],
    "many": ["space", "space", "R"],
    "approvals": ["escape", "u", "8"],
    "answer": ["j", "e"],
    "workers": ["escape", "9"],
    "queues": ["0"],
    "audit": ["a"],
    "cleanup": ["C", "shift+tab", "shift+tab", "shift+tab", *["backspace"] * 3, *"1m"],
}
"""Picture names, and the keys that lead from one picture to the next."""


def plain(svg: str) -> str:
    """The picture without the fonts that it would fetch from elsewhere."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


async def settle(pilot: Pilot[None], app: DuraApp) -> None:
    """Let every key do its work, and the store be read for what is shown then."""
    await pilot.pause(1.0)
    for _ in range(200):
        if not app.typing:
            break
        await pilot.pause(0.1)
    await pilot.pause(1.0)


async def main() -> None:
    """Let the demo run until there is something of everything, then go through the scenes."""
    with DemoStore() as demo:
        await asyncio.sleep(15)
        app = DuraApp(demo.path, demo=True)
        async with app.run_test(size=SIZE) as pilot:
            await settle(pilot, app)
            for name, keys in SCENES.items():
                for key in keys:
                    await pilot.press(key)
                await settle(pilot, app)
                (HERE / f"{name}.svg").write_text(
                    plain(app.export_screenshot(title="dura-tui --demo")), "utf-8"
                )


if __name__ == "__main__":
    asyncio.run(main())
