"""A store with one secret wherever a store can hold a value."""

from __future__ import annotations

from contextlib import suppress

from conftest import started
from dura import DurableEngine, WorkflowSuspended

SECRET = "hunter2-qX7"


def fill(engine: DurableEngine) -> str:
    """Put the secret wherever a store can hold a value. Returns the id of the task that failed."""
    done = started(engine, name="issue_token", params={"password": SECRET, "user": "ann"})
    engine.checkpoint(task_id=done.task_id, step_name="fetch_token", fn=lambda: SECRET)
    engine.checkpoint(task_id=done.task_id, step_name="log_in", fn=lambda: {"api_key": SECRET, "id": 7})
    engine.complete_run(run_id=done.run_id, result=[SECRET])
    failed = started(engine, name="pay", max_attempts=1, params={"tokens_used": 5})
    reason = {
        "type": "Refused",
        "message": f"password={SECRET} was refused",
        "traceback": f'  File "pay.py", line 1\n    pay(token="{SECRET}")\nRefused: password={SECRET}',
    }
    engine.fail_run(run_id=failed.run_id, reason=reason)
    waiting = started(engine, name="approve", params={"session": {"id": SECRET}})
    with suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=waiting.run_id,
            task_id=waiting.task_id,
            step_name="otp",
            event_name="otp:9",
            timeout_secs=60,
        )
    engine.emit_event(event_name="otp:8", payload=SECRET, actor="ann", reason=f"she said token={SECRET}")
    engine.emit_event(event_name="rates:today", payload={"authorization": SECRET, "eur": 1})
    engine.set_state(namespace="stripe", key="api_key", value=SECRET, actor="ann")
    engine.set_state(namespace="stripe", key="api_key", value=[SECRET], actor="ann")
    engine.set_state(namespace="app.secrets", key="stripe", value={"a": SECRET}, actor="ann")
    engine.delete_state(namespace="app.secrets", key="stripe", actor="ann")
    engine.set_state(namespace="app.secrets", key="paypal", value=SECRET)
    engine.set_state(namespace="poller", key="cursor", value={"page": 3})
    return failed.task_id
