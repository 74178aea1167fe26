"""Every door to a store, for looking and for acting, held to the law of a bad world.

Whatever the file is, a door works, or says in its own way which file is at fault: an error that names it, an exit code with a
line or two, a reason on the monitor's screen. Never another exception. A door for looking leaves no trace.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from datetime import timedelta
from pathlib import Path
from queue import Queue
from typing import Any, Final

from conftest import ManualClock
from dura import DurableEngine, EngineError, StoreError
from dura.cli import main as dura_main
from dura.clock import system_clock
from dura.monitor import Monitor
from dura.records import AuditQuery, FailureKey, TaskQuery, Want
from dura_tui.cli import main as tui_main
from dura_tui.feed import Feed
from dura_tui.messages import ReadFailed, SnapshotArrived

EVERYTHING: Final = Want(
    leases=20, sleepers=20, awaited=20, events=20, event="rates:today", waiting=True, approvals=20, template="approved:1",
    failures=20, failure_groups="step", failed_tasks=FailureKey(by="error", key="ValueError"), workers=True, queues=True,
    throughput=True, tasks=TaskQuery(sort="due"), namespaces=True, namespace="poller", audit=20, audit_query=AuditQuery(),
)  # fmt: skip


class LawBrokenError(AssertionError):
    """A door did what it must not."""


def told(answer: str | StoreError, path: Path) -> str:
    """An answer that is no success, which has to name the file: of what kind it is, and what it says."""
    kind = "a reason" if isinstance(answer, str) else type(answer).__name__
    if str(path) not in str(answer):
        raise LawBrokenError(f"the answer does not name the file: {answer}")
    return f"{kind}: {answer}"


def snapshot(path: Path, known: str) -> str:
    """Look through the monitor at everything there is. Returns how it ended."""
    try:
        with Monitor(path) as monitor:
            monitor.snapshot(EVERYTHING)
            monitor.snapshot(
                Want(task_id=known, failure_groups="error", tasks=TaskQuery(sort="name", text="o"))
            )
            monitor.changed()
            monitor.find_tasks(known[-6:])
    except StoreError as error:
        return told(error, path)
    return "answered"


def _program(main: Callable[[list[str]], int], arguments: list[str], path: Path, wrong: int) -> str:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    said = err.getvalue()
    if "Traceback" in said + out.getvalue() and code != 0:
        raise LawBrokenError(f"{arguments}: {said}")
    if code == wrong:
        told(said, path)
    elif code and not said + out.getvalue():
        raise LawBrokenError(f"{arguments} ended with {code} and no word")
    return f"exit {int(code)}: {said}" if code else "exit 0"


_COMMANDS: Final = (
    ["status"], ["tasks"], ["task", "ID"], ["leases"], ["sleeping"], ["events"], ["state"], ["state", "poller"], ["audit"],
    ["tasks", "--state", "failed", "--sort", "name"],
)  # fmt: skip


def looking_command(number: int) -> Callable[[Path, str], str]:
    """`dura` with one of the commands that look."""
    command, *rest = _COMMANDS[number % len(_COMMANDS)]
    form = ["--json"] if number // len(_COMMANDS) % 2 else []

    def look(path: Path, known: str) -> str:
        return _program(
            dura_main,
            [command, str(path), *(known if word == "ID" else word for word in rest), *form],
            path,
            3,
        )

    return look


def once(path: Path, known: str) -> str:
    """`dura-tui --once`."""
    return _program(tui_main, ["--once", str(path)], path, 1)


def once_as_json(path: Path, known: str) -> str:
    """`dura-tui --json`."""
    return _program(tui_main, ["--json", str(path)], path, 1)


def feed(path: Path, known: str) -> str:
    """What the monitor's screen would be told."""
    posted: Queue[Any] = Queue()
    reading = Feed(lambda: Monitor(path), posted.put, refresh=0.1, clock=system_clock)
    reading.want(EVERYTHING)
    reading.start()
    try:
        message = posted.get(timeout=60)
    finally:
        reading.stop()
    if isinstance(message, ReadFailed):
        return told(message.reason, path)
    if not isinstance(message, SnapshotArrived):
        raise LawBrokenError(f"the feed posted {message!r}")
    return "answered"


def engine(path: Path, known: str) -> str:
    """Open the store for work and make calls of every kind."""
    clock = ManualClock()
    try:
        opened = DurableEngine(path, clock=clock, create=False, busy_timeout_ms=300, synchronous="NORMAL")
    except StoreError as error:
        return told(error, path)
    refused: list[str] = []
    with closing(opened):
        calls: tuple[Callable[[], object], ...] = (
            lambda: opened.get_task(known),
            opened.task_counts_by_name_and_state,
            opened.ready_run_count,
            opened.seconds_until_due,
            lambda: opened.recent_failures(limit=50),
            lambda: opened.list_state("poller"),
            lambda: opened.spawn_task(name="new", params={"n": 1}, idempotency_key="charge:ord_1"),
            lambda: opened.emit_event(event_name="approved:ord_1", payload=1),
            lambda: _work(opened),
            lambda: opened.requeue_task(known),
            lambda: opened.set_state(namespace="poller", key="cursor", value=2),
            lambda: opened.update_state(namespace="poller", key="cursor", fn=lambda value: [value]),
            lambda: opened.cancel_duplicate_tasks("remind"),
            lambda: opened.cleanup(timedelta(0)),
            opened.check,
        )
        for call in calls:
            try:
                call()
            except StoreError as error:
                refused.append(told(error, path))
            except EngineError as error:
                refused.append(type(error).__name__)
    return f"worked in part: {refused}" if refused else "worked"


def _work(opened: DurableEngine) -> None:
    for _ in range(3):
        task = opened.claim_task(worker_id="w", timeout_secs=5)
        if task is None:
            return
        opened.checkpoint(task_id=task.task_id, step_name="s", fn=lambda: 1, owner_run_id=task.run_id)
        opened.extend_claim(run_id=task.run_id, by_secs=5)
        opened.get_checkpoint(task_id=task.task_id, step_name="charge")
        if task.attempt != 2:
            opened.complete_run(run_id=task.run_id, result=1, claim_token=task.claim_token)
        else:
            opened.fail_run(run_id=task.run_id, reason={"type": "E"}, claim_token=task.claim_token)


def acting_command(number: int) -> Callable[[Path, str], str]:
    """`dura` with one of the commands that act."""
    commands = (
        ["check"], ["check", "--repair"], ["emit", "approved:ord_1"], ["cancel", "ID"], ["requeue", "ID"],
        ["wake", "ID"], ["extend", "ID", "--by", "5"], ["cleanup", "--older-than", "0"], ["upgrade", "--compact"],
    )  # fmt: skip
    command, *rest = commands[number % len(commands)]

    def act(path: Path, known: str) -> str:
        arguments = [
            command,
            str(path),
            *(known if word == "ID" else word for word in rest),
            "--lock-timeout",
            "300ms",
        ]
        return _program(dura_main, arguments, path, 3)

    act.__name__ = command
    return act


Door = Callable[[Path, str], str]
"""Given the store and the id of a task in it; says how it ended."""


def looking(number: int) -> tuple[Door, ...]:
    """Every door that looks, another one first for each number."""
    doors = (
        snapshot, looking_command(number // 8), snapshot, feed, snapshot, looking_command(number // 8 + 4), once,
        once_as_json,
    )  # fmt: skip
    place = number % len(doors)
    return tuple(dict.fromkeys((*doors[place:], *doors[:place])))


def acting(number: int) -> Door:
    """A door that acts."""
    return engine if number % 3 else acting_command(number // 3)
