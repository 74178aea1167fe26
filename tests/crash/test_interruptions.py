"""Each operation, interrupted anywhere: killed at any statement or in the middle of any write, or failed by a disk or a lock.

It is done wholly or not at all, alone and in the middle of a batch; nobody is told of what is not there; and the process
that survives goes on as soon as the cause is gone.
"""

from __future__ import annotations

import faulthandler
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from conftest import ManualClock
from counts import Count
from crash.crime import Scene, Victims, copy_store, picture, some
from crash.operations import OPERATIONS
from dura import DurableEngine

pytestmark = pytest.mark.crash

SOAK: Final = bool(os.environ.get("DURA_TEST_SOAK"))

RELEASE_1_3_0: Final = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"


@pytest.fixture(autouse=SOAK)
def patience() -> None:
    """Let a test last longer than others may."""
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    victims = Victims()
    yield victims
    victims.dismiss()


_SCENES: Final = [(name, company) for name in OPERATIONS for company in (False, True)]
_A_HALF: Final = _SCENES[0::4] + _SCENES[3::4]
"""Each operation once, every other one in a batch."""


def _named(scene: tuple[str, bool]) -> str:
    return f"{scene[0]} {'in a batch' if scene[1] else 'alone'}"


@pytest.fixture(scope="module", params=_SCENES if SOAK else _A_HALF, ids=_named)
def scene(
    request: pytest.FixtureRequest, victims: Victims, tmp_path_factory: pytest.TempPathFactory
) -> Scene:
    name, company = request.param
    return Scene(tmp_path_factory.mktemp("scene"), victims, name, company=company)


def test_operation_that_is_killed_at_a_statement_is_done_wholly_or_not_at_all(
    scene: Scene, count: Count
) -> None:
    for number in some(range(1, scene.statements + 1), scene.name, count=2, everywhere=SOAK):
        report = scene.interrupt(kill_at=number)
        assert report.ended_by(signal.SIGKILL, or_survived=scene.company)
        scene.inspect(report)
    count("operations interrupted: kills at statements", scene.interruptions)
    scene.tell("kills at statements")


def test_operation_that_is_killed_in_a_torn_write_is_done_wholly_or_not_at_all(
    scene: Scene, count: Count
) -> None:
    for size in some(scene.sizes(), scene.name, everywhere=SOAK):
        report = scene.interrupt(bytes=size, fatal=True)
        assert report.ended_by(signal.SIGXFSZ, or_survived=scene.company)
        scene.inspect(report)
    count("operations interrupted: kills in writes", scene.interruptions)
    scene.tell("kills in writes")


def test_operation_whose_writes_fail_is_refused_or_unknown_and_the_process_goes_on(
    scene: Scene, count: Count
) -> None:
    for size in some(scene.sizes(), scene.name, everywhere=SOAK):
        report = scene.interrupt(bytes=size, fatal=False)
        assert report.exit == 0
        assert report.told("later")
        scene.inspect(report)
    count("operations interrupted: failed writes", scene.interruptions)
    scene.tell("failed writes")


def test_operation_for_which_there_are_no_pages_is_refused_and_the_process_goes_on(
    scene: Scene, count: Count
) -> None:
    for pages in some(range(40), scene.name, everywhere=SOAK):
        report = scene.interrupt(pages=pages)
        assert report.exit == 0
        assert report.said["operation"] in ("told", "error StoreError")
        assert report.told("later")
        scene.inspect(report)
    count("operations interrupted: full files", scene.interruptions)
    scene.tell("full files")


def test_operation_under_a_foreign_lock_is_refused_and_the_process_goes_on(scene: Scene) -> None:
    if scene.company:
        pytest.skip("nobody leads, so nobody has company")
    report = scene.interrupt(locked=True)
    assert report.exit == 0
    assert report.said["operation"] == "error StoreBusy"
    assert report.told("later")
    scene.inspect(report)


def test_what_an_operation_has_returned_outlives_a_kill(scene: Scene) -> None:
    if not scene.company:
        assert scene.interrupt(untold=True).exit == -signal.SIGKILL
        assert picture(scene.path, scene.known)[0] == scene.after


@pytest.mark.parametrize("old", [False, True], ids=["new", "1.3.0"])
def test_opening_that_is_killed_on_its_way_leaves_a_file_that_opens(
    tmp_path: Path, victims: Victims, clock: ManualClock, old: bool
) -> None:
    path = tmp_path / "store.db"

    def open_on_the_way(**trap: int) -> dict[str, str]:
        path.unlink(missing_ok=True)
        if old:
            copy_store(RELEASE_1_3_0, path)
        moment = clock().isoformat()
        return victims.suffer(
            path=str(path), name="open", facts={}, moment=moment, company=False, **trap
        ).said

    whole = open_on_the_way()
    after = picture(path)[0]
    for number in some(range(1, int(whole["statements"]) + 1), "open", count=4, everywhere=SOAK):
        assert "operation" not in open_on_the_way(kill_at=number)
        DurableEngine(path, clock=clock).close()
        assert picture(path)[0] == after


def test_a_full_disk_loses_nothing_and_is_forgotten_once_it_has_room(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("a disk of our own takes a mount namespace, which this system does not grant")
    program = Path(__file__).with_name("full_disk.py")
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, str(program), str(tmp_path)],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
