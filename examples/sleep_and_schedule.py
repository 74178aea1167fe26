"""Let time pass without holding a worker: a durable sleep inside a task, and a task that spawns its own next turn.

Usage: python examples/sleep_and_schedule.py [path]
"""

import sys
import tempfile
import threading
import time
from datetime import timedelta

from dura import DurableEngine, run_workers

TURNS = 3


def remind(engine, task):
    engine.checkpoint(task_id=task.task_id, step_name="first mail", fn=lambda: print("remind: first mail"))
    # Parks the run for as long as it takes, days too; the time of waking survives crashes and restarts.
    engine.sleep(run_id=task.run_id, task_id=task.task_id, step_name="wait", seconds=1)
    engine.checkpoint(task_id=task.task_id, step_name="second mail", fn=lambda: print("remind: second mail"))


def report(engine, task):
    turn = task.params["turn"]
    print(f"report: turn {turn}")
    if turn < TURNS:
        schedule_report(engine, turn + 1, timedelta(seconds=0.4))


def schedule_report(engine, turn, after):
    # The key makes one task of each turn: an attempt that dies after this line and is tried again spawns no second one.
    return engine.spawn_task(
        name="report", params={"turn": turn}, available_after=after, idempotency_key=f"report:{turn}"
    )


def main(path):
    engine = DurableEngine(path)
    engine.spawn_task(name="remind", params={})
    first = schedule_report(engine, 1, timedelta(0))
    again = schedule_report(engine, 1, timedelta(0))
    print(f"the first turn was scheduled twice and spawned once: {first.task_id == again.task_id}")

    stop = threading.Event()
    options = {"handlers": {"remind": remind, "report": report}, "worker_count": 1, "handle_signals": False}
    pool = threading.Thread(
        target=run_workers, args=[engine], kwargs={**options, "stop_event": stop}, daemon=True
    )
    pool.start()
    while engine.task_counts_by_state().get("completed") != 1 + TURNS:
        time.sleep(0.02)
    stop.set()
    pool.join()
    print(f"completed: {engine.task_counts_by_state()['completed']} tasks with one worker")
    engine.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else f"{folder}/schedule.db")
