"""The monitor in a real terminal, on a store whose workers are killed, and killed itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import rows, wait_until
from dura import DurableEngine
from tui.tmux import FOUND, Tmux

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(FOUND is None, reason="tmux is not installed: no real terminal to drive"),
]

POOL = """
import os, sys, time
from dura import DurableEngine, run_workers

path, queue, folder = sys.argv[1:]

def there(name):
    return os.path.exists(os.path.join(folder, name))

def hold(engine, task):
    engine.checkpoint(task_id=task.task_id, step_name="begin", fn=os.getpid)
    while not there("released"):
        engine.extend_claim(run_id=task.run_id, by_secs=3)
        time.sleep(0.2)
    return os.getpid()

def order(engine, task):
    return engine.wait_for_event(
        run_id=task.run_id, task_id=task.task_id, step_name="approval", event_name="approved:ord_1"
    )

def fragile(engine, task):
    if not there("mended"):
        raise ValueError("the shelf is broken")
    return "stored"

run_workers(
    DurableEngine(path), handlers={"hold": hold, "order": order, "fragile": fragile}, worker_count=1, queues=[queue],
    claim_timeout_secs=3, poll_interval=0.2,
)
"""
"""A pool of one worker, in a process of its own."""

StartPool = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def live(path: Path) -> Iterator[DurableEngine]:
    engine = DurableEngine(path)
    yield engine
    engine.close()


@pytest.fixture
def start_pool(path: Path, tmp_path: Path) -> Iterator[StartPool]:
    pools: list[subprocess.Popen[bytes]] = []

    def start(queue: str) -> subprocess.Popen[bytes]:
        pools.append(subprocess.Popen([sys.executable, "-c", POOL, path, queue, tmp_path]))
        return pools[-1]

    yield start
    for pool in pools:
        pool.kill()
        pool.wait()


@pytest.fixture
def terminal(path: Path, live: DurableEngine) -> Iterator[Tmux]:
    words = (sys.executable, "-m", "dura_tui", path, "--refresh", "0.2", "--config", os.devnull)
    terminal = Tmux(words, size=(120, 30))
    yield terminal
    terminal.end()


def test_what_happens_while_workers_are_killed_is_seen_and_acted_upon_and_the_monitor_may_be_killed_too(
    path: Path, tmp_path: Path, live: DurableEngine, start_pool: StartPool, terminal: Tmux
) -> None:
    held = live.spawn_task(name="hold", params=None, queue="slow").task_id
    order = live.spawn_task(name="order", params=None).task_id
    broken = live.spawn_task(name="fragile", params=None, max_attempts=1).task_id

    # The lease of a worker that lives, then of one that is gone, then one that has run out.
    terminal.says("Overview", "● live")
    victim = start_pool("slow")
    terminal.press("2")
    terminal.says("hold", f":{victim.pid}:", "○ pending")
    assert "gone" not in terminal.shown()
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    terminal.says("hold", "✗ gone")
    terminal.says("overdue", "○ next claim")

    # The next claim takes the run over, with what its first holder had finished.
    heir = start_pool("slow")
    terminal.until(lambda shown: f":{heir.pid}:" in shown and "gone" not in shown and "overdue" not in shown)
    terminal.press("Enter")
    terminal.says("● running", "hold", "✓ begin", str(victim.pid))
    (tmp_path / "released").touch()
    terminal.says("✓ completed", str(heir.pid))
    assert live.get_task(held).state == "completed"

    # Somebody answers, by keys.
    start_pool("default")
    terminal.press("Escape")
    terminal.says("No leases")
    terminal.press("8")
    terminal.says("approved:ord_1", "order")
    terminal.press("e")
    terminal.says("Emit an event", "Wakes 1 run")
    terminal.press("C-s")
    terminal.says("Emit this event?")
    terminal.press("y")
    terminal.says("✓ emitted approved:ord_1: woke 1 run")
    wait_until(lambda: live.get_task(order).state == "completed")

    # What failed is mended and requeued, by keys.
    wait_until(lambda: live.get_task(broken).state == "failed")
    (tmp_path / "mended").touch()
    terminal.press("4", "/", "state:failed", "Enter")
    terminal.says("filter state:failed", "fragile", "1 to 1 of 1")
    terminal.press("R")
    terminal.says("Requeue the task", "from scratch")
    terminal.press("Enter")
    terminal.says("Requeue this task?")
    terminal.press("y")
    terminal.says("✓ requeued fragile")
    wait_until(lambda: live.get_task(broken).state == "completed")
    found = rows(path, "SELECT value FROM state WHERE namespace = 'dura.audit' ORDER BY key")
    assert [json.loads(value)["action"] for (value,) in found] == ["emit", "requeue"]

    # Killed in the middle of its work, it leaves a store that is whole, and shows it again.
    os.kill(terminal.pid, signal.SIGKILL)
    wait_until(lambda: terminal.dead)
    assert live.check() == ()
    terminal.start_again()
    terminal.says("Overview", "● live")
    terminal.press("4")
    terminal.says("1 to 3 of 3", "✓ completed")
