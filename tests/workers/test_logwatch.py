"""The kernel's word that a file was written, where it gives it."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dura.workers import logwatch
from dura.workers.logwatch import LogWatch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "log"
    file.write_text("old")
    return file


@pytest.fixture
def watch(file: Path) -> Iterator[LogWatch]:
    watch = LogWatch(str(file))
    watch.watch()
    yield watch
    watch.close()


def told(watch: LogWatch) -> bool:
    poll = select.poll()
    poll.register(watch.descriptor, select.POLLIN)
    return bool(poll.poll(0))


def test_what_was_written_before_is_not_told_and_what_is_written_now_is(watch: LogWatch, file: Path) -> None:
    assert watch.watching
    assert not told(watch)
    with file.open("r+b", buffering=0) as log:
        log.write(b"new")
        assert told(watch)
        watch.forget()
        assert not told(watch)
        log.truncate(0)
        assert told(watch)


def test_a_reader_is_not_told_of(watch: LogWatch, file: Path) -> None:
    assert file.read_text() == "old"
    assert not told(watch)


def test_a_file_that_is_gone_is_told_of_and_its_successor_is_watched(watch: LogWatch, file: Path) -> None:
    with file.open():
        file.unlink()
        assert told(watch)
        watch.watch()
        assert not watch.watching
        watch.forget()
        file.write_text("another")
        assert not told(watch)
        watch.watch()
        assert watch.watching
        file.write_text("and more")
        assert told(watch)


def test_a_user_who_has_no_watch_left_has_to_look(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logwatch, "_library", lambda: None)
    watch = LogWatch(str(file))
    watch.watch()
    watch.forget()
    assert (watch.watching, watch.descriptor) == (False, -1)
    watch.close()


def test_a_watch_leaves_no_descriptor(file: Path) -> None:
    before = os.listdir("/proc/self/fd")
    watch = LogWatch(str(file))
    watch.watch()
    watch.close()
    watch.close()
    assert os.listdir("/proc/self/fd") == before
