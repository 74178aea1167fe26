"""State: namespaces as a tree, values that change marked, long values searched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from conftest import ManualClock
from dura import DurableEngine
from dura.records import NamespaceRow, StateRow
from dura_tui.branches import branches
from dura_tui.changes import Watched
from dura_tui.widgets.text_view import TextView, marked
from tui.harness import gone, monitor, running, says, table, text, tick, until

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def tree(*names: str, folded: tuple[str, ...] = ()) -> list[str]:
    rows = [NamespaceRow(namespace=name, keys=2, capped=False) for name in names]
    return [
        f"{'  ' * branch.depth}{branch.label}{'' if branch.row else '*'} {branch.keys}"
        for branch in branches(rows, folded)
    ]


@pytest.mark.parametrize(
    ("names", "folded", "lines"),
    [
        ((), (), []),
        (("b", "a"), (), ["a 2", "b 2"]),
        (("feeds.rss",), (), ["feeds.rss 2"]),
        (("feeds.rss", "feeds.api"), (), ["feeds.* 4", "  api 2", "  rss 2"]),
        (("feeds.rss", "feeds.api", "x"), ("feeds.",), ["feeds.* 4", "x 2"]),
        (("feeds", "feeds.rss"), (), ["feeds 2", "feeds.rss 2"]),
        (("a/b/c", "a/b/d", "a/e"), (), ["a/* 6", "  b/* 4", "    c 2", "    d 2", "  e 2"]),
        (("a/b/c", "a/b/d"), (), ["a/b/* 4", "  c 2", "  d 2"]),
        (("a:", "a:b"), (), ["a: 2", "  b 2"]),
        (("dura.audit", "dura.counts", "z"), (), ["z 2", "dura.* 4", "  audit 2", "  counts 2"]),
        ((".", "..", "x..y"), (), [". 2", "  . 2", "x..y 2"]),
    ],
)
def test_namespaces_branch_where_several_begin_alike(
    names: tuple[str, ...], folded: tuple[str, ...], lines: list[str]
) -> None:
    assert tree(*names, folded=folded) == lines


def row(key: str, value: str) -> StateRow:
    return StateRow(namespace="feeds", key=key, value=value, updated_at=NOW)


def test_a_change_is_what_was_seen_to_change_and_is_forgotten_after_a_while() -> None:
    watched = Watched()
    watched.look([row("a", "1"), row("b", "1")], NOW)
    assert watched.change(row("a", "1"), NOW) is None
    watched.look([row("a", "2"), row("b", "1"), row("c", "1")], NOW + timedelta(seconds=5))
    change = watched.change(row("a", "2"), NOW + timedelta(seconds=6))
    assert change is not None
    assert change.before == "1"
    assert watched.change(row("b", "1"), NOW) is None
    assert watched.change(row("c", "1"), NOW) is None
    assert watched.change(row("a", "2"), NOW + timedelta(seconds=36)) is None
    watched.look([], NOW)
    watched.look([row("a", "3")], NOW)
    assert watched.change(row("a", "3"), NOW) is None


def test_matches_are_marked_across_pieces_and_whatever_their_case() -> None:
    line = (("abC", "blue"), ("dEf", ""))
    assert marked(line, "cd") == (("ab", "blue"), ("C", "blue reverse"), ("d", "reverse"), ("Ef", ""))
    assert marked(line, "x") == line
    assert marked((("aaa", ""),), "a") == (("a", "reverse"),) * 3
    assert marked((), "a") == ()
    assert "".join(piece for piece, _ in marked((("a[.]a", ""),), "[.]")) == "a[.]a"


async def test_branches_fold_and_the_cursor_that_moves_is_marked(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    for name in ("feeds.rss", "feeds.api"):
        engine.set_state(namespace=name, key="cursor", value=12)
    async with running(path, clock) as pilot:
        await pilot.press("6")
        await says(pilot, "▾ feeds.", "  api", "  rss", "enter fold")
        await pilot.press("enter")
        await gone(pilot, "  rss")
        await says(pilot, "▸ feeds.", "enter unfold")
        await pilot.press("enter", "j", "j")
        await until(pilot, lambda: table(pilot).key == "namespace\0feeds.rss")
        await says(pilot, "cursor", "12")
        assert "Δ" not in text(pilot)
        engine.set_state(namespace="feeds.rss", key="cursor", value=14)
        await says(pilot, "Δ 14")
        await pilot.press("enter")
        await says(pilot, "cursor  Δ was 12")
        await tick(pilot, clock, 31)
        await gone(pilot, "Δ")


async def test_a_long_value_is_searched(path: Path, engine: DurableEngine, clock: ManualClock) -> None:
    engine.set_state(namespace="feeds", key="list", value=[f"item {number}" for number in range(200)])
    async with running(path, clock) as pilot:
        await pilot.press("6")
        await says(pilot, "list")
        await pilot.press("enter", "enter")
        await says(pilot, '"item 0"', "/ search")
        view = monitor(pilot).screen.query_one(TextView)
        await pilot.press("slash", *"ITEM 19", "enter")
        await says(pilot, "line 1 of 11 with ITEM 19", '"item 19"')
        assert view.has_focus
        await pilot.press("n")
        await says(pilot, "line 2 of 11", '"item 190"')
        await pilot.press("N", "N")
        await says(pilot, "line 11 of 11", '"item 199"')
        await pilot.press("slash", *"x", "enter")
        await says(pilot, "nothing has ITEM 19x · / searches again")
        assert "n N moves" not in text(pilot)
        await pilot.press("slash", "escape")
        assert view.has_focus
        await pilot.press("escape")
        await says(pilot, "enter value")


async def test_a_namespace_says_how_to_get_to_its_keys(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.set_state(namespace="feeds", key="cursor", value=1)
    async with running(path, clock) as pilot:
        await pilot.press("6")
        await says(pilot, "feeds", "cursor")
        for key in "ED":
            await pilot.press(key)
            await says(pilot, "the cursor is on a namespace: tab goes to the keys of feeds")
        await pilot.press("tab", "D")
        await says(pilot, "Delete this key?", "feeds / cursor")
