"""Thousands of damaged stores, at every door: each answers or names the file, ends, and does not write where it only looks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from cli.shop import stock
from conftest import claim
from counts import Count
from dura import DurableEngine

SOAK: Final = bool(os.environ.get("DURA_TEST_SOAK"))

SHAPES: Final = ("still", "killed", "killed", "1.3.0")

COUNT: Final = 10_000 if SOAK else 500
"""Mutants of each share."""

CELLS: Final = 1 if SOAK else 12
"""Every how many-th cell is spoilt."""

RELEASE_1_3_0: Final = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """Stores to damage, and the id of a task in each: one at rest, one whose writer was killed, one of the 1.3.0 release."""
    folder = tmp_path_factory.mktemp("kept")
    shapes = {name: folder / name for name in ("still", "killed", "1.3.0")}
    for shape in shapes.values():
        shape.mkdir()
    work = folder / "work.db"
    shop = stock(work)
    engine = DurableEngine(work, synchronous="NORMAL")
    _fill(engine)
    engine.close()
    shutil.copy(work, shapes["still"] / "store.db")
    engine = DurableEngine(work, synchronous="NORMAL")
    _fill(engine)
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(f"{work}{suffix}", shapes["killed"] / f"store.db{suffix}")
    engine.close()
    shutil.copy(RELEASE_1_3_0, shapes["1.3.0"] / "store.db")
    return {name: (shape, shop.failed) for name, shape in shapes.items()}


def _fill(engine: DurableEngine) -> None:
    for number in range(12):
        engine.spawn_task(name="import_report", params={"rows": list(range(number * 20))}, steps=["a", "b"])
        task = claim(engine)
        for step in ("a", "b"):
            engine.checkpoint(
                task_id=task.task_id, step_name=step, fn=partial(str, number), owner_run_id=task.run_id
            )
        engine.emit_event(event_name=f"rates:{number}", payload={"n": number}, actor="ann")
        if number % 2:
            engine.complete_run(run_id=task.run_id, result={"rows": number})
        else:
            engine.fail_run(
                run_id=task.run_id, reason={"type": "ValueError", "message": "bad", "traceback": "x"}
            )


@pytest.mark.parametrize("share", range(len(SHAPES)))
def test_a_store_with_damaged_bytes_is_answered_or_named_at_every_door(
    kept: dict[str, tuple[Path, str]],
    share: int,
    tmp_path: Path,
    count: Count,
) -> None:
    count_all(try_mutants(*kept[SHAPES[share]], tmp_path, "bytes", share * 1_000_000, COUNT, 1), count)


@pytest.mark.parametrize("share", range(2))
def test_a_store_whose_cells_hold_what_they_must_not_is_answered_or_named_at_every_door(
    kept: dict[str, tuple[Path, str]],
    share: int,
    tmp_path: Path,
    count: Count,
) -> None:
    first, step = (share, 2) if SOAK else (share * (CELLS // 2), CELLS)
    count_all(try_mutants(*kept["still"], tmp_path, "cells", first, 10_000, step), count)


def try_mutants(
    kept: Path, known: str, folder: Path, how: str, first: int, count: int, step: int
) -> dict[str, int]:
    """Let a process try them. Returns what it counted."""
    (folder / "mutant").mkdir()
    program = Path(__file__).with_name("mutants.py")
    arguments = [kept, folder / "mutant", known, how, first, count, step]
    done = subprocess.run(
        [sys.executable, str(program), *map(str, arguments)],
        check=False, capture_output=True, text=True, timeout=3600 if SOAK else 300, cwd=folder,
    )  # fmt: skip
    number = (folder / "mutant.number").read_text()
    assert done.returncode == 0, f"mutant {number} of {kept.name} ended the process:\n{done.stderr[-4000:]}"
    report: dict[str, Any] = json.loads(done.stdout)
    assert not report["findings"], "\n\n".join(report["findings"])
    ends: dict[str, int] = report["ends"]
    return ends


def count_all(ends: dict[str, int], count: Count) -> None:
    for what, number in ends.items():
        if what.startswith("mutations"):
            count(what, number)
    sys.stdout.write(f"{ends}\n")
