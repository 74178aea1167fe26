"""What each view shows of a real store, at the sizes it must work at."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.text import Text

from conftest import ManualClock, plain
from dura import DurableEngine
from dura.records import Snapshot
from dura_tui.app import DuraApp
from dura_tui.keys import KEYS, VIEW_KEYS
from dura_tui.screens import overview
from dura_tui.screens.tasks import TasksView
from tui.harness import (
    EVENT,
    Shop,
    fill,
    go_to,
    gone,
    header,
    monitor,
    rows_shown,
    running,
    says,
    table,
    text,
    tick,
    until,
)

FIXTURE = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"


@pytest.fixture
def shop(engine: DurableEngine) -> Shop:
    return fill(engine)


async def test_overview_shows_totals_names_workers_and_the_file(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await says(pilot, "○ pending", "● running", "◐ sleeping", "✓ completed", "✗ failed", "⊘ cancelled")
        await says(
            pilot,
            "throughput",
            "1 failed in",
            "ready",
            "1 run, the oldest due for",
            "wal",
            "shared with its writers",
        )
        await says(pilot, "charge_order", "resize_image", "web1:4711:1")
        await until(pilot, lambda: rows_shown(pilot) == 6)
        await pilot.press("enter")
        await says(pilot, "filter name:", "queue:default")
        assert rows_shown(pilot) == 1


async def test_the_counts_in_the_tabs_are_the_rows_in_the_lists(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock, size=(150, 24)) as pilot:
        counts = ("2 Leases 1", "3 Sleeping 3", "4 Tasks 8", "7 Failures 1", "8 Approvals 1")
        await until(pilot, lambda: all(count in header(pilot) for count in counts))
        for number, count in (("2", 1), ("3", 3), ("4", 8), ("8", 1)):
            await pilot.press(number)
            await until(pilot, lambda count=count: rows_shown(pilot) == count)  # type: ignore[misc]


async def test_the_counts_and_the_lists_of_one_look_agree_under_a_writer(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("4")
        for place in range(60):
            engine.spawn_task(name="job", params=place)
            await pilot.pause(0.01)
            snapshot = monitor(pilot).snapshot
            assert snapshot is not None
            if snapshot.tasks is not None:
                assert len(snapshot.tasks.tasks) == sum(snapshot.totals().values())
        await until(pilot, lambda: rows_shown(pilot) == 60 and "4 Tasks 60" in header(pilot))


async def test_leases_count_down_and_say_what_happens_at_zero(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.cancel_task(shop.pending)
    engine.spawn_task(name="fragile", params=None, max_reclaims=0)
    engine.claim_task(worker_id="web2:1:1", timeout_secs=8)
    async with running(path, clock) as pilot:
        await pilot.press("2")
        await says(pilot, "8s", "fragile", "✗ fails", "1m 00s", "resize_image", "○ pending")
        await tick(pilot, clock, 12)
        await says(pilot, "overdue 4s", "✗ next claim", "48s")
        assert "-" not in "".join(line[:12] for line in text(pilot).splitlines()[4:8])
        await go_to(pilot, "2", table(pilot).keys[1])
        await says(pilot, f"task {shop.running}")


async def test_sleeping_says_why_until_when_and_for_what(path: Path, shop: Shop, clock: ManualClock) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("3")
        await says(
            pilot, "1m 30s", "↻ backoff", "5m 00s", "◷ delay", "10m", "◆ event", EVENT, "step approval"
        )
        await tick(pilot, clock, 95)
        await says(pilot, "overdue 5s")


async def test_tasks_filter_sort_and_page(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    for place in range(205):
        clock.advance(1)
        engine.spawn_task(name="bulk", params={"place": place}, queue="mail", priority=place % 3)
    async with running(path, clock) as pilot:
        await pilot.press("4")
        await says(pilot, "1 to 200 of 213", "newest first", "n next page")
        await pilot.press("n")
        await says(pilot, "201 to 213 of 213", "b page back")
        await pilot.press("b")
        await says(pilot, "1 to 200 of 213")
        await pilot.press("slash", *"state:fa", "enter")
        await says(pilot, "1 to 1 of 1", "filter state:failed", "import_catalog", "██")
        await pilot.press("slash", *"-state:x", "enter")
        await says(pilot, "state:failed -state:x", "✗ no state 'x'")
        await pilot.press("escape", "escape")
        await says(pilot, "1 to 200 of 213")
        await gone(pilot, "state:failed")


async def test_task_detail_shows_steps_attempts_reasons_and_values(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", shop.failed)
        await pilot.press("enter")
        await says(
            pilot,
            "✗ failed   import_catalog",
            "steps ██████░░░░ 2/3",
            "STEPS",
            "✓ load",
            "✓ parse",
            "· store",
        )
        await says(pilot, "ATTEMPTS", "✗ 1 failed", "ValueError: row 7 has", "DATA", "params")
        assert table(pilot).key == "step\0load"
        await pilot.press("enter")
        await says(pilot, "step load", '"rows": 3')
        await pilot.press("escape", "G")
        await pilot.press("k", "k")
        await pilot.press("enter")
        await says(
            pilot, "why attempt 1 failed", "ValueError: row 7 has no price", "File catalog.py, line 12"
        )
        await pilot.press("q", "escape")
        await says(pilot, "1 to 8 of 8")
        assert table(pilot).key == shop.failed


async def test_task_detail_shows_a_wait_and_outlives_its_task(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", shop.waiting)
        await pilot.press("enter")
        await says(pilot, "◐ approval", f"waits for {EVENT}", "· receipt", "key ord_1", "10m")
        engine.cancel_task(shop.waiting)
        await says(pilot, "⊘ cancelled")
        with plain(path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for name in ("waits", "checkpoints", "runs", "tasks"):
                connection.execute(f"DELETE FROM {name} WHERE task_id = ?", (shop.waiting,))
            connection.execute("COMMIT")
        await says(pilot, "is not in the store", "✓ charge")
    engine.check(repair=True)


async def test_events_show_the_awaited_with_their_waiters_before_the_emitted(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("5")
        await says(
            pilot,
            "◆ awaited",
            EVENT,
            f"charge_order {shop.waiting[-8:]}",
            "✓ emitted",
            "catalog.ready",
            '{"rows": 3}',
        )
        lines = text(pilot).splitlines()
        assert [line.split()[1] for line in lines if line[:2] in (" ◆", " ✓")] == ["awaited", "emitted"]
        await pilot.press("slash", *"cat", "enter")
        await gone(pilot, EVENT)
        await until(pilot, lambda: table(pilot).key == "event\0catalog.ready")
        await pilot.press("enter")
        await says(pilot, "payload of catalog.ready", '"rows": 3')
        await pilot.press("escape", "escape")
        await says(pilot, EVENT)
        await pilot.press("g", "enter")
        await says(pilot, "◐ sleeping   charge_order")


async def test_state_shows_namespaces_keys_and_values(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.set_state(namespace="polls", key="[b]last[/b]", value=["x"] * 40)
    async with running(path, clock) as pilot:
        await pilot.press("6")
        await says(pilot, "feeds", "polls", "▾ dura.", "counts", "cursor", '{"page": 12}')
        await pilot.press("j")
        await says(pilot, "[b]last[/b]")
        await pilot.press("enter", "enter")
        await says(pilot, "polls / [b]last[/b]", '"x",')
        await pilot.press("escape", "escape")
        assert table(pilot).id == "state-namespaces"


async def test_pause_freezes_the_tables_but_not_the_staleness(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("2")
        await says(pilot, "1m 00s", "● live")
        await pilot.press("p")
        engine.cancel_task(shop.running)
        await tick(pilot, clock, 7)
        await says(pilot, "‖ paused 7s", "p go on", "1m 00s")
        assert rows_shown(pilot) == 1
        await pilot.press("p")
        await says(pilot, "● live")
        await until(pilot, lambda: table(pilot).ghost is not None)


async def test_a_row_that_has_left_the_list_says_so_in_words_for_terminals_that_strike_nothing_out(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: len(table(pilot).keys) == 1)
        engine.cancel_task(shop.running)
        await says(pilot, "has left the list", shop.running)
        await tick(pilot, clock, 7)
        await gone(pilot, "has left the list")


async def test_a_row_that_left_while_its_list_was_out_of_sight_leaves_no_ghost(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: len(table(pilot).keys) == 1)
        await pilot.press("9")
        engine.cancel_task(shop.running)
        await tick(pilot, clock, 40)
        await pilot.press("2")
        await says(pilot, "No leases: no worker holds a run.")
        assert table(pilot).ghost is None


async def test_a_lease_that_ran_out_and_nobody_took_back_is_said_in_the_overview(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await says(pilot, "1 run, the oldest due for")
        assert "a lease ran out" not in text(pilot)
        await tick(pilot, clock, 67)
        await says(pilot, "a lease ran out 7s ago")


async def test_refresh_reads_at_once_even_while_paused(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("4", "p")
        await says(pilot, "1 to 8 of 8")
        engine.spawn_task(name="later", params=None)
        await pilot.press("r")
        await says(pilot, "1 to 9 of 9", "later")


@pytest.mark.parametrize("size", [(40, 10), (20, 5), (200, 50)])
async def test_every_view_and_dialog_works_at_any_size(
    size: tuple[int, int], path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.emit_event(event_name="noted", actor="ann@web1")
    async with running(path, clock, size=size) as pilot:
        opened = {"1": "?v", "2": "x", "3": "c", "5": "e", "7": "R", "8": "e"}
        for number in (view.key for view in VIEW_KEYS):
            keys = opened.get(number, "")
            await pilot.press(number)
            await until(pilot, lambda: table(pilot).row_count > 0)
            for key in keys:
                await pilot.press("question_mark" if key == "?" else key)
                assert len(pilot.app.screen_stack) == 2
                await pilot.press("escape")
        await go_to(pilot, "4", shop.failed)
        await pilot.press("R", "escape", "enter")
        await until(pilot, lambda: table(pilot).key == "step\0load")
        await pilot.press("enter", "escape", "1")
        assert monitor(pilot).trouble is None
        await pilot.resize_terminal(80, 24)
        await says(pilot, "○ pending", "charge_order")


async def test_nothing_is_cut_that_matters_at_80_by_24(path: Path, shop: Shop, clock: ManualClock) -> None:
    async with running(path, clock) as pilot:
        for view in VIEW_KEYS:
            await pilot.press(view.key)
            await pilot.pause()
            lines = text(pilot).splitlines()
            assert len(lines) == 24
            assert all(len(line) <= 80 for line in lines)
            assert "? help" in lines[-1]
            assert f"{view.key} {view.label}" in lines[1]
            assert all(other.key + other.short in lines[1] for other in VIEW_KEYS if other is not view)


async def test_a_view_is_chosen_from_the_list_by_its_key_or_enter_and_the_last_one_is_a_key_away(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("v")
        await says(pilot, "2  Leases", "who holds what", *(view.label for view in VIEW_KEYS))
        await pilot.press("4")
        await says(pilot, "1 to 8 of 8")
        await pilot.press("v", "down", "enter")
        await says(pilot, "◆ awaited")
        await pilot.press("minus")
        await says(pilot, "1 to 8 of 8")
        await pilot.press("v", "escape", "minus")
        await says(pilot, "◆ awaited")


async def test_help_begins_with_the_view_that_is_shown(path: Path, shop: Shop, clock: ManualClock) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("2", "question_mark")
        await says(pilot, "Leases", "AT ZERO is what the next claim makes of the run")


async def test_help_lists_every_key(path: Path, shop: Shop, clock: ManualClock) -> None:
    async with running(path, clock, size=(110, 90)) as pilot:
        await pilot.press("question_mark")
        await says(pilot, *(key.help for key in KEYS), "● ", "running", "sleeps: backoff")


async def test_a_file_of_1_3_0_is_shown_as_it_is_and_its_actions_are_refused(
    tmp_path: Path, clock: ManualClock
) -> None:
    store = tmp_path / "old.db"
    store.write_bytes(FIXTURE.read_bytes())
    before = store.read_bytes()
    async with running(store, clock) as pilot:
        await says(pilot, "dura 1.3.0: actions need `dura upgrade`")
        await pilot.press("4")
        await until(pilot, lambda: rows_shown(pilot) > 0)
        view = monitor(pilot).main.view
        assert isinstance(view, TasksView)
        page = view.snapshot.tasks if view.snapshot else None
        assert page is not None
        live = next(task for task in page.tasks if task.state in ("pending", "running", "sleeping"))
        await go_to(pilot, "4", live.task_id)
        await pilot.press("c")
        await says(pilot, "✗ cancel is refused on a store of dura 1.3.0", "dura upgrade")
    assert store.read_bytes() == before


async def test_no_color_leaves_glyphs_and_words(
    path: Path, shop: Shop, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(path, clock) as pilot:
        await pilot.press("4")
        await says(pilot, "○ pending", "✗ failed")
        for strip in pilot.app.screen._compositor.render_strips():
            for segment in strip.apply_filter(pilot.app._filters[-1], pilot.app.screen.background_colors[1]):
                assert (
                    segment.style is None
                    or segment.style.color is None
                    or len(set(segment.style.color.triplet or (0,))) == 1
                )
        assert any(
            segment.style is not None and segment.style.reverse
            for strip in pilot.app.screen._compositor.render_strips()
            for segment in strip
        )


async def test_the_overview_is_drawn_to_no_width_but_its_own(
    path: Path, shop: Shop, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths: list[int] = []
    totals = overview._totals

    def spy(snapshot: Snapshot, width: int) -> tuple[Text, Text]:
        widths.append(width)
        return totals(snapshot, width)

    monkeypatch.setattr(overview, "_totals", spy)
    monkeypatch.setattr(DuraApp, "tick", lambda self: None)
    async with running(path, clock) as pilot:
        await says(pilot, "✗ failed")
        await pilot.resize_terminal(100, 24)
        await until(pilot, lambda: widths[-1] == 100)
    assert set(widths) == {80, 100}
