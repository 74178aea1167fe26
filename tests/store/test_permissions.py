"""Who may use a store: the permissions of the file that is made, and of what SQLite puts beside it, for whoever opens it."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import claim, started
from dura import DurableEngine, InvalidValue, StoreError

FILES = ("store.db", "store.db-wal", "store.db-shm")
UMASKS = [0o077, 0o022, 0o027, 0o002, 0o000]

GROUP, ANN, BEN, STRANGER = 54321, 54322, 54323, 54324
"""Ids that no account of the machine has; the kernel asks for no more than a number."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


def modes(folder: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}


@pytest.fixture(params=UMASKS, ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_without_a_mode_a_new_file_and_those_beside_it_follow_the_umask(path: Path, umask: int) -> None:
    engine = DurableEngine(path)
    started(engine)
    assert modes(path.parent) == dict.fromkeys(FILES, 0o666 & ~umask)
    engine.close()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660, 0o664, 0o666], ids=oct)
def test_the_mode_is_that_of_the_file_and_of_those_beside_it_under_any_umask(
    path: Path, umask: int, mode: int
) -> None:
    engine = DurableEngine(path, mode=mode)
    started(engine)
    assert modes(path.parent) == dict.fromkeys(FILES, mode)
    engine.close()
    again = DurableEngine(path)
    again.spawn_task(name="job", params=None)
    assert modes(path.parent) == dict.fromkeys(FILES, mode)
    again.close()


@pytest.mark.parametrize("content", ["empty", "a store"])
def test_a_file_that_exists_keeps_its_permissions(path: Path, content: str) -> None:
    if content == "empty":
        path.touch()
    else:
        DurableEngine(path).close()
    path.chmod(0o640)
    engine = DurableEngine(path, mode=0o666)
    started(engine)
    assert modes(path.parent) == dict.fromkeys(FILES, 0o640)
    engine.close()


def test_a_link_to_a_file_that_is_still_to_be_made_opens_no_way_around_the_mode(path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path.name)
    DurableEngine(link, mode=0o600).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert link.is_symlink()


def test_compacting_keeps_the_permissions(path: Path) -> None:
    engine = DurableEngine(path, mode=0o660)
    started(engine)
    engine.compact()
    assert modes(path.parent) == dict.fromkeys(FILES, 0o660)
    engine.close()
    assert modes(path.parent) == {"store.db": 0o660}


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("0o660", "must be permissions such as 0o660"),
        (True, "must be permissions such as 0o660"),
        (6.0, "must be permissions such as 0o660"),
        (660, "write them in octal"),
        (600, "write them in octal"),
        (-1, "write them in octal"),
        (0o1660, "write them in octal"),
        (0o770, "execute"),
        (0o440, "its own owner"),
        (0o060, "its own owner"),
        (0, "its own owner"),
        (0o620, "write who may not read"),
        (0o662, "write who may not read"),
    ],
)
def test_permissions_that_make_no_sense_are_refused_before_a_file_is_made(
    path: Path, mode: int, why: str
) -> None:
    with pytest.raises(InvalidValue, match=why):
        DurableEngine(path, mode=mode)
    assert list(path.parent.iterdir()) == []


# --- several operators -----------------------------------------------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder of a group's own, as the page on operating recommends it; tmp_path is closed to all but its owner."""
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, ANN, GROUP)
    folder.chmod(0o2770)
    yield folder
    shutil.rmtree(folder)


def child_of(user: int, groups: list[int], act: Callable[[], object], umask: int) -> int:
    """A process of another user, whose first group is a stranger's, that does this. It ends with 0 if it went well.

    A fork, since this interpreter may lie where the other user cannot start it.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups(groups)
            os.setgid(STRANGER)
            os.setuid(user)
            os.umask(umask)
            act()
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it was, this process must not go on as the test
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def code_of(child: int) -> int:
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def as_user(user: int, groups: list[int], act: Callable[[], object], umask: int = 0o077) -> int:
    return code_of(child_of(user, groups, act, umask))


def work(path: Path, *, mode: int | None = None) -> None:
    engine = DurableEngine(path, mode=mode)
    engine.spawn_task(name="job", params=None)
    task = claim(engine)
    engine.complete_run(run_id=task.run_id, result=None, claim_token=task.claim_token)
    engine.close()


@as_root
@pytest.mark.parametrize("umask_of_ben", UMASKS, ids=oct)
def test_two_operators_of_a_group_work_on_one_store_in_turn_and_at_once(
    shared: Path, umask_of_ben: int
) -> None:
    path = shared / "store.db"
    assert as_user(ANN, [GROUP], lambda: work(path, mode=0o660)) == 0
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (ANN, GROUP, 0o660)

    def both() -> None:
        engine = DurableEngine(path)
        engine.spawn_task(name="job", params=None)
        beside = {
            each.name: (each.stat().st_gid, stat.S_IMODE(each.stat().st_mode)) for each in shared.iterdir()
        }
        assert beside == dict.fromkeys(FILES, (GROUP, 0o660))
        engine.close()

    assert as_user(BEN, [GROUP], both, umask=umask_of_ben) == 0
    assert as_user(ANN, [GROUP], both) == 0


@as_root
def test_what_one_operator_has_open_the_other_can_write(shared: Path) -> None:
    path = shared / "store.db"
    opened, ben_was_there = os.pipe(), os.pipe()

    def ann() -> None:
        engine = DurableEngine(path, mode=0o660)
        started(engine)
        # The log and its index are hers, and stay as long as she has the store open.
        os.write(opened[1], b"!")
        assert os.read(ben_was_there[0], 1) == b"!"
        assert engine.task_counts_by_state() == {"running": 1, "pending": 1}
        engine.close()

    def ben() -> None:
        assert {each.stat().st_uid for each in shared.iterdir()} == {ANN}
        engine = DurableEngine(path)
        engine.spawn_task(name="job", params=None)
        engine.close()

    first = child_of(ANN, [GROUP], ann, 0o077)
    assert os.read(opened[0], 1) == b"!"
    assert as_user(BEN, [GROUP], ben) == 0
    os.write(ben_was_there[1], b"!")
    assert code_of(first) == 0
    for end in (*opened, *ben_was_there):
        os.close(end)


@as_root
def test_who_is_not_of_the_group_is_told_and_changes_nothing(shared: Path) -> None:
    path = shared / "store.db"
    assert as_user(ANN, [GROUP], lambda: work(path, mode=0o660)) == 0
    shared.chmod(0o2775)
    before = path.read_bytes()

    def stranger() -> None:
        with pytest.raises(StoreError, match="permission") as told:
            DurableEngine(path)
        assert str(path) in str(told.value)

    assert as_user(STRANGER, [], stranger) == 0
    assert path.read_bytes() == before
    assert [each.name for each in shared.iterdir()] == ["store.db"]
