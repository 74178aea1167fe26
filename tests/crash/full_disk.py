"""A store on a small disk that fills up: `unshare -rm python full_disk.py FOLDER`, in a mount namespace of its own."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from crash.victims import together
from dura import DurableEngine


def main(folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], check=True)
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * 15_000_000)
    engine = DurableEngine(folder / "store.db")
    engine.spawn_task(name="first", params=None, idempotency_key="first")
    held = engine.claim_task(worker_id="w", timeout_secs=3600)
    assert held is not None

    told, refused = {"first"}, 0
    for size in (20_000, 5_000, 500):
        begun = refused
        while refused < begun + 12:
            said: list[str] = []
            calls: dict[str, Callable[[], object]] = {}
            for number in range(3):
                key = f"{size}-{len(told)}-{refused}-{number}"
                calls[key] = partial(engine.spawn_task, name="more", params="x" * size, idempotency_key=key)
            together(engine, calls, said.append)
            told |= {line.split()[0] for line in said if line.endswith("told")}
            refused += sum("StoreError" in line for line in said)
            assert len(said) == 3
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        there = {key for (key,) in connection.execute("SELECT idempotency_key FROM tasks")}
    assert there == told, f"told, but not there: {told - there}; refused, but there: {there - told}"

    ballast.unlink()
    engine.complete_run(run_id=held.run_id, claim_token=held.claim_token)
    while (task := engine.claim_task(worker_id="w")) is not None:
        engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
    assert engine.task_counts_by_state() == {"completed": len(told)}
    assert engine.check() == ()
    engine.close()
    assert sorted(path.name for path in folder.iterdir()) == ["store.db"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
