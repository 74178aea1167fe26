"""No statement of the engine reads a whole table or sorts: its cost must not grow with what is parked in the store.

The statements are those that the engine executes, caught on its connection while it does all that it can do.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, plain, trace
from dura import DurableEngine, EngineError, RetryStrategy
from dura.store import events
from dura.store.checkpoints import Result, keep_all

RELEASE_1_3_0 = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"

OWN_ROWS = re.compile(
    r"SCAN (CONSTANT ROW|\d+ CONSTANT ROWS|done|found|names|\(subquery-\d+\)|SUBQUERY \d+|(json_each|pick) VIRTUAL TABLE INDEX \d+:)$"
)
"""Rows that a statement makes itself: constant ones, one a queue or name of a walk over an index, those of a list that it was
given."""


def costs(statement: str, step: str) -> bool:
    """Whether the step's cost grows with the store."""
    if "TEMP B-TREE" in step:
        return True
    first_row_decides = statement.lstrip().startswith("SELECT EXISTS (") and "USING INDEX" in step
    return "SCAN" in step and not OWN_ROWS.search(step) and not first_row_decides


def everything(engine: DurableEngine, clock: ManualClock) -> None:
    """Every operation of the engine but those that say that they read everything (check, compact)."""
    refs = [
        engine.spawn_task(
            name=f"n{n}", params=n, idempotency_key=f"k{n}", queue=f"q{n % 3}", max_reclaims=n % 2, priority=n % 4,
            retry=RetryStrategy(kind="fixed", base_seconds=5), steps=["s"],
        )
        for n in range(24)
    ]  # fmt: skip
    engine.spawn_task(name="n", params=None, idempotency_key="k1")
    engine.spawn_task(name="n", params=None, available_after=timedelta(seconds=5))
    engine.spawn_many([{"name": "n", "params": None, "queue": "many"}] * 3)
    for settle in range(14):
        task = engine.claim_task(
            worker_id="w",
            timeout_secs=10,
            queue=[None, "q1", ["q0", "q2"]][settle % 3],
            max_priority=[None, 2][settle % 2],
        ) or engine.claim_task(worker_id="w", timeout_secs=10)
        assert task is not None
        by: dict[str, Any] = {"run_id": task.run_id, "claim_token": task.claim_token}
        with suppress(EngineError):
            engine.checkpoint(
                task_id=task.task_id,
                step_name="c",
                fn=lambda: 1,
                owner_run_id=task.run_id,
                claim_token=task.claim_token,
            )
            engine.checkpoint(task_id=task.task_id, step_name="d", fn=lambda: 1)
            engine.checkpoint(task_id=task.task_id, step_name="d", fn=lambda: 1)
            match settle:
                case 0 | 1:
                    engine.complete_run(**by, result=1)
                case 2:
                    engine.fail_run(**by, reason={})
                case 3:
                    engine.fail_run(**by, reason={}, retryable=False)
                case 4:
                    engine.give_back_run(**by)
                case 5:
                    engine.defer_run(**by)
                case 6 | 7 | 8:
                    engine.await_event(
                        **by,
                        task_id=task.task_id,
                        step_name="w",
                        event_name=f"e{settle}",
                        timeout_secs=[None, 3, 60][settle % 3],
                    )
                case 9:
                    engine.await_event(
                        **by, task_id=task.task_id, step_name="w", event_name="z", timeout_secs=0
                    )
                case 10:
                    engine.sleep(**by, task_id=task.task_id, step_name="w", seconds=0)
                case 11:
                    engine.extend_claim(**by, by_secs=5)
                case 12:
                    engine.complete_run(run_id=task.run_id, claim_token=99)
                case _:
                    engine.cancel_task(task.task_id, actor="ana", seen_run_id=task.run_id, seen_claim_token=1)
                    engine.requeue_task(task.task_id, from_step="d", actor="ana")
    many = [engine.claim_task(worker_id="w", queue="many") for _ in range(3)]
    results = [Result("c", "1", task.run_id, task.task_id, 1, True) for task in many if task]
    engine.database.write(lambda tx: keep_all(tx, results))
    with suppress(EngineError):
        engine.emit_event(event_name="e6", seen_run_id=refs[0].run_id)
    with suppress(EngineError):
        engine.extend_claim(run_id=refs[0].run_id, by_secs=5, seen_claim_token=1)
    for number in range(6, 9):
        engine.emit_event(event_name=f"e{number}", payload=1, actor="ana")
    engine.database.write(lambda tx: events.finish_wake(tx, "e6"))
    engine.cancel_duplicate_tasks("n")
    with suppress(EngineError):
        engine.wake_task(refs[5].task_id)
    for _ in range(3):
        clock.advance(20)
        engine.claim_task(worker_id="w", timeout_secs=5)
        engine.seconds_until_due()
    engine.cancel_task(refs[20].task_id)
    engine.requeue_task(refs[20].task_id, keep_checkpoints=False)
    engine.get_task(refs[0].task_id)
    engine.get_checkpoint(task_id=refs[0].task_id, step_name="c")
    engine.ready_run_count()
    engine.task_counts_by_state()
    engine.recent_failures()
    engine.set_state(namespace="n", key="k", value=1)
    engine.update_state(namespace="n", key="k", fn=lambda _: 2)
    engine.get_state(namespace="n", key="k")
    engine.has_state("n")
    engine.list_state("n")
    engine.delete_state(namespace="n", key="k")
    clock.advance(10**7)
    engine.cleanup()


def executed(engine: DurableEngine, clock: ManualClock) -> list[str]:
    """The different statements that the engine executed, with their values."""
    caught: dict[str, str] = {}

    def note(statement: str) -> None:
        shape = re.sub(r"'[^']*'|\d+", "?", statement)
        if re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", statement):
            caught.setdefault(shape, statement)

    trace(engine, note)
    everything(engine, clock)
    trace(engine, None)
    return list(caught.values())


def plan(connection: sqlite3.Connection, statement: str) -> list[str]:
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]


@pytest.mark.parametrize("kind", ["new", "upgraded"])
def test_no_statement_reads_a_whole_table_or_sorts(path: Path, clock: ManualClock, kind: str) -> None:
    if kind == "upgraded":
        shutil.copy(RELEASE_1_3_0, path)
    engine = DurableEngine(path, clock=clock)
    statements = executed(engine, clock)
    engine.close()
    assert len(statements) > 60
    with plain(path) as other:
        costly = {
            re.sub(r"\s+", " ", statement): steps
            for statement in statements
            if (steps := [step for step in plan(other, statement) if costs(statement, step)])
        }
    assert costly == {}


def test_ranges_of_the_claim_use_the_index_that_was_made_for_them(path: Path, clock: ManualClock) -> None:
    engine = DurableEngine(path, clock=clock)
    statements = executed(engine, clock)
    engine.close()
    with plain(path) as other:
        plans = "\n".join(step for statement in statements for step in plan(other, statement))
    for index, bound in (
        ("runs_running", "claim_expires_at<?"),
        ("runs_sleeping", "available_at<?"),
        ("runs_pending", "queue=? AND priority<?"),
        ("tasks_terminal", "state=? AND terminal_at<?"),
        ("events_emitted", "emitted_at<?"),
        ("waits_event_name", "event_name=? AND rowid>?"),
        ("waits_step", "task_id=?"),
    ):
        assert re.search(rf"SEARCH \w+ USING (COVERING )?INDEX {index} \({re.escape(bound)}\)", plans), index
