"""What other processes do to a store in tests; imported by name in the processes that multiprocessing spawns."""

from __future__ import annotations

from dura import DurableEngine


def drain(path: str, worker: str) -> list[tuple[str, int]]:
    """Claim and complete until nothing is left. Returns each claim's run and token."""
    engine = DurableEngine(path)
    claimed = []
    while (task := engine.claim_task(worker_id=worker)) is not None:
        claimed.append((task.run_id, task.claim_token or 0))
        engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
    engine.close()
    return claimed


def spawn_once(path: str, keys: int) -> int:
    """Spawn one task a key, which other processes do too. Returns how many were new."""
    engine = DurableEngine(path)
    new = sum(
        engine.spawn_task(name="job", params=None, idempotency_key=f"k{n}").created for n in range(keys)
    )
    engine.close()
    return new
