"""Decide who runs what, and in which order: queues, priorities, and a lane for bulk work.

Usage: python examples/queues_and_lanes.py [path]
"""

import sys
import tempfile
import threading
import time

from dura import DurableEngine, run_workers


def handle(engine, task):
    worker = threading.current_thread().name
    say(f"  {worker}: {task.params['what']}")
    time.sleep(0.1)


def say(line):
    sys.stdout.write(f"{line}\n")  # In one piece, unlike print: other threads write too.


def drain(engine, title, tasks, **options):
    """Run a pool until these tasks are done."""
    say(title)
    stop = threading.Event()
    pool = threading.Thread(
        target=run_workers,
        args=[engine],
        kwargs={"handlers": {"job": handle}, "handle_signals": False, "stop_event": stop, **options},
        daemon=True,
    )
    pool.start()
    while any(engine.get_task(task.task_id).state != "completed" for task in tasks):
        time.sleep(0.02)
    stop.set()
    pool.join()


def spawn(engine, what, **options):
    return engine.spawn_task(name="job", params={"what": what}, **options)


def main(path):
    engine = DurableEngine(path)

    first = spawn(engine, "newsletter", priority=-10)
    second = spawn(engine, "order", priority=0)
    third = spawn(engine, "express order", priority=10)
    drain(engine, "one worker takes the highest priority first:", [first, second, third], worker_count=1)

    orders = [spawn(engine, f"order {n}") for n in (1, 2)]
    report = spawn(engine, "report", queue="reports")
    drain(engine, "a pool takes from the queues that it serves:", orders, worker_count=2, queues=["default"])
    say(f"  the report is still {engine.get_task(report.task_id).state}")
    drain(engine, "another pool serves the reports:", [report], worker_count=1, queues=["reports"])

    rush = [spawn(engine, f"express order {n}", priority=10) for n in range(1, 7)]
    bulk = [spawn(engine, f"newsletter {n}", priority=-10) for n in (1, 2)]
    # One of the two workers takes nothing above priority 0: however many express orders come, the newsletter goes out.
    drain(
        engine,
        "worker 0 is a lane for low priorities, worker 1 takes anything:",
        rush + bulk,
        worker_count=2,
        lanes=[(0, 1)],
    )
    engine.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else f"{folder}/queues.db")
