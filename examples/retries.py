"""Retry what fails: a flaky service recovers at the third attempt, a hopeless one uses up its attempts.

Usage: python examples/retries.py [path]
"""

import logging
import sys
import tempfile
import threading
import time

from dura import DurableEngine, RetryStrategy, run_workers


def sync_customer(engine, task):
    customer = task.params["customer"]
    record = engine.checkpoint(task_id=task.task_id, step_name="load", fn=lambda: load(customer))
    return engine.checkpoint(task_id=task.task_id, step_name="push", fn=lambda: push(record, task.attempt))


def load(customer):
    print(f"  {customer}: loaded (this step is kept, so it runs once)")
    return {"customer": customer}


def push(record, attempt):
    customer = record["customer"]
    print(f"  {customer}: push, attempt {attempt}")
    if customer == "hopeless":
        raise ValueError("the record has no e-mail address")
    if attempt < 3:
        raise ConnectionError("503 Service Unavailable")
    return {"synced": customer}


def main(path):
    # Each failed attempt is logged with its traceback; the lines printed here are to stay readable.
    logging.getLogger("dura").setLevel(logging.ERROR)

    engine = DurableEngine(path)
    retry = RetryStrategy(kind="exponential", base_seconds=0.1, factor=2, max_seconds=5)
    tasks = [
        engine.spawn_task(name="sync_customer", params={"customer": who}, retry=retry, max_attempts=4)
        for who in ("flaky", "hopeless")
    ]

    stop = threading.Event()
    options = {"handlers": {"sync_customer": sync_customer}, "worker_count": 1, "handle_signals": False}
    pool = threading.Thread(
        target=run_workers, args=[engine], kwargs={**options, "stop_event": stop}, daemon=True
    )
    pool.start()
    while any(engine.get_task(task.task_id).state not in ("completed", "failed") for task in tasks):
        time.sleep(0.02)
    stop.set()
    pool.join()

    flaky, hopeless = (engine.get_task(task.task_id) for task in tasks)
    print(f"flaky: {flaky.state} after {flaky.attempts} attempts: {flaky.result}")
    reason = hopeless.failure_reason
    print(
        f"hopeless: {hopeless.state} after {hopeless.attempts} attempts: {reason['type']}: {reason['message']}"
    )
    print(f"{len(engine.recent_failures())} failed attempts are on record")
    engine.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else f"{folder}/retries.db")
