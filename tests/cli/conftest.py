"""The command, and a store for it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cli.shop import Command, Shop, run_command, stock


@pytest.fixture
def dura(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process."""
    return partial(run_command, capsys)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return stock(tmp_path_factory.mktemp("shop") / "store.db")


@pytest.fixture
def shop(template: Shop, path: Path) -> Shop:
    """A store of the test's own, which nobody else has open."""
    shutil.copy(template.path, path)
    return replace(template, path=path)
