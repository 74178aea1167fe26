"""Values from files that have no end, no beginning, or no reader's permission: `dura emit` ends with a reason."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conftest import rows
from dura import DurableEngine
from dura.cli import input as reading
from dura.cli import main

DURA = [sys.executable, "-m", "dura"]


@pytest.fixture
def store(path: Path) -> Path:
    DurableEngine(path).close()
    return path


def refused(store: Path, capsys: pytest.CaptureFixture[str], file: str | Path, *words: str) -> None:
    code = main(["emit", str(store), "name", "--payload-file", str(file)])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert all(word in err for word in (str(file), *words)), err
    assert rows(store, "SELECT * FROM events") == []


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_without_an_end_is_refused(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.setattr(reading, "LARGEST", 2**21)
    refused(store, capsys, file, "more than 2 MiB")


def test_a_file_that_is_too_large_is_refused_and_not_read_to_its_end(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(2**40)
    refused(store, capsys, tmp_path / "large.json", "more than 64 MiB", "elsewhere")


def test_a_pipe_that_nobody_writes_to_is_not_waited_for_without_a_bound(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PATIENCE", 0.05)
    os.mkfifo(tmp_path / "pipe")
    refused(store, capsys, tmp_path / "pipe", "nothing has come through the pipe for 0.05 s")


def test_a_pipe_whose_writer_falls_silent_is_not_waited_for_without_a_bound(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PATIENCE", 0.05)
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(writer, b'{"half": ')
    refused(store, capsys, tmp_path / "pipe", "nothing has come")
    os.close(writer)


def test_a_pipe_that_is_written_late_and_in_pieces_is_read_whole(store: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    text = '{"rows": [' + ", ".join(map(str, range(100_000))) + "]}"

    def write() -> None:
        with (tmp_path / "pipe").open("w") as pipe:
            for start in range(0, len(text), 7_001):
                pipe.write(text[start : start + 7_001])
                pipe.flush()

    thread = threading.Thread(target=write)
    thread.start()
    assert main(["emit", str(store), "name", "--payload-file", str(tmp_path / "pipe")]) == 0
    thread.join()
    assert rows(store, "SELECT payload FROM events") == [(text,)]


def test_endless_standard_input_of_a_real_process_ends(store: Path) -> None:
    with open("/dev/zero", "rb") as zero:
        done = subprocess.run(
            [*DURA, "emit", store, "name", "--payload-file", "-"],
            stdin=zero, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input: it holds more than 64 MiB" in done.stderr


@pytest.mark.parametrize("file", ["/proc/self/mem", "/proc/1/nothing", "a\udcffb", "", "/dev/null"])
def test_odd_files_are_named(store: Path, capsys: pytest.CaptureFixture[str], file: str) -> None:
    code = main(["emit", str(store), "name", "--payload-file", file])
    assert code == 2
    assert "Traceback" not in capsys.readouterr().err
