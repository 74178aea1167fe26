"""Programs that work on one store and are killed all the time, with a ledger outside as witness."""

from __future__ import annotations

import faulthandler
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import SystemRandom
from typing import Final

import pytest

from conftest import wait_until
from counts import Count
from dura import DurableEngine
from soak.havoc import Havoc, Program
from soak.ledger import Entry, Ledger
from soak.witness import Witness, repeated, unaccounted, watch_completions

pytestmark = pytest.mark.crash

SOAK: Final = bool(os.environ.get("DURA_TEST_SOAK"))
ORDERS: Final = int(os.environ.get("DURA_TEST_ORDERS", "10000" if SOAK else "400"))
SECONDS: Final = float(os.environ.get("DURA_TEST_SECONDS", "60" if SOAK else "7"))
"""How long it is killed."""

LEASE: Final = 2
_LARGEST_LOG: Final = 64 * 2**20
_BYTES_AN_ORDER: Final = 6_000


@contextmanager
def havoc(path: Path, ledger: Ledger, seed: str) -> Iterator[Havoc]:
    log = ledger.path.with_name("log")
    programs = [
        Program(log, "worker.py", path, 3, 1, LEASE),
        Program(log, "worker.py", path, 3, 1, LEASE),
        Program(log, "worker.py", path, 4, 2, LEASE),
        Program(log, "application.py", path, ledger.path, ORDERS, SECONDS),
    ]
    havoc = Havoc(programs, ledger, seed, stop_seconds=LEASE + 0.5)
    try:
        yield havoc
    finally:
        havoc.end()


def test_programs_that_are_killed_all_the_time_lose_nothing_and_repeat_nothing_that_is_finished(
    path: Path, tmp_path: Path, count: Count
) -> None:
    if SOAK:
        faulthandler.cancel_dump_traceback_later()
    seed = os.environ.get("DURA_TEST_SEED") or str(SystemRandom().randrange(10**9) if SOAK else 0)
    engine, ledger = DurableEngine(path), Ledger(tmp_path / "ledger")
    watch_completions(path)
    wal, largest = path.with_name("store.db-wal"), 0
    with havoc(path, ledger, seed) as programs:
        application = programs.programs[-1]
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            time.sleep(programs.chance.uniform(0.05, 0.3))
            programs.strike()
            largest = max(largest, wal.stat().st_size if wal.exists() else 0)
        programs.go_on()
        wait_until(application.over, within=60 + SECONDS)
        wait_until(lambda: engine.task_counts_by_state() == {"completed": ORDERS}, within=60 + 4 * SECONDS)
        assert programs.calm() == [0, 0, 0, 0], ledger.path.with_name("log").read_text()[-4000:]
        assert programs.left() == []
    assert engine.check() == ()
    engine.close()
    assert not wal.exists()
    assert largest <= _LARGEST_LOG
    size = path.stat().st_size
    assert size <= _BYTES_AN_ORDER * ORDERS

    witness = Witness(path, ledger, programs.killed)
    witness.judge(ORDERS)
    assert engine.cleanup(timedelta(0)) == ORDERS
    assert engine.check() == ()
    engine.close()
    count("processes killed under load", len(programs.killed))
    count("processes stopped for longer than a lease", programs.stops)
    count("orders that survived it, each step once", ORDERS)
    kills = ", ".join(f"{count} of {what}" for what, count in sorted(programs.kills.items()))
    sys.stdout.write(
        f"kill loop (seed {seed}): {programs.kills.total()} kills of {len(programs.killed)} processes ({kills}) and "
        f"{programs.stops} stops of {LEASE + 0.5} s survived by {ORDERS} orders; {witness.reclaims} leases ran out, {witness.repeats} effects were had again, "
        f"{witness.losses} steps were refused; log up to {largest:,} bytes, file {size:,} bytes\n"
    )


def about(*lines: str) -> list[Entry]:
    """The entries of a step, each as what, attempt, token, process and value."""
    entries = []
    for line in lines:
        what, attempt, token, pid, value = line.split()
        entries.append(Entry(what, "task", "step", int(attempt), int(token), int(pid), value))
    return entries


@pytest.mark.parametrize(
    ("entries", "is_repeated", "is_unaccounted"),
    [
        (["did 1 1 10 a", "kept 1 1 10 a"], False, False),
        (["did 1 1 10 a", "did 1 2 11 b", "kept 1 2 11 b"], False, True),
        (["did 1 1 66 a", "did 1 2 11 b", "kept 1 2 11 b"], False, False),
        (["did 1 1 10 a", "lost 1 1 10 LeaseLost", "kept 1 2 11 a"], False, False),
        (["did 1 2 11 b", "kept 1 2 11 b", "did 1 1 10 a", "lost 1 1 10 LeaseLost"], False, False),
        (["did 1 1 66 a", "kept 1 1 66 a", "did 1 2 11 b", "kept 1 2 11 b"], True, False),
        (["did 1 1 10 a", "kept 1 1 10 a", "did 1 1 10 b", "kept 1 1 10 b"], True, False),
        (["did 1 1 10 a", "kept 1 1 10 a", "did 2 1 10 b", "kept 2 1 10 b"], True, False),
        (["did 1 1 10 a", "did 1 1 10 b", "kept 1 1 10 b"], False, True),
    ],
)
def test_the_witness_tells_what_is_repeated_and_what_nobody_accounts_for(
    entries: list[str], is_repeated: bool, is_unaccounted: bool
) -> None:
    assert bool(repeated(about(*entries))) is is_repeated
    assert bool(unaccounted(about(*entries), {66})) is is_unaccounted
