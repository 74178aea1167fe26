"""The whole proof: everything that can be pressed in the monitor, on every view, and the store is the same to the byte.

Once with `--read-only`, and once without it, by a user who may not write the store.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from conftest import ManualClock
from counts import Count
from dura import DurableEngine
from tui.harness import fill, monitor, running, says
from world.driving import VIEWS, dialog_keys, drive, files, keys, show
from world.mutations import age
from world.visiting import NOBODY, shared_folder

SOAK: Final = bool(os.environ.get("DURA_TEST_SOAK"))

DRIVEN: Final = VIEWS if SOAK else ("4", "6")
"""The views that are driven; `make soak` drives all. On the others tests/tui/test_read_only.py presses the same keys in a row."""


@pytest.mark.parametrize("number", DRIVEN)
async def test_read_only_nothing_that_can_be_pressed_on_a_view_changes_the_store(
    number: str, path: Path, clock: ManualClock, count: Count
) -> None:
    engine = DurableEngine(path, clock=clock)
    engine.emit_event(event_name="noted", actor="ann@web1")
    shop = fill(engine)
    engine.close()
    age_store(path)
    before = files(path)
    async with running(path, clock, read_only=True) as pilot:
        await says(pilot, "READ-ONLY")
        await show(pilot, number, shop.running)
        pressed = await drive(pilot, number, shop, palette=SOAK, rows=3 if SOAK else 1)
        assert monitor(pilot).trouble is None
    assert files(path) == before
    count("keys, commands and buttons pressed with --read-only", pressed)


def age_store(path: Path) -> None:
    for file in path.parent.iterdir():
        if file.name.startswith(path.name):
            os.utime(file, (1_700_000_000, 1_700_000_000))


def test_everything_there_is_to_press_is_pressed() -> None:
    from dura_tui.actions import ACTIONS
    from dura_tui.keys import KEYS

    pressed = set(keys())
    assert all(set(entry.keys.split(",")) - {"q", "ctrl+q", "ctrl+c"} <= pressed for entry in KEYS)
    assert {action.key for action in ACTIONS.values()} <= pressed
    assert {"ctrl+s", "y"} <= dialog_keys()


@pytest.mark.parametrize("writer", ["none", "live"] if SOAK else ["live"])
def test_without_permission_nothing_that_can_be_pressed_changes_the_store(
    writer: str, clock: ManualClock, count: Count
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with shared_folder() as folder:
        path = folder / "store.db"
        engine = DurableEngine(path, clock=clock)
        engine.emit_event(event_name="noted", actor="ann@web1")
        shop = fill(engine)
        if writer == "none":
            engine.close()
        age(folder)
        folder.chmod(0o555)
        for file in folder.iterdir():
            file.chmod(0o444)
        before = files(path)
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("driver.py")), str(path), str(NOBODY), clock().isoformat(),
             ",".join(VIEWS if SOAK else ("4",)), *(getattr(shop, name) for name in shop.__dataclass_fields__)],
            check=False, capture_output=True, text=True, timeout=180,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        report: dict[str, Any] = json.loads(done.stdout)
        assert files(path) == before
        if writer == "live":
            engine.close()
    assert report["uid"] == NOBODY
    assert report["trouble"] is None
    assert not [text for _, done, _, text in report["tried"] if done]
    failed = {
        action: text for action, _, refused, text in report["tried"] if not refused and " failed: " in text
    }
    assert {"emit", "extend", "cancel"} <= set(failed), "an action did not come as far as the store"
    assert [text for text in failed.values() if "write permission" not in text] == []
    count("keys, commands and buttons pressed without write permission", report["pressed"])
