"""Many processes at once on one file: every claim is made once, and no commit is lost while others open and close."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

import pytest

from conftest import rows
from counts import Count
from dura import DurableEngine
from workers.storm import Ending, come_and_go, storm

PROCESSES = 4


def in_a_moment() -> float:
    """When all processes have probably started."""
    return time.monotonic() + 1.0


def test_a_storm_of_processes_and_threads_makes_every_claim_once_and_every_ending_counts(
    path: Path, count: Count
) -> None:
    engine = DurableEngine(path)
    refs = engine.spawn_many(
        {"name": "job", "params": n, "queue": f"q{n % 3}", "priority": n % 4, "max_attempts": 3}
        for n in range(300)
    )
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=PROCESSES, mp_context=spawn) as pool:
        found = pool.map(storm, [str(path)] * PROCESSES, [in_a_moment()] * PROCESSES, range(PROCESSES))
        endings: list[Ending] = list(chain.from_iterable(found))

    claims = Counter((ending.run_id, ending.token) for ending in endings)
    assert set(claims.values()) == {1}, "a claim was made twice"
    tokens: defaultdict[str, set[int]] = defaultdict(set)
    for ending in endings:
        tokens[ending.run_id].add(ending.token)
    last_tokens = dict(rows(path, "SELECT run_id, claim_token FROM runs"))
    assert {run_id: set(range(1, last + 1)) for run_id, last in last_tokens.items()} == dict(tokens)

    assert {ref.task_id for ref in refs} == {ending.task_id for ending in endings}
    ended = {(ending.run_id, ending.how) for ending in endings if ending.how != "given back"}
    assert ended == set(rows(path, "SELECT run_id, state FROM runs")), "an ending was lost, or had twice"
    failed = Counter(ending.task_id for ending in endings if ending.how == "failed")
    for task_id, state, attempts in rows(path, "SELECT task_id, state, attempts FROM tasks"):
        assert (state, attempts) == (
            ("failed", 3) if failed[task_id] == 3 else ("completed", failed[task_id] + 1)
        )
    assert engine.check() == ()
    engine.close()
    count("claims in storms of processes", len(endings))
    sys.stdout.write(f"storm: {len(endings)} claims by {PROCESSES} processes of 3 threads, each made once\n")


@pytest.mark.parametrize("is_new", [True, False], ids=["new file", "closed file"])
def test_processes_that_come_and_go_lose_no_commit_and_leave_one_file(
    path: Path, tmp_path: Path, is_new: bool
) -> None:
    """Who closes last empties the log and removes it, while another opens the file."""
    if not is_new:
        DurableEngine(path).close()
    times = 25
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=PROCESSES, mp_context=spawn) as pool:
        found = pool.map(
            come_and_go,
            [str(path)] * PROCESSES,
            [in_a_moment()] * PROCESSES,
            range(PROCESSES),
            [times] * PROCESSES,
        )
        told = Counter(chain.from_iterable(found))
    assert told.total() == PROCESSES * times
    assert Counter(task_id for (task_id,) in rows(path, "SELECT task_id FROM tasks")) == told
    engine = DurableEngine(path)
    assert engine.check() == ()
    engine.close()
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]
