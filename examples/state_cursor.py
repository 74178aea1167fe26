"""Remember across tasks: a poller keeps its place in a feed in `state`, and counts with `update_state`.

Usage: python examples/state_cursor.py [path]
"""

import sys
import tempfile
import threading
import time
from datetime import timedelta

from dura import DurableEngine, run_workers

FEED = ["v1.0", "v1.1", "v1.2", "v2.0", "v2.1"]
"""Stands for a service that answers "what is new since entry number N"."""

PAGE = 2


def poll_feed(engine, task):
    cursor = engine.get_state(namespace="feeds", key="releases.cursor", default=0)
    new = engine.checkpoint(task_id=task.task_id, step_name="fetch", fn=lambda: FEED[cursor : cursor + PAGE])
    print(f"poll from {cursor}: {', '.join(new) or 'nothing new'}")
    if not new:
        return "up to date"

    engine.set_state(namespace="feeds", key="releases.cursor", value=cursor + len(new))
    # Read, change and write in one transaction: no count is lost, whoever else counts at the same time.
    for entry in new:
        major = entry.partition(".")[0]
        engine.update_state(namespace="counters", key=major, fn=lambda count: count + 1, default=0)

    spawn_poll(engine, cursor + len(new), after=timedelta(seconds=0.2))
    return f"{len(new)} new"


def spawn_poll(engine, cursor, after=None):
    engine.spawn_task(
        name="poll_feed", params={}, available_after=after, idempotency_key=f"poll_feed:{cursor}"
    )


def main(path):
    engine = DurableEngine(path)
    spawn_poll(engine, 0)

    stop = threading.Event()
    options = {"handlers": {"poll_feed": poll_feed}, "worker_count": 1, "handle_signals": False}
    pool = threading.Thread(
        target=run_workers, args=[engine], kwargs={**options, "stop_event": stop}, daemon=True
    )
    pool.start()
    while set(engine.task_counts_by_state()) != {"completed"}:
        time.sleep(0.02)
    stop.set()
    pool.join()

    print(f"cursor: {engine.get_state(namespace='feeds', key='releases.cursor')}")
    print(f"counters: {engine.list_state('counters')}")
    engine.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else f"{folder}/cursor.db")
