"""What dura logs tells no secret: neither its lines nor the tracebacks of what handlers raise."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

import dura
from conftest import started
from dura import ClaimedTask, DurableEngine, process_task
from dura.log import logger_of

SECRET = "hunter2"


def fails(engine: DurableEngine, task: ClaimedTask) -> None:
    raise ValueError(f"login with password={SECRET} failed")


def logged(engine: DurableEngine, caplog: pytest.LogCaptureFixture) -> str:
    """What the log says of an attempt that fails with a secret in its message."""
    caplog.clear()
    process_task(engine, handlers={"job": fails}, task=started(engine, max_attempts=1))
    return caplog.text


def test_a_traceback_in_the_log_tells_no_secret(
    engine: DurableEngine, caplog: pytest.LogCaptureFixture
) -> None:
    text = logged(engine, caplog)
    assert SECRET not in text
    assert "ValueError: login with password=[hidden] failed" in text
    assert "Traceback (most recent call last)" in text
    [record] = caplog.records
    assert record.exc_info is None
    assert record.name == "dura.workers"


def test_a_traceback_without_a_secret_stays_an_exception(
    engine: DurableEngine, caplog: pytest.LogCaptureFixture
) -> None:
    def harmless(engine: DurableEngine, task: ClaimedTask) -> None:
        raise ValueError("no answer")

    process_task(engine, handlers={"job": harmless}, task=started(engine, max_attempts=1))
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ValueError


def test_the_environment_says_more_names_and_may_show_all(
    engine: DurableEngine, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DURA_SHOW", "*")
    assert SECRET in logged(engine, caplog)
    monkeypatch.setenv("DURA_SHOW", "-, nothing is said by this")
    assert SECRET not in logged(engine, caplog)


def test_a_line_is_told_with_its_arguments_without_the_secret(caplog: pytest.LogCaptureFixture) -> None:
    logger_of("dura").warning("cannot reach %s after %d tries", f"db://ann:{SECRET}@host", 3)
    assert caplog.messages == ["cannot reach db://ann:[hidden]@host after 3 tries"]


def test_a_logger_reads_its_lines_once_however_often_it_is_asked_for() -> None:
    filters = logger_of("dura.workers").logger.filters
    assert logger_of("dura.workers").logger.filters == filters
    assert len(filters) == len(set(filters))


def test_every_logger_of_dura_is_one_of_these() -> None:
    source = Path(dura.__file__).parent
    others = [
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        if re.search(r"logger\w* = logging\.getLogger", file.read_text()) and file.name != "log.py"
    ]
    assert others == []
    for name in ("dura", "dura.workers"):
        assert [type(each).__name__ for each in logging.getLogger(name).filters] == ["_Hiding"]


class _Down(logging.Handler):
    """One that sends lines somewhere else, and cannot."""

    def emit(self, record: logging.LogRecord) -> None:
        raise ConnectionError("the log's collector is down")


def test_a_log_that_fails_costs_no_run_and_is_told_on_standard_error(
    engine: DurableEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    down, logger = _Down(), logging.getLogger("dura.workers")
    logger.addHandler(down)
    try:
        task = started(engine, max_attempts=1)
        process_task(engine, handlers={"job": fails}, task=task)
    finally:
        logger.removeHandler(down)
    assert engine.get_task(task.task_id).state == "failed"
    assert "ConnectionError: the log's collector is down" in capsys.readouterr().err


def test_a_line_names_the_place_that_it_comes_from(
    engine: DurableEngine, caplog: pytest.LogCaptureFixture
) -> None:
    logged(engine, caplog)
    assert [record.filename for record in caplog.records] == ["executor.py"]
