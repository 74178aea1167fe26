"""Following one task: what is told of it, in lines or on a terminal, and the code it ends with."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import claim, wait_until
from dura import DurableEngine, RetryStrategy
from dura.states import State
from dura_tui.watch import NOT_FOUND, OUTCOMES, TIMED_OUT
from tui.far_end import Terminal
from tui.test_once import NO_TEXTUAL


@pytest.fixture
def live(path: Path) -> Iterator[DurableEngine]:
    """An engine by the machine's clock, which the watching process goes by as well."""
    engine = DurableEngine(path)
    yield engine
    engine.close()


def start(path: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", NO_TEXTUAL, str(path), "--refresh", "0.1", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        output, trouble = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    return process.returncode, output, trouble


def test_a_task_is_told_in_plain_lines_until_it_completes(path: Path, live: DurableEngine) -> None:
    task_id = live.spawn_task(
        name="charge_order", params=None, retry=RetryStrategy(kind="fixed", base_seconds=0, jitter_factor=0)
    ).task_id
    process = start(path, "--watch", task_id[-8:])
    lines: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
    reader.start()
    first = claim(live, worker_id="web1:4711:1")
    live.fail_run(
        run_id=first.run_id,
        reason={"type": "TimeoutError", "message": "\x1b[31mno"},
        claim_token=first.claim_token,
    )
    second = claim(live, worker_id="web1:4711:2")
    live.checkpoint(
        task_id=task_id, step_name="charge", fn=lambda: "ch_1",
        owner_run_id=second.run_id, claim_token=second.claim_token,
    )  # fmt: skip
    wait_until(lambda: any("step charge finished" in line for line in lines))
    live.complete_run(run_id=second.run_id, result={"paid": True}, claim_token=second.claim_token)
    reader.join(60)
    assert process.wait(60) == OUTCOMES[State.COMPLETED] == 0
    told = [line[10:].rstrip() for line in lines if "waits for a worker" not in line]
    assert told[:3] == [
        "attempt 1 began on web1:4711:1",
        "✗ failed attempt 1: TimeoutError: \\x1b[31mno",
        "attempt 2 began on web1:4711:2",
    ]
    assert told[3].startswith("step charge finished")
    assert lines[-1].startswith(f"✓ completed  charge_order {task_id}, 2 attempts after ")
    assert '{"paid"' in lines[-1]
    assert "\x1b" not in "".join(lines)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()


def test_each_outcome_has_its_code(path: Path, live: DurableEngine) -> None:
    failed = live.spawn_task(name="a", params=None, max_attempts=1)
    task = claim(live)
    live.fail_run(run_id=task.run_id, reason={"type": "E", "message": "no"}, claim_token=task.claim_token)
    cancelled = live.spawn_task(name="b", params=None)
    live.cancel_task(cancelled.task_id)
    assert end(start(path, "--watch", failed.task_id))[0] == OUTCOMES[State.FAILED] == 3
    assert end(start(path, "--watch", cancelled.task_id))[0] == OUTCOMES[State.CANCELLED] == 4


def test_a_task_that_does_not_end_in_time_goes_on_unwatched(path: Path, live: DurableEngine) -> None:
    task = live.spawn_task(name="a", params=None)
    code, output, _ = end(start(path, "--watch", task.task_id, "--timeout", "200ms"))
    assert (code, output.splitlines()[-1]) == (TIMED_OUT, "not ended in time; it goes on, unwatched")
    assert live.get_task(task.task_id).state == "pending"
    [line, _] = output.splitlines()
    assert re.fullmatch(r"[0-9:]{8}  \S pending, attempt 1 waits for a worker since [0-9:]{8}", line)


def test_what_names_no_task_or_several_is_told(path: Path, live: DurableEngine) -> None:
    tasks = [live.spawn_task(name="a", params=None).task_id for _ in range(2)]
    code, _, trouble = end(start(path, "--watch", "zzzz"))
    assert (code, trouble) == (NOT_FOUND, "dura-tui: no task's id holds 'zzzz'\n")
    code, _, trouble = end(start(path, "--watch", tasks[0][:3]))
    assert (code, "4 characters of it are needed" in trouble) == (NOT_FOUND, True)
    code, _, trouble = end(start(path, "--watch", tasks[0][:4]))
    assert code == 2
    assert all(task in trouble for task in tasks)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--watch", "abcd", "--json"), "leave out --demo, --once and --json"),
        (("--watch", "abcd", "--filter", "name:a"), "leave out --view, --filter and --sort"),
        (("--timeout", "5m"), "--timeout is for --watch"),
        (("--watch", "abcd", "--timeout", "soon"), "is no duration"),
    ],
)
def test_what_does_not_go_together_is_refused(path: Path, arguments: tuple[str, ...], words: str) -> None:
    code, _, trouble = end(start(path, *arguments))
    assert code == 2
    assert words in trouble


def test_a_watch_without_a_store_is_not_offered_the_demo_that_it_refuses(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dura_tui", "--watch", "abcd"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "Give the path of its file" in done.stderr
    assert "--demo" not in done.stderr


def test_on_a_terminal_a_last_line_says_where_the_task_is(path: Path, live: DurableEngine) -> None:
    task_id = live.spawn_task(name="charge_order", params=None, steps=["charge", "receipt"]).task_id
    terminal = Terminal("-m", "dura_tui", path, "--refresh", "0.1", "--watch", task_id[-8:])
    try:
        wait_until(lambda: f"○ pending  charge_order {task_id[-8:]}" in said(terminal))
        task = claim(live, timeout_secs=60)
        wait_until(lambda: "● running  charge_order" in said(terminal))
        assert b"\x1b[?1049h" not in terminal.output
        live.complete_run(run_id=task.run_id, result=None, claim_token=task.claim_token)
        assert terminal.process.wait(60) == 0
        wait_until(lambda: "✓ completed" in said(terminal) and b"\x1b[?25h" in terminal.output)
    finally:
        terminal.end()


def said(terminal: Terminal) -> str:
    """All that was written, without what moves and colours."""
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", terminal.output).decode()
