"""What other processes do when they open a store at the same time; imported by name in spawned processes."""

from __future__ import annotations

import time

from dura import DurableEngine


def open_at(path: str, moment: float, key: str) -> tuple[tuple[str, ...], bool]:
    """Open the file at that moment and spawn a task. Returns the upgrade's report and whether the task was new."""
    while time.monotonic() < moment:
        time.sleep(0.001)
    engine = DurableEngine(path)
    created = engine.spawn_task(name="opened", params=None, idempotency_key=key).created
    report = engine.upgrade_report
    engine.close()
    return report, created
