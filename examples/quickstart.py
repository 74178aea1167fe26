"""Spawn a task and run it in a worker pool: two steps, each kept once it has finished.

Usage: python examples/quickstart.py [path]
"""

import sys
import tempfile
import threading
import time

from dura import DurableEngine, run_workers


def charge_order(engine, task):
    order = task.params
    charge = engine.checkpoint(task_id=task.task_id, step_name="charge", fn=lambda: charge_card(order))
    engine.checkpoint(task_id=task.task_id, step_name="receipt", fn=lambda: send_receipt(charge))
    return {"order": order["order_id"], "charge": charge["id"]}


def charge_card(order):
    print(f"  step charge: {order['amount']} EUR for {order['order_id']}")
    return {"id": "ch_1", "amount": order["amount"]}


def send_receipt(charge):
    print(f"  step receipt: for charge {charge['id']}")


def main(path):
    engine = DurableEngine(path)

    order = {"order_id": "ord_1", "amount": 42}
    task = engine.spawn_task(name="charge_order", params=order, idempotency_key="charge:ord_1")
    print(f"spawned: created={task.created}")
    again = engine.spawn_task(name="charge_order", params=order, idempotency_key="charge:ord_1")
    print(f"spawned with the same key: created={again.created}, same task={again.task_id == task.task_id}")

    # A service calls run_workers on its main thread and stops with Ctrl-C. Here it has to end by itself.
    stop = threading.Event()
    pool = threading.Thread(
        target=run_workers,
        args=[engine],
        kwargs={
            "handlers": {"charge_order": charge_order},
            "worker_count": 2,
            "handle_signals": False,
            "stop_event": stop,
        },
        daemon=True,
    )
    pool.start()
    while engine.get_task(task.task_id).state != "completed":
        time.sleep(0.02)
    stop.set()
    pool.join()

    info = engine.get_task(task.task_id)
    print(f"{info.state} after {info.attempts} attempt: {info.result}")
    engine.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else f"{folder}/quickstart.db")
