"""The benchmark harness runs a row end to end, and its report says what was measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_one_tiny_row_is_measured_and_reported(tmp_path: Path) -> None:
    kept = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks", "--scale", "tiny", "--rows", "drain-full-8"]
    chosen = ["--systems", "dura", "bare", "--rounds", "1"]
    places = ["--python", sys.executable, "--cache", str(tmp_path / "cache"), "--json", str(kept)]
    done = subprocess.run([*command, *chosen, *places], cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    cells = json.loads(kept.read_text())["cells"]
    assert {cell["system"]: cell["durability"]["synchronous"] for cell in cells} == {
        "dura": ["FULL"],
        "bare": ["FULL"],
    }
    assert all(cell["metrics"]["rate"] > 0 for cell in cells)
    assert "| no-op tasks/s, FULL, 8 workers" in done.stdout
    assert not list((tmp_path / "cache" / "stores").iterdir())
