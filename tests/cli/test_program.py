"""The program around the commands: help, versions, exit codes, streams that fail, and what it loads."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import termios
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO

import pytest

from cli.shop import Command, Shop
from conftest import dump, wait_until
from dura import DurableEngine
from dura.cli.commands import COMMANDS
from dura.cli.exits import MEANINGS, Exit

DURA = (sys.executable, "-m", "dura")


def test_help_lists_every_command_and_every_exit_code(dura: Command) -> None:
    done = dura("--help")
    assert (done.code, done.err) == (0, "")
    assert dura("-h") == done
    for name, command in COMMANDS.items():
        assert f"  {name:<12} {command.summary}" in done.out
    for code, meaning in MEANINGS.items():
        assert f"{int(code):>3}  {meaning}" in done.out
    assert max(map(len, done.out.splitlines())) <= 83
    assert set(MEANINGS) == set(Exit)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_that_it_can_parse(dura: Command, name: str) -> None:
    done = dura(name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: dura {name} PATH ")
    assert "examples:\n  " in done.out
    assert "--json" in done.out


def test_version_is_that_of_the_distribution(dura: Command) -> None:
    assert dura("--version").out == f"dura {version('dura')}\n"


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["status"], ["status", "x", "--frob"], ["tasks", "x", "y"]]
)
def test_a_wrong_command_line_is_two_lines_at_most_and_code_2(dura: Command, arguments: list[str]) -> None:
    done = dura(*arguments)
    assert (done.code, done.out) == (2, "")
    assert 1 <= len(done.err.splitlines()) <= 2
    assert done.err.startswith("dura: ")


@pytest.mark.parametrize(
    "option",
    [
        ["--limit", "0"], ["--limit", "-1"], ["--limit", "x"], ["--limit", "9" * 30], ["--state", "gone"],
        ["--sort", "size"], ["--name", "\udce9"], ["--stat", "failed"],
    ],
)  # fmt: skip
def test_a_wrong_option_is_a_usage_error(dura: Command, shop: Shop, option: list[str]) -> None:
    assert dura("tasks", shop.path, *option).code == 2


@pytest.mark.parametrize("wait", ["25d", "99999999w"])
def test_a_wait_that_is_too_long_is_refused_in_the_words_of_its_option(
    dura: Command, shop: Shop, wait: str
) -> None:
    done = dura("check", shop.path, "--lock-timeout", wait)
    assert (done.code, done.out) == (2, "")
    assert "--lock-timeout" in done.err
    assert "busy_timeout_ms" not in done.err
    assert dura("check", shop.path, "--lock-timeout", "24d").code == 0


def test_a_value_that_looks_like_an_option_is_answered_with_how_to_write_it(
    dura: Command, shop: Shop
) -> None:
    for option, value, written in (
        ("--filter", "-name:b*", "--filter='-name:b*'"),
        ("--sort", "-name", "--sort=-name"),
    ):
        done = dura("tasks", shop.path, option, value)
        assert done.code == 2
        assert done.err.startswith(f"dura: argument {option}: expected one argument; ")
        assert done.err.splitlines()[0].endswith(f"write {written}")
        assert dura("tasks", shop.path, *shlex.split(written)).code in (0, 1)
    assert "write" not in dura("tasks", shop.path, "--sort").err


def make_other_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE books (title TEXT)")
    connection.close()


@pytest.mark.parametrize(
    "command", [["status"], ["tasks"], ["task", "abcd"], ["cancel", "abcd"], ["check"], ["upgrade"]]
)
def test_what_is_no_store_is_named_and_left_as_it_is(
    dura: Command, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "text.txt").write_text("no database, surely" * 100)
    (tmp_path / "empty.db").touch()
    (tmp_path / "folder").mkdir()
    make_other_database(tmp_path / "other.db")
    before = sorted(os.listdir(tmp_path))
    for name in (
        "text.txt",
        "empty.db",
        "folder",
        "other.db",
        "missing.db",
        "no/such/folder.db",
        "",
    ):
        path = tmp_path / name if name else ""
        done = dura(command[0], path, *command[1:])
        assert (done.code, done.out) == (3, ""), name
        assert 1 <= len(done.err.splitlines()) <= 2
    assert sorted(os.listdir(tmp_path)) == before


def test_a_store_of_a_newer_version_is_refused(dura: Command, shop: Shop) -> None:
    connection = sqlite3.connect(shop.path)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    for command in (["status"], ["cancel", shop.pending], ["upgrade"]):
        done = dura(command[0], shop.path, *command[1:])
        assert done.code == 3
        assert "newer" in done.err


@pytest.mark.parametrize("name", ["ünï ☃.db", "\udcff.db", "a b'c\"%20?mode=rw#x.db", "-dash.db"])
def test_any_file_name_will_do(dura: Command, tmp_path: Path, name: str) -> None:
    DurableEngine(tmp_path / name).close()
    assert dura("status", tmp_path / name).code == 0
    assert dura("check", tmp_path / name).code == 0


def test_the_module_and_the_command_are_the_same_program(shop: Shop) -> None:
    done = subprocess.run(
        [*DURA, "tasks", shop.path, "--state", "failed"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert shop.failed in done.stdout
    missing = subprocess.run([*DURA, "status", "/no/such.db"], capture_output=True, text=True, timeout=60)
    assert missing.returncode == 3


def test_a_reader_that_leaves_ends_the_program_quietly(path: Path) -> None:
    engine = DurableEngine(path, synchronous="NORMAL")
    engine.set_state_many(namespace="many", items={f"key-{number:05}": "x" * 300 for number in range(1_000)})
    engine.close()
    for form in ([], ["--json"]):
        process = subprocess.Popen(
            [*DURA, "state", path, "many", "--limit", "1000", *form],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        _, complaint = process.communicate(timeout=60)
        assert (process.returncode, complaint) == (0, b"")


def test_a_result_that_cannot_be_written_is_told(shop: Shop) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*DURA, "status", shop.path], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words", [["status", "PATH"], ["cancel", "PATH", "ID"], ["--help"], ["status", "--help"]]
)
def test_a_closed_output_is_told_before_anything_is_done(shop: Shop, words: list[str]) -> None:
    before = dump(shop.path)
    known = {"PATH": str(shop.path), "ID": shop.pending}
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *DURA, *(known.get(word, word) for word in words)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.startswith("dura: standard output is closed")
    assert len(done.stderr.splitlines()) == 1
    assert dump(shop.path) == before


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["status", "--help"]])
def test_help_that_cannot_be_written_is_told(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*DURA, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 3
    assert "No space left on device" in done.stderr


def test_a_stream_that_cannot_write_a_character_gets_its_escape(shop: Shop) -> None:
    done = subprocess.run(
        [*DURA, "task", shop.path, shop.completed],
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert "snowman \\u2603" in done.stdout


def test_an_interrupt_ends_with_130_and_no_traceback(shop: Shop) -> None:
    lock = sqlite3.connect(shop.path, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    try:
        process = subprocess.Popen(
            [*DURA, "emit", shop.path, "x", "--lock-timeout", "20s", "--payload-file", "-"],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        written = process.stdin
        written.write(" ")
        written.flush()
        wait_until(lambda: not unread(written))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        lock.close()
    assert (process.returncode, out) == (130, "")
    assert err == "dura: interrupted\n"


def unread(pipe: IO[str]) -> bool:
    """Whether the other side of a pipe has not yet read what was written: it is not past its start-up."""
    return fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) != bytes(4)


@pytest.mark.parametrize(("form", "loaded"), [(["--json"], "False"), ([], "True")])
def test_rich_is_loaded_only_to_print_a_table(shop: Shop, form: list[str], loaded: str) -> None:
    script = (
        "import sys; from dura.cli import main\n"
        "assert main(sys.argv[1:]) == 0\n"
        "assert 'textual' not in sys.modules\n"
        "print('rich' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "status", shop.path, *form],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stderr.strip() == loaded


def on_a_terminal(columns: int, *arguments: str | Path) -> str:
    """What the command shows on a terminal of so many columns, without its colours."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen([*DURA, *arguments], stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    with suppress(OSError):
        while chunk := os.read(master, 65_536):
            shown += chunk
    os.close(master)
    assert process.wait(timeout=60) == 0
    assert b"\x1b[1m" in shown
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode().replace("\r\n", "\n"))


def test_on_a_terminal_tables_fit_and_ids_are_short(shop: Shop) -> None:
    for command in ("status", "tasks", "events"):
        shown = on_a_terminal(80, command, shop.path)
        assert max(map(len, shown.splitlines())) <= 80, command
        assert shop.waiting[-8:] in shown
        assert shop.waiting not in shown
    assert "priority" not in on_a_terminal(80, "tasks", shop.path)
    assert "priority" in on_a_terminal(140, "tasks", shop.path)
