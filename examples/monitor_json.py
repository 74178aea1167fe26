"""Look at a live store without touching it: a tiny dashboard, and the same snapshot as JSON for scripts.

Usage: python examples/monitor_json.py [path]
"""

import json
import logging
import sys
import tempfile
import threading
import time
from dataclasses import asdict

from dura import DurableEngine, run_workers
from dura.monitor import Monitor
from dura.records import Want


def charge_order(engine, task):
    if task.params["amount"] > 1000:
        engine.wait_for_event(
            run_id=task.run_id,
            task_id=task.task_id,
            step_name="approval",
            event_name=f"approved:{task.params['order_id']}",
        )
    if task.params["amount"] < 0:
        raise ValueError("an order cannot cost less than nothing")
    return "charged"


def dashboard(path):
    with Monitor(path) as monitor:
        snapshot = monitor.snapshot(Want(awaited=10, failures=10, workers=True))

    print(f"tasks: {', '.join(f'{count} {state}' for state, count in sorted(snapshot.totals().items()))}")
    for event in snapshot.awaited:
        print(f"waiting: {event.waiter_count} for {event.event_name}")
    for failure in snapshot.failures:
        print(f"failed: {failure.task_name}, {failure.failure_reason['message']}")
    for worker in snapshot.workers:
        print(f"worker: {worker.completed} completed, {worker.failed} failed, {worker.presence}")

    counts = [asdict(row) for row in snapshot.counts]
    print(json.dumps({"taken_at": snapshot.taken_at.isoformat(), "ready": snapshot.ready, "counts": counts}))


def main(path):
    logging.getLogger("dura").setLevel(logging.ERROR)
    engine = DurableEngine(path)
    for number, amount in enumerate([20, 35, 4200, -1], start=1):
        order = {"order_id": f"ord_{number}", "amount": amount}
        engine.spawn_task(name="charge_order", params=order, max_attempts=1)

    stop = threading.Event()
    options = {"handlers": {"charge_order": charge_order}, "worker_count": 1, "handle_signals": False}
    pool = threading.Thread(
        target=run_workers, args=[engine], kwargs={**options, "stop_event": stop}, daemon=True
    )
    pool.start()
    while engine.task_counts_by_state() != {"completed": 2, "failed": 1, "sleeping": 1}:
        time.sleep(0.02)

    dashboard(path)
    stop.set()
    pool.join()
    engine.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else f"{folder}/monitor.db")
