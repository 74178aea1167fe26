"""A handler that forks: its run is its parent's, whichever way the child goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import rows

_PROGRAM = """
import os, sys
from dura import DurableEngine, process_task

def handler(engine, task):
    child = os.fork()
    if child == 0:
        {leaves}
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

engine = DurableEngine(sys.argv[1])
engine.spawn_task(name="job", params=None, max_attempts=1)
process_task(engine, handlers={{"job": handler}}, task=engine.claim_task(worker_id="w"))
print("settled by", os.getpid())
engine.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    ("leaves", "code"),
    [
        ("return 'child'", 0),
        ("sys.exit(7)", 7),
        ("sys.exit('no')", 1),
        ("sys.exit()", 0),
        ("raise ValueError('in the child')", 1),
        ("engine.set_state(namespace='n', key='k', value=1); os._exit(3)", 3),
    ],
)
def test_a_forked_child_that_leaves_the_handler_ends_and_settles_nothing(
    path: Path, leaves: str, code: int
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(leaves=leaves), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout.count("settled by") == 1
    assert rows(path, "SELECT state, completed_payload FROM tasks") == [("completed", str(code))]
    assert rows(path, "SELECT state FROM runs") == [("completed",)]


_LEFT_BEHIND = """
import os, sys, threading, time
from dura import DurableEngine, run_workers

stop, go = threading.Event(), threading.Event()

def handler(engine, task):
    stop.set()
    go.wait(60)

engine = DurableEngine(sys.argv[1])
task = engine.spawn_task(name="job", params=None)
run_workers(engine, handlers={"job": handler}, worker_count=1, stop_event=stop, shutdown_grace_secs=0)
child = os.fork()
if child == 0:
    sys.exit()
os.waitpid(child, 0)
print(engine.get_task(task.task_id).state)
go.set()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_the_end_of_a_forked_child_gives_back_nothing_that_its_parent_has_in_hand(path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _LEFT_BEHIND, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout == "running\n"
