"""What runs at the near end of the measured terminal, or beside it: `python -m benchmarks.near_end NAME ARGUMENTS`."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_BATCHES_A_SECOND: Final = 10
_TICKS_A_VIEW: Final = 60
_THREADS: Final = 4
_LIVE: Final = 50


def bare() -> None:
    """The smallest Textual app that shows something."""
    from textual.app import App, ComposeResult
    from textual.widgets import Label

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield Label("Overview")

    Bare().run()


def monitor(path: str, how: str) -> None:
    """The monitor, which writes what differs, or the regions that Textual would, or everything once a second."""
    from textual.app import App

    from dura_tui.app import DuraApp

    if how != "differences":
        DuraApp._display = App._display  # type: ignore[method-assign]  # noqa: SLF001 - what the monitor replaces
    if how == "everything":
        tick = DuraApp.tick

        def repaint(self: DuraApp) -> None:
            tick(self)
            self.draw_anew()

        DuraApp.tick = repaint  # type: ignore[method-assign]
    DuraApp(path).run()


def ticks(path: str, count: str, log: str) -> None:
    """The monitor through so many seconds of a clock that goes on after each look; its memory is noted now and then."""
    from dura.clock import system_clock
    from dura_tui.app import DuraApp
    from dura_tui.keys import VIEWS

    passed = 0
    look = DuraApp.on_snapshot_arrived

    def looked(self: DuraApp, message: Any) -> None:
        nonlocal passed
        look(self, message)
        passed += 1
        if passed % _TICKS_A_VIEW == 0:
            self.main.action_view(VIEWS[passed // _TICKS_A_VIEW % len(VIEWS)])
        self.tick()
        with open(log, "a") as file:
            file.write(f"{_resident()}\n")
        if passed < int(count):
            self.read_now()
        else:
            self.exit()

    DuraApp.on_snapshot_arrived = looked  # type: ignore[method-assign]
    DuraApp(path, clock=lambda: system_clock() + timedelta(seconds=passed)).run()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def change(path: str, rows: str) -> None:
    """Change so many rows a second: of the newest tasks, which lists begin with, each finishes steps and is extended."""
    from dura import DurableEngine

    engine = DurableEngine(path)
    engine.spawn_many([{"name": "live", "params": None, "priority": 9, "steps": ["a"]} for _ in range(_LIVE)])
    held = [engine.claim_task(worker_id="changer", timeout_secs=600) for _ in range(_LIVE)]
    print("ready", flush=True)
    step = 0
    due = time.monotonic()
    while True:
        for _ in range(int(rows) // 2 // _BATCHES_A_SECOND):
            task = held[step % _LIVE]
            assert task is not None
            engine.checkpoint(
                task_id=task.task_id,
                step_name=f"step {step}",
                fn=lambda: None,
                owner_run_id=task.run_id,
                claim_token=task.claim_token,
            )
            engine.extend_claim(run_id=task.run_id, by_secs=600, claim_token=task.claim_token)
            step += 1
        due += 1 / _BATCHES_A_SECOND
        threading.Event().wait(max(due - time.monotonic(), 0.0))


def saturate(path: str) -> None:
    """Spawn, claim and complete as fast as it goes, on several threads."""
    from dura import DurableEngine

    engine = DurableEngine(path)

    def work(name: str) -> None:
        while True:
            engine.spawn_task(name="busy", params=None)
            _work(engine, name)

    for number in range(_THREADS):
        threading.Thread(target=work, args=(f"saturating_{number}",), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


def _work(engine: Any, worker: str) -> None:
    task = engine.claim_task(worker_id=worker, timeout_secs=60)
    if task is not None:
        engine.complete_run(run_id=task.run_id, result=None, claim_token=task.claim_token)


PROGRAMS: Final[dict[str, Callable[..., None]]] = {
    "bare": bare,
    "monitor": monitor,
    "ticks": ticks,
    "change": change,
    "saturate": saturate,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
