"""A store on a small disk that fills up: `unshare -rm python full_disk.py FOLDER`, in a mount namespace of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dura import DurableEngine, StoreError


def main(folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True)
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * 3_000_000)
    engine = DurableEngine(folder / "store.db")
    kept = [engine.spawn_task(name="first", params=None).task_id]
    held = engine.claim_task(worker_id="w", timeout_secs=3600)
    assert held is not None
    refused = 0
    while refused < 20:
        try:
            kept.append(engine.spawn_task(name="more", params="x" * (20_000 if not refused else 500)).task_id)
        except StoreError:
            refused += 1
    seen = [engine.get_task(task_id).state for task_id in kept]
    assert seen == ["running"] + ["pending"] * (len(kept) - 1)
    assert sum(engine.task_counts_by_state().values()) == len(kept)

    ballast.unlink()
    engine.complete_run(run_id=held.run_id, claim_token=held.claim_token)
    while (task := engine.claim_task(worker_id="w")) is not None:
        engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
    assert engine.task_counts_by_state() == {"completed": len(kept)}
    assert engine.check() == ()
    engine.close()
    assert sorted(path.name for path in folder.iterdir()) == ["store.db"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
