"""Every public call of the engine, found by introspection, with arguments of every kind."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ManualClock
from counts import Count
from dura import DurableEngine
from fuzz.calls import FOR_POOLS, PUBLIC, Facts, arguments, digest, obey, plausible
from fuzz.scene import SETTINGS, SOAK, fill


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Facts]:
    path = tmp_path_factory.mktemp("fuzz") / "store.db"
    engine = DurableEngine(path, clock=ManualClock())
    facts = fill(engine)
    engine.close()
    return path, facts


def test_every_argument_of_every_call_has_its_values() -> None:
    facts = Facts({"t": "r"})
    for call in PUBLIC.values():
        arguments(call, facts)
        for name in call.__code__.co_varnames[
            1 : call.__code__.co_argcount + call.__code__.co_kwonlyargcount
        ]:
            plausible(name, facts)
    assert set(PUBLIC) >= {"spawn_task", "claim_task", "checkpoint", "update_state"}
    assert not FOR_POOLS & set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_call_succeeds_or_refuses_by_name_and_writes_nothing(
    name: str,
    template: tuple[Path, Facts],
    tmp_path: Path,
    count: Count,
) -> None:
    kept, facts = template
    path = tmp_path / "store.db"
    ends: Counter[str] = Counter()

    @SETTINGS
    @given(st.lists(arguments(PUBLIC[name], facts), min_size=1, max_size=4))
    def fuzz(calls: list[dict[str, Any]]) -> None:
        for leftover in tmp_path.iterdir():
            leftover.unlink()
        shutil.copy(kept, path)
        engine = DurableEngine(path, clock=ManualClock(), synchronous="NORMAL")
        try:
            for given_arguments in calls:
                end = obey(getattr(engine, name), given_arguments, lambda: digest(path))
                ends["done" if end is None else end.__name__] += 1
            assert engine.check() == ()
        finally:
            engine.close()

    fuzz()
    count("calls of the engine with drawn arguments", ends.total())
    # So few draws may miss what makes the one or other call succeed; the soak's may not.
    assert ends["done"] or not SOAK, ends
