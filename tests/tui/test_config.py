"""The settings: their file, what is refused in it and how that is said, and what they change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.keys import _character_to_key

from conftest import ManualClock, wait_until
from dura import DurableEngine
from dura_tui.config import Settings, WrongSettings, load, parse
from dura_tui.config_text import default_text
from dura_tui.key_names import as_textual, displayed
from dura_tui.keys import DEFAULT_KEYMAP, KEYS, MOVING
from tui.far_end import Terminal
from tui.harness import fill, monitor, running, says, table, text, until, view


def faults(settings: str) -> list[str]:
    with pytest.raises(WrongSettings) as caught:
        parse(settings, "c.toml")
    return str(caught.value).splitlines()


# --- the file --------------------------------------------------------------------------------------------------------


def test_the_printed_settings_are_the_defaults() -> None:
    printed = parse(default_text(), "printed")
    assert (printed.seconds, printed.theme, printed.alerts) == (1.0, "dura-dark", ())
    assert printed.keymap.as_textual() == {}


def test_every_printed_line_means_what_it_shows_once_its_mark_is_taken_away() -> None:
    text = re.sub(r"(?m)^#(?=[a-z-]+ = )", "", default_text())
    settings = parse(text, "printed")
    assert settings == Settings(refresh=1, alerts=settings.alerts, keymap=settings.keymap)
    assert [alert.measure.name for alert in settings.alerts] == [
        "oldest-due", "failures-per-minute", "wal-size",
    ]  # fmt: skip
    for key in (*KEYS, *MOVING):
        assert settings.keymap.keys(key) == DEFAULT_KEYMAP.keys(key)


def test_a_missing_file_is_the_defaults_unless_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load(None).theme == "dura-dark"
    with pytest.raises(WrongSettings, match="no such file"):
        load(str(tmp_path / "none.toml"))
    (tmp_path / "dura-tui").mkdir()
    (tmp_path / "dura-tui" / "config.toml").write_text('theme = "dura-light"')
    assert load(None).theme == "dura-light"


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("slow = true\nthme = 1", "c.toml, line 2: no setting 'thme'; did you mean 'theme'?"),
        ("zzz = 1", "c.toml, line 1: no setting 'zzz'; --print-config prints all there are"),
        ('\n\ntheme = "pink"', 'c.toml, line 3: theme = "pink": write one of "dura-dark", "dura-light", '),
        ("refresh = 0", "c.toml, line 1: refresh = 0: write seconds, a number from 0.1 to 3600"),
        ("refresh = true", "c.toml, line 1: refresh = true: write seconds"),
        ('mouse = "no"', 'c.toml, line 1: mouse = "no": write true or false'),
        ("keys = 3", "c.toml, line 1: keys is a table: write [keys]"),
        ("[keys]\n# pause\npaus = 'p'", "c.toml, line 3: nothing is called 'paus'; did you mean 'pause'?"),
        ("[keys]\npause = 3", "c.toml, line 2: pause = 3: write a key, or several"),
        ("[keys]\npause = 'f99'", "c.toml, line 2: 'f99' is no key: write a character"),
        ("[keys]\npause = 'enter'", "c.toml, line 2: 'enter' cannot be given to pause"),
        ("[keys]\npause = 'q'", "c.toml, line 2: 'q' is the key of quit too: give pause or quit another one"),
        ("[keys]\ndown = 'k'", "c.toml, line 2: 'k' is the key of up too"),
        ("keys.pause = 'q'", "c.toml, line 1: 'q' is the key of quit too"),
        ("[alerts]\nwal = 3", "c.toml, line 2: no alert 'wal'; did you mean 'wal-size'?"),
        ("[alerts]\noldest-due = 'x'", "c.toml, line 2: oldest-due: 'x' is no duration"),
        ("[alerts]\nwal-size = '3 bits'", "c.toml, line 2: wal-size: '3 bits' is no size"),
        ("[alerts]\nfailures-per-minute = true", "c.toml, line 2: failures-per-minute: 'True' is no number"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_what_to_write(settings: str, said: str) -> None:
    [line] = faults(settings)
    assert line.startswith(said)


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_the_lines() -> None:
    lines = faults("thme = 1\n[keys]\nfoo = 'x'\nsort = 'q'")
    assert [line.partition(":")[0] for line in lines] == [
        "c.toml, line 1",
        "c.toml, line 3",
        "c.toml, line 4",
    ]


def test_two_keys_may_change_places() -> None:
    assert parse("[keys]\npause = 'r'\nrefresh = 'p'", "c").keymap.as_textual() == {
        "pause": "r",
        "refresh": "p",
    }


def test_what_is_no_toml_is_told_with_its_place() -> None:
    assert "at line 2" in faults("slow = true\nrefresh = = 1")[0]


@pytest.mark.parametrize("settings", ["refresh = " + "9" * 5000, "refresh = " + "[" * 5000])
def test_what_is_too_large_or_too_deep_to_be_read_is_no_toml(settings: str) -> None:
    [line] = faults(settings)
    assert line.startswith("c.toml: no TOML: ")


def test_a_number_that_cannot_be_written_in_digits_is_told() -> None:
    [line] = faults("refresh = 0x" + "f" * 5000)
    assert line.startswith("c.toml, line 1: refresh = ")


def test_wrong_settings_start_nothing(path: Path, tmp_path: Path) -> None:
    DurableEngine(path).close()
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("slow = 1")
    terminal = Terminal("-m", "dura_tui", path, "--config", wrong, size=(200, 5))
    try:
        assert terminal.process.wait(60) == 2
        wait_until(lambda: "--config /dev/null" in terminal.shown().text)
        assert f"dura-tui: {wrong}, line 1: slow = 1: write true or false\n" in terminal.shown().text
        assert b"\x1b" not in terminal.output
    finally:
        terminal.end()


# --- keys ------------------------------------------------------------------------------------------------------------


def test_keys_are_called_as_textual_calls_them() -> None:
    for code in range(0x21, 0x7F):
        assert as_textual(chr(code)) == _character_to_key(chr(code))
        assert displayed(as_textual(chr(code))) == chr(code)


@pytest.mark.parametrize(
    ("written", "key", "shown"),
    [
        ("esc", "escape", "esc"),
        ("^d", "ctrl+d", "^d"),
        ("Ctrl+D", "ctrl+d", "^d"),
        ("F5", "f5", "f5"),
        ("PgDn", "pagedown", "pagedown"),
        ("^", "circumflex_accent", "^"),
        ("+", "plus", "+"),
    ],
)
def test_keys_are_read_as_people_write_them(written: str, key: str, shown: str) -> None:
    assert (as_textual(written), displayed(key)) == (key, shown)


def test_the_table_of_keys_shows_them_as_they_are() -> None:
    for key in (*KEYS, *MOVING):
        assert key.shown == displayed(key.keys.split(",")[0])
    assert list(DEFAULT_KEYMAP.conflicts()) == []
    names = [key.id for key in (*KEYS, *MOVING)]
    assert len(set(names)) == len(names)


async def test_changed_keys_act_and_are_shown_everywhere(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    fill(engine)
    settings = parse("[keys]\ntasks = 'f4'\npause = 'f3'\ndown = 'J'\nhelp = 'f1'", "c")
    async with running(path, clock, size=(130, 24), settings=settings) as pilot:
        await pilot.press("4")
        await pilot.pause()
        assert view(pilot).id == "overview"
        await pilot.press("f4")
        await until(pilot, lambda: view(pilot).id == "tasks" and table(pilot).row_count > 1)
        await says(pilot, "f3 pause", "f1 help")
        assert "f4" in text(pilot).splitlines()[1]
        await pilot.press("J")
        assert table(pilot).cursor_row == 1
        await pilot.press("j")
        assert table(pilot).cursor_row == 1
        await pilot.press("down")
        assert table(pilot).cursor_row == 2
        await pilot.press("f3")
        assert monitor(pilot).paused
        await pilot.press("f1", "G")
        await says(pilot, "f1")
        await pilot.press("escape", "v", "f4")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        assert view(pilot).id == "tasks"


async def test_the_help_of_each_view_names_the_keys_as_they_are(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    fill(engine)
    settings = parse("[keys]\nother-way = 'f6'\nwake = 'f7'", "c")
    async with running(path, clock, size=(130, 30), settings=settings) as pilot:
        await pilot.press("7", "question_mark")
        await says(pilot, "f6  groups by error")
        await pilot.press("escape", "3", "question_mark")
        await says(pilot, "can be cut short (f7)")
