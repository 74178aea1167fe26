"""Wait for a person without holding a worker: one order is approved, nobody answers for the other.

Usage: python examples/approval.py [path]
"""

import sys
import tempfile
import threading
import time

from dura import DurableEngine, run_workers

NOBODY = {"approved": False, "by": "nobody"}


def charge_order(engine, task):
    order_id = task.params["order_id"]
    # Parks the run: this function is left here, and entered again from the top once there is an answer. What must not
    # happen twice belongs in a checkpoint.
    answer = engine.wait_for_event(
        run_id=task.run_id,
        task_id=task.task_id,
        step_name="approval",
        event_name=f"approved:{order_id}",
        timeout_secs=2,
        on_timeout=NOBODY,
    )
    say(f"{order_id}: {'ship it' if answer['approved'] else 'refund it'}, decided by {answer['by']}")
    return answer


def approve(engine, order_id):
    emitted = engine.emit_event(event_name=f"approved:{order_id}", payload={"approved": True, "by": "ada"})
    say(f"approval of {order_id} emitted: it woke {len(emitted.woken)} task")
    late = engine.emit_event(event_name=f"approved:{order_id}", payload={"approved": False, "by": "bob"})
    say(f"a second answer for {order_id}: first={late.first}, so it changed nothing")
    engine.close()


def say(line):
    sys.stdout.write(f"{line}\n")  # In one piece, unlike print: other threads write too.


def main(path):
    engine = DurableEngine(path)
    orders = [engine.spawn_task(name="charge_order", params={"order_id": f"ord_{n}"}) for n in (1, 2)]

    stop = threading.Event()
    options = {"handlers": {"charge_order": charge_order}, "worker_count": 1, "handle_signals": False}
    pool = threading.Thread(
        target=run_workers, args=[engine], kwargs={**options, "stop_event": stop}, daemon=True
    )
    pool.start()

    while engine.task_counts_by_state().get("sleeping") != len(orders):
        time.sleep(0.02)
    say("both orders wait, and the only worker is free")

    # Any thread or process that opens the store can answer; so can a person, with `dura emit` or in `dura-tui`.
    threading.Thread(target=approve, args=[engine, "ord_1"]).start()

    while engine.task_counts_by_state().get("completed") != len(orders):
        time.sleep(0.02)
    stop.set()
    pool.join()
    engine.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else f"{folder}/approval.db")
