"""Engine and reference model agree, whatever is done to them.

`make soak` (DURA_TEST_SOAK=1) looks far longer, at other examples each time, and keeps what failed in .hypothesis to begin with
it the next time. A failing example is printed as the calls that show it.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from counts import Count
from dura import DurableEngine
from model.machine import Machine

_ENGINE: Final = "hypothesis.internal.conjecture.engine"
_ANY: Final = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    report_multiple_bugs=False,
    phases=[Phase.reuse, Phase.generate, Phase.shrink],
)
_QUICK: Final = settings(_ANY, max_examples=50, stateful_step_count=40, derandomize=True, database=None)
_SOAK: Final = settings(
    _ANY, max_examples=int(os.environ.get("DURA_TEST_EXAMPLES", "5000")), stateful_step_count=60
)


def test_engine_and_model_agree(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, count: Count
) -> None:
    caplog.set_level(logging.ERROR, logger="dura")
    monkeypatch.setattr(f"{_ENGINE}.MAX_SHRINKING_SECONDS", 60)
    # Most of its examples would be an earlier one with some choices doubled: here new ones find more.
    monkeypatch.setattr(f"{_ENGINE}.ConjectureRunner.generate_mutations_from", lambda runner, data: None)
    faulthandler.cancel_dump_traceback_later()
    # A few waiters of an event are very many.
    monkeypatch.setattr("dura.store.events._WAKE_BATCH", 2)
    DurableEngine(tmp_path / "blank.db").close()
    done: Counter[str] = Counter()
    profile = _SOAK if os.environ.get("DURA_TEST_SOAK") else _QUICK
    # Hypothesis documents that any function that makes a machine will do.
    run_state_machine_as_test(lambda: Machine(tmp_path, done), settings=profile)  # type: ignore[arg-type]
    machines = done.pop("machines")
    count("stores on which engine and model agreed", machines)
    count("calls on which engine and model agreed", done.total())
    sys.stdout.write(f"engine and model agreed on {done.total()} calls in {machines} stores: {dict(done)}\n")
