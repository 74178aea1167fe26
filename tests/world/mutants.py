"""Try damaged stores at their doors: `python mutants.py KEPT FOLDER KNOWN HOW FIRST COUNT STEP`. Prints a JSON document.

KEPT is the folder of the store to damage, FOLDER an empty one to do it in, KNOWN the id of a task in it, HOW `bytes` or
`cells`; the mutants are COUNT from number FIRST on, every STEP-th. Each is taken to one door, every other time to one that
looks; with DURA_TEST_SOAK to all. A process of its own: a mutant that ends it, or keeps it busy, is a finding and not the end
of the tests.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import traceback
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from world.cells import VALUES, cells, spoil
from world.doors import acting, looking
from world.mutations import age, draw, mutate, renew, trace

EVERYWHERE: Final = bool(os.environ.get("DURA_TEST_SOAK"))

_PATIENCE: Final = 60.0
"""Seconds that one mutant may take, with everything."""

_TOLD: Final = 5


def main(kept: Path, folder: Path, known: str, how: str, first: int, count: int, step: int) -> None:
    ends: Counter[str] = Counter()
    findings: list[str] = []
    every_cell = (
        list(islice(cells(kept / "store.db"), first, first + count * step, step)) if how == "cells" else []
    )
    for place, number in enumerate(range(first, first + (len(every_cell) or count) * step, step)):
        faulthandler.dump_traceback_later(_PATIENCE, exit=True)
        (folder.parent / f"{folder.name}.number").write_text(str(number))
        renew(kept, folder)
        if how == "cells":
            table, column, value = every_cell[place]
            spoil(folder / "store.db", table, column, value)
            damage, kind = f"{VALUES[value]!r:.20} in {table}.{column}", "cells"
        else:
            mutation = draw(number, folder)
            mutate(mutation, folder)
            damage, kind = str(mutation), f"store.db{mutation.suffix}"
        age(folder)
        try:
            _visit(folder, known, place, ends)
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            findings.append(f"{damage}\n{traceback.format_exc()}")
            if len(findings) == _TOLD:
                break
        ends[f"mutations of {kind}"] += 1
    faulthandler.cancel_dump_traceback_later()
    json.dump({"ends": ends, "findings": findings}, sys.stdout)


def _visit(folder: Path, known: str, place: int, ends: Counter[str]) -> None:
    path = folder / "store.db"
    turn, acts = divmod(place, 2)
    before = trace(folder)
    for door in looking(turn)[: None if EVERYWHERE else 1 - acts]:
        ends[f"{door.__name__}: {door(path, known).partition(':')[0]}"] += 1
        assert trace(folder) == before, f"{door.__name__} left a trace: {sorted(os.listdir(folder))}"
    if EVERYWHERE or acts:
        door = acting(turn)
        ends[f"{door.__name__}: {door(path, known).partition(':')[0]}"] += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], *map(int, sys.argv[5:8]))
