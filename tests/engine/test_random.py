"""Random operations by several holders on a moving clock keep every rule; a failure names the seed that shows it again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conftest import ManualClock, at_once, rows
from dura import DurableEngine
from engine.chaos import Chaos

FIRST_SEED = int(os.environ.get("DURA_TEST_FIRST_SEED", "0"))
SEEDS = int(os.environ.get("DURA_TEST_SEEDS", "10"))
STEPS = 120

RELEASE_1_3_0 = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"


@pytest.fixture
def relaxed(path: Path, clock: ManualClock) -> Iterator[DurableEngine]:
    """An engine that does not wait for the disk: these tests make many commits and lose no power."""
    engine = DurableEngine(path, clock=clock, synchronous="NORMAL")
    yield engine
    engine.close()


def go(chaos: Chaos, seed: int) -> None:
    for number in range(STEPS):
        try:
            chaos.step()
        except Exception as error:
            history = "\n".join(chaos.log[-12:])
            raise AssertionError(f"seed {seed}, step {number}: {error}\nlast steps:\n{history}") from error


def drain(chaos: Chaos) -> None:
    """Let everything end: emit all events, claim and complete until nothing is left."""
    engine, clock = chaos.engine, chaos.clock
    for event in ("e0", "e1", "e2"):
        engine.emit_event(event_name=event)
    for _ in range(30):
        clock.advance(120)
        while (task := engine.claim_task(worker_id="w")) is not None:
            engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_random_operations_keep_every_rule_and_the_store_drains(
    relaxed: DurableEngine, clock: ManualClock, path: Path, seed: int
) -> None:
    chaos = Chaos(relaxed, clock, path, seed)
    go(chaos, seed)
    at_once(relaxed, lambda: drain(chaos))
    assert not set(relaxed.task_counts_by_state()) & {"pending", "running", "sleeping"}, f"seed {seed}"
    assert rows(path, "SELECT * FROM waits") == []
    assert relaxed.check() == ()


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + max(1, SEEDS // 4)))
def test_random_operations_keep_every_rule_on_an_upgraded_store(
    path: Path, clock: ManualClock, seed: int
) -> None:
    shutil.copy(RELEASE_1_3_0, path)
    clock.moment = datetime(2026, 1, 5, 9, 8, tzinfo=UTC)
    engine = DurableEngine(path, clock=clock, synchronous="NORMAL")
    chaos = Chaos(engine, clock, path, seed)
    chaos.task_ids += [task_id for (task_id,) in rows(path, "SELECT task_id FROM tasks")]
    go(chaos, seed)
    engine.close()
