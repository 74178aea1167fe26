"""Every example runs by itself, ends by itself, says what it claims to show, and leaves a sound store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dura import DurableEngine

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def run(name: str, *arguments: str, temporary: Path) -> list[str]:
    """The lines that the example prints; it must succeed and complain about nothing."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def story(name: str, path: Path) -> list[str]:
    """Run the example on a path; afterwards the store must be sound and closed."""
    lines = run(name, str(path), temporary=path.parent)
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]
    engine = DurableEngine(path, create=False)
    assert engine.check() == ()
    engine.close()
    return lines


def test_quickstart_runs_each_step_once_and_spawns_once(path: Path) -> None:
    lines = story("quickstart", path)
    assert [line for line in lines if "step" in line] == [
        "  step charge: 42 EUR for ord_1",
        "  step receipt: for charge ch_1",
    ]
    assert "spawned with the same key: created=False, same task=True" in lines
    assert lines[-1] == "completed after 1 attempt: {'order': 'ord_1', 'charge': 'ch_1'}"


def test_approval_ships_what_was_approved_and_refunds_what_was_not(path: Path) -> None:
    lines = story("approval", path)
    assert lines[0] == "both orders wait, and the only worker is free"
    assert "approval of ord_1 emitted: it woke 1 task" in lines
    assert "a second answer for ord_1: first=False, so it changed nothing" in lines
    decided = [line for line in lines if "decided by" in line]
    assert decided == ["ord_1: ship it, decided by ada", "ord_2: refund it, decided by nobody"]


def test_retries_keep_the_finished_step_and_end_at_max_attempts(path: Path) -> None:
    lines = story("retries", path)
    assert sum("loaded" in line for line in lines) == 2
    assert [line for line in lines if line.startswith("  flaky: push")] == [
        f"  flaky: push, attempt {attempt}" for attempt in (1, 2, 3)
    ]
    assert sum(line.startswith("  hopeless: push") for line in lines) == 4
    assert lines[-3:] == [
        "flaky: completed after 3 attempts: {'synced': 'flaky'}",
        "hopeless: failed after 4 attempts: ValueError: the record has no e-mail address",
        "6 failed attempts are on record",
    ]


def test_crash_and_resume_runs_the_finished_step_once_and_the_interrupted_one_again(path: Path) -> None:
    assert story("crash_and_resume", path) == [
        "attempt 1, taken back 0 time(s)",
        "  step reserve runs",
        "  step charge runs",
        "the worker process was killed in the middle of that step: exit code -9",
        "attempt 1, taken back 1 time(s)",
        "  step charge runs",
        "completed at attempt 1: shipped",
    ]


def test_sleep_and_schedule_lets_turns_pass_while_the_only_worker_is_free(path: Path) -> None:
    lines = story("sleep_and_schedule", path)
    assert lines[0] == "the first turn was scheduled twice and spawned once: True"
    turns = ["report: turn 1", "report: turn 2", "report: turn 3"]
    assert [line for line in lines if line.startswith("report")] == turns
    assert [line for line in lines if line.startswith("remind")] == [
        "remind: first mail",
        "remind: second mail",
    ]
    assert lines.index(turns[0]) < lines.index("remind: second mail")
    assert lines[-1] == "completed: 4 tasks with one worker"


def test_state_cursor_reads_every_entry_once(path: Path) -> None:
    assert story("state_cursor", path) == [
        "poll from 0: v1.0, v1.1",
        "poll from 2: v1.2, v2.0",
        "poll from 4: v2.1",
        "poll from 5: nothing new",
        "cursor: 5",
        "counters: {'v1': 3, 'v2': 2}",
    ]


def test_queues_and_lanes_keep_to_priority_queue_and_lane(path: Path) -> None:
    lines = story("queues_and_lanes", path)
    assert lines[1:4] == [f"  dura-worker-0: {what}" for what in ("express order", "order", "newsletter")]
    report = lines.index("  dura-worker-0: report")
    assert lines.index("  the report is still pending") < report
    rush = lines[report + 2 :]
    assert len(rush) == 8
    assert all(line.startswith("  dura-worker-1") for line in rush if "express" in line)


def test_monitor_json_prints_a_dashboard_and_json(path: Path) -> None:
    *lines, text = story("monitor_json", path)
    assert lines == [
        "tasks: 2 completed, 1 failed, 1 sleeping",
        "waiting: 1 for approved:ord_3",
        "failed: charge_order, an order cannot cost less than nothing",
        "worker: 2 completed, 1 failed, alive",
    ]
    counts = {row["state"]: row["count"] for row in json.loads(text)["counts"]}
    assert counts == {"completed": 2, "failed": 1, "sleeping": 1}


@pytest.mark.parametrize("name", NAMES)
def test_example_is_short_says_how_to_run_it_and_is_tested(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len(text.splitlines()) < 80
    assert f"Usage: python examples/{name}.py [path]\n" in text
    assert re.search(rf'story\("{name}"', Path(__file__).read_text())


def test_example_without_a_path_leaves_nothing_behind(tmp_path: Path) -> None:
    assert run("quickstart", temporary=tmp_path)[-1].startswith("completed")
    assert list(tmp_path.iterdir()) == []
