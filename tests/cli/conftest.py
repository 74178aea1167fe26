"""The command, and a store for it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from cli.shop import Command, Shop, run_command, stock


@pytest.fixture
def dura(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process."""
    return partial(run_command, capsys)


@pytest.fixture
def shop(path: Path) -> Shop:
    return stock(path)
