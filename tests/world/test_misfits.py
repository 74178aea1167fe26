"""A record that holds what its field cannot is found, wherever it lies in a snapshot."""

from __future__ import annotations

import dataclasses
from dataclasses import fields
from typing import Any

import pytest

from cli.shop import stock
from dura.monitor import Monitor
from dura.records import Snapshot, Want
from dura.records.misfits import misfit
from world.doors import EVERYTHING

replace: Any = dataclasses.replace
"""Without its types, since what is put in is wrong."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    shop = stock(tmp_path_factory.mktemp("misfits") / "store.db")
    with Monitor(shop.path) as monitor:
        return monitor.snapshot(replace(EVERYTHING, task_id=shop.waiting))


def test_all_of_a_sound_store_fits(whole: Snapshot) -> None:
    assert misfit(whole) is None
    assert misfit((whole, whole)) is None
    assert misfit("no record") is None
    assert [name.name for name in fields(Want) if not hasattr(EVERYTHING, name.name)] == []


@pytest.mark.parametrize("wrong", [b"bytes", 3 + 1j, object()])
def test_each_field_of_each_row_is_looked_at(whole: Snapshot, wrong: Any) -> None:
    looked_at = 0
    for part in fields(Snapshot):
        held = getattr(whole, part.name)
        if isinstance(held, tuple) and held and hasattr(held[0], "__dataclass_fields__"):
            for field in fields(held[0]):
                spoilt = replace(whole, **{part.name: (*held, replace(held[0], **{field.name: wrong}))})
                place = misfit(spoilt)
                if field.type != "Any":
                    assert place == f"{part.name}[{len(held)}].{field.name}"
                    looked_at += 1
    assert looked_at > 60
    assert whole.task is not None
    spoilt = replace(whole, task=replace(whole.task, task=replace(whole.task.task, name=None)))
    assert misfit(spoilt) == "task.task.name"
