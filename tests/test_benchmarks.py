"""The benchmark harness runs rows end to end, its large stores are sound, and its report says what was measured."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dura import DurableEngine

ROOT = Path(__file__).parents[1]

EACH_IN_A_FORK = """
import os
from benchmarks.mechanisms import MECHANISMS
for mechanism in MECHANISMS:
    child = os.fork()
    if child == 0:
        mechanism.off()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, mechanism.id
print(len(MECHANISMS))
"""


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the harness, which is no package of ours."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module


def run(module: str, tmp_path: Path, *arguments: str) -> tuple[str, list[dict[str, Any]]]:
    """What a command of the harness prints, and the cells that it keeps."""
    kept = tmp_path / "results.json"
    command = [sys.executable, "-m", module, "--scale", "tiny", "--rounds", "1", *arguments]
    places = ["--python", sys.executable, "--cache", str(tmp_path / "cache"), "--into", str(kept)]
    done = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(kept.read_text())["cells"]


def test_one_tiny_row_is_measured_and_reported(tmp_path: Path) -> None:
    report, cells = run("benchmarks", tmp_path, "--rows", "drain-full-8", "--systems", "dura", "bare")

    assert {cell["system"]: cell["durability"]["synchronous"] for cell in cells} == {
        "dura": ["FULL"],
        "bare": ["FULL"],
    }
    assert all(cell["metrics"]["rate"] > 0 for cell in cells)
    assert "| no-op tasks/s, FULL, 8 workers" in report
    assert not list((tmp_path / "cache" / "stores").iterdir())


def test_results_of_other_rows_are_kept_when_a_row_is_measured_again(tmp_path: Path) -> None:
    run("benchmarks", tmp_path, "--rows", "counts", "--systems", "dura")
    _, cells = run("benchmarks", tmp_path, "--rows", "bulk", "--systems", "dura")
    assert [cell["row"] for cell in cells] == ["counts", "bulk"]


def test_the_engine_is_measured_with_and_without_a_mechanism(tmp_path: Path) -> None:
    report, cells = run("benchmarks.ablation", tmp_path, "--without", "company", "--rows", "drain-full-8")
    assert [cell["system"] for cell in cells] == ["dura", "dura-without"]
    assert "| commit for all who wait" in report


def test_every_mechanism_can_be_switched_off() -> None:
    """Each in a process of its own; one that the engine no longer has raises."""
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-c", EACH_IN_A_FORK]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_a_built_store_is_one_that_the_engine_could_have_left(tmp_path: Path, harness: Any) -> None:
    path = str(tmp_path / "store.db")
    DurableEngine(path).close()
    rows = {"completed": 300, "running": 200, "sleeping": 12_000, "pending": 50}
    harness("benchmarks.bulk_rows").add(path, rows)

    engine = DurableEngine(path)
    assert engine.check() == ()
    assert engine.task_counts_by_state() == rows
    assert engine.ready_run_count() == rows["pending"]
    claimed = [engine.claim_task(worker_id="w", timeout_secs=60) for _ in range(rows["pending"] + 1)]
    assert claimed.pop() is None, "leases and sleepers must be far from their time"
    ids = [task.task_id for task in claimed if task is not None]
    assert ids == sorted(ids), "ids must sort by time, as the engine's do"
    engine.close()


def test_a_ratio_is_formed_in_each_round_anew(harness: Any) -> None:
    results, cell = harness("benchmarks.results"), harness("benchmarks.running").Cell
    halved_in_the_second_round = [
        ("dura", 0, 400.0),
        ("huey", 0, 200.0),
        ("dura", 1, 200.0),
        ("huey", 1, 100.0),
    ]
    cells = [
        cell("row", system, number, "tiny", {"rate": rate})
        for system, number, rate in halved_in_the_second_round
    ]
    ratio = results.Results({}, cells=cells).against("row", ("dura", "rate"), ("huey", "rate"))
    assert (ratio.low, ratio.median, ratio.high) == (2.0, 2.0, 2.0)


def test_a_prepared_store_is_made_once_and_copied(tmp_path: Path, harness: Any) -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_text("rows")

    prepared = harness("benchmarks.prepared").Prepared(tmp_path / "prepared")
    for name in ("one.db", "two.db"):
        prepared.copy("signature-rows-1", tmp_path / name, make)
        assert (tmp_path / name).read_text() == "rows"
    assert len(made) == 1
    prepared.drop_large()
    assert prepared.size() == len("rows"), "what is small is kept"
