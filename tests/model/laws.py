"""What is true of two looks at a store, one after the other, whatever was done in between."""

from __future__ import annotations

from dataclasses import replace

from model.rows import NEVER, TERMINAL, Store, Task


def check(
    before: Store, after: Store, *, requeued: set[str], cleaned: bool, alone: bool, granted: dict[str, int]
) -> None:
    """Raise unless the laws hold.

    Args:
        before: The store before.
        after: The store after.
        requeued: Tasks that were requeued in between.
        cleaned: Whether cleanup was called in between.
        alone: Whether no more than one call was made in between.
        granted: The attempts that each limited task has been granted.
    """
    for task_id, task in before.tasks.items():
        if task_id not in after.tasks:
            assert cleaned, f"task {task_id} is lost"
            assert task.state in TERMINAL or not alone, f"cleanup removed the live task {task_id}"
        else:
            _check_task(task, after.tasks[task_id], requeued=task_id in requeued)
    for name, event in before.events.items():
        assert cleaned or name in after.events, f"event {name} is lost"
        assert name not in after.events or after.events[name] == event or cleaned, f"event {name} changed"
    for task_id, task in after.tasks.items():
        for run in task.runs:
            if run.state == "sleeping":
                waits = [wait for wait in task.waits.values() if wait.event == run.event]
                assert run.available_at < NEVER or waits, f"nothing will wake run {run.run_id}"
        assert all(run.state in TERMINAL for run in task.runs[:-1]), f"task {task_id} has two live runs"
        assert task_id not in granted or task.latest.attempt <= granted[task_id], "an attempt was not granted"


def _check_task(before: Task, after: Task, *, requeued: bool) -> None:
    name = before.task_id
    if before.state in TERMINAL and not requeued:
        # Nobody's call may still add a checkpoint, as in dura 1.3.0.
        assert replace(after, checkpoints=before.checkpoints) == before, f"task {name} was over and changed"
    assert before.state != "completed" or after.state == "completed", f"the completed task {name} came back"
    for old, new in zip(before.runs, after.runs, strict=False):
        assert new.run_id == old.run_id, f"a run of task {name} was replaced"
        assert new.token >= old.token, f"the token of run {old.run_id} went down"
        assert new.reclaims >= old.reclaims, f"a reclaim of run {old.run_id} was forgotten"
        assert old.state not in TERMINAL or new == old, f"run {old.run_id} was over and changed"
    assert len(after.runs) >= len(before.runs), f"task {name} lost a run"
    for step, checkpoint in before.checkpoints.items():
        kept = after.checkpoints.get(step)
        assert kept == checkpoint or requeued, f"the checkpoint {step} of task {name} changed"
    for step, wait in before.waits.items():
        still = after.waits.get(step)
        assert still is None or still == wait or requeued, f"the deadline of step {step} of task {name} moved"
