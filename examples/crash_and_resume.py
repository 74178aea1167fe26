"""Kill a worker process in the middle of a step: another one takes over, and what was finished is not run again.

Usage: python examples/crash_and_resume.py [path]
"""

import subprocess
import sys
import tempfile
import threading
import time

from dura import DurableEngine, run_workers

LEASE_SECONDS = 1.0
WORKER = "worker"


def charge_order(engine, task):
    print(f"attempt {task.attempt}, taken back {task.reclaims} time(s)", flush=True)
    engine.checkpoint(task_id=task.task_id, step_name="reserve", fn=lambda: say("reserve"))
    engine.checkpoint(task_id=task.task_id, step_name="charge", fn=lambda: charge(task))
    return "shipped"


def say(step):
    print(f"  step {step} runs", flush=True)
    return f"{step} is done"


def charge(task):
    say("charge")
    if task.reclaims == 0:
        time.sleep(60)  # Long enough to be killed here, with no chance to clean up.
    return "charge is done"


def work(path, stop=None):
    run_workers(
        DurableEngine(path),
        handlers={"charge_order": charge_order},
        worker_count=1,
        claim_timeout_secs=LEASE_SECONDS,
        handle_signals=stop is None,
        stop_event=stop,
    )


def main(path):
    engine = DurableEngine(path)
    task = engine.spawn_task(name="charge_order", params={"order_id": "ord_1"})

    with subprocess.Popen(
        [sys.executable, __file__, path, WORKER], stdout=subprocess.PIPE, text=True
    ) as child:
        for line in child.stdout:
            print(line, end="")
            if "step charge" in line:
                break
        child.kill()  # SIGKILL
    print(f"the worker process was killed in the middle of that step: exit code {child.returncode}")

    stop = threading.Event()
    rescuer = threading.Thread(target=work, args=[path, stop], daemon=True)
    rescuer.start()
    while engine.get_task(task.task_id).state != "completed":
        time.sleep(0.02)
    stop.set()
    rescuer.join()
    info = engine.get_task(task.task_id)
    print(f"{info.state} at attempt {info.attempts}: {info.result}")
    engine.close()


if __name__ == "__main__":
    if sys.argv[2:] == [WORKER]:
        work(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(sys.argv[1] if len(sys.argv) > 1 else f"{folder}/crash.db")
