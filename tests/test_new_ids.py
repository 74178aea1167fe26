"""Ids: in order, well-formed, and never the same in a forked child."""

from __future__ import annotations

import os
import re
import threading

from dura.ids import new_id, new_ids


def test_ids_of_all_threads_are_different_and_each_thread_s_are_in_order() -> None:
    made: list[list[str]] = []

    def make() -> None:
        made.append([new_id() for _ in range(3_000)] + new_ids(3_000))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each for ids in made for each in ids}) == 24_000
    for ids in made:
        assert ids == sorted(ids)
        assert all(re.fullmatch(r"[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}", each) for each in ids)


def test_a_forked_child_draws_other_ids() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, ",".join(new_ids(50)).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="ascii") as pipe:
        theirs = pipe.read().split(",")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    noise = [each[17:] for each in theirs]
    assert len(noise) == 50
    assert not set(noise) & {each[17:] for each in new_ids(50)}
