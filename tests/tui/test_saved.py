"""Saved filters: a small file that is replaced as a whole, and one that is damaged is told and left as it is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dura_tui import saved
from dura_tui.saved import MOST, SavedFilter, SavedFiltersLost

MINE = SavedFilter("mine", "tasks", "state:failed", "-age")
OTHER = SavedFilter("Älter [x]", "failures", "name:import_*")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "not yet" / "filters.json"


def test_filters_are_kept_replaced_and_forgotten(path: Path) -> None:
    assert saved.load(path) == ()
    saved.keep(path, OTHER)
    saved.keep(path, MINE)
    assert saved.load(path) == (MINE, OTHER)
    again = SavedFilter("mine", "audit", "actor:ann")
    saved.keep(path, again)
    assert saved.load(path) == (again, OTHER)
    saved.forget(path, "mine")
    saved.forget(path, "nobody")
    assert saved.load(path) == (OTHER,)
    assert os.listdir(path.parent) == ["filters.json"]
    assert path.stat().st_mode & 0o077 == 0


def test_a_link_to_the_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    path.parent.mkdir()
    path.symlink_to(real)
    saved.keep(path, MINE)
    assert path.is_symlink()
    assert saved.load(real) == (MINE,)


ENTRY = {"name": "a", "view": "tasks", "filter": "x", "sort": ""}

DAMAGED = (
    ("", "is damaged: Expecting value"),
    ("[1]", "no list of filters"),
    ('{"version": 1, "filters": {}}', "no list of filters"),
    ('{"version": 2, "filters": []}', "of version 2, which this dura-tui does not know"),
    ('{"version": true, "filters": []}', "of version True, which this dura-tui does not know"),
    ('{"version": 1.0, "filters": []}', "of version 1.0, which this dura-tui does not know"),
    (json.dumps({"version": 1, "filters": [ENTRY, {"name": "b"}]}), "filter 2 has not the four texts"),
    (json.dumps({"version": 1, "filters": [{**ENTRY, "sort": 7}]}), "filter 1 has not the four texts"),
    (json.dumps({"version": 1, "filters": [ENTRY, ENTRY]}), "a name that another has: 'a'"),
    ("[" * 100_000, "is damaged"),
    ("\udcff", "is damaged"),
    (" " * 1_000_001, "larger than 1,000,000 bytes"),
)


@pytest.mark.parametrize(("text", "words"), DAMAGED, ids=[str(place) for place in range(len(DAMAGED))])
def test_a_damaged_file_is_told_and_never_written_over(path: Path, text: str, words: str) -> None:
    path.parent.mkdir()
    content = text.encode("utf-8", "surrogateescape")
    path.write_bytes(content)
    for attempt in (
        lambda: saved.load(path),
        lambda: saved.keep(path, MINE),
        lambda: saved.forget(path, "a"),
    ):
        with pytest.raises(SavedFiltersLost, match=words) as lost:
            attempt()
        assert str(path) in str(lost.value)
    assert path.read_bytes() == content


def test_a_pipe_without_a_writer_is_not_waited_for(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(SavedFiltersLost, match="is damaged"):
        saved.load(path)


def test_a_file_that_is_full_or_cannot_be_reached_is_told(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    entries = [{**ENTRY, "name": str(place)} for place in range(MOST)]
    path.write_text(json.dumps({"version": 1, "filters": entries}))
    with pytest.raises(SavedFiltersLost, match="delete one first"):
        saved.keep(path, MINE)
    saved.keep(path, SavedFilter("7", "tasks", "y"))
    with pytest.raises(SavedFiltersLost, match="cannot be read"):
        saved.load(tmp_path)
    below = tmp_path / "file"
    below.write_text("")
    with pytest.raises(SavedFiltersLost, match="cannot be"):
        saved.keep(below / "filters.json", MINE)
