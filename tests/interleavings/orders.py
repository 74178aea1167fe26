"""Whether what calls gave and left is what they would have given and left one after the other, in some order.

A call that had returned before another began comes before it. A call that could not have the lock comes in part, as far as
it says.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import Any

from dura import EngineError, StoreBusy
from interleavings.call import Call, Ended, OtherwiseError, World
from model.rows import Store


@dataclass(frozen=True)
class Made:
    """A call that was made: by whom, from when to when, and what it gave."""

    player: int
    call: Call
    began: int
    ended: int
    moment: datetime
    """The time when it began."""
    got: Any

    def busy(self) -> bool:
        return self.got is StoreBusy or (isinstance(self.got, tuple) and StoreBusy in self.got)

    def __str__(self) -> str:
        return f"player {self.player}, {self.call.what} ({self.began} to {self.ended}): {self.got!r}"


def explained(before: bytes, made: list[Made], after: Store) -> bool:
    """Whether there is such an order.

    Args:
        before: The world before, pickled.
        made: The calls.
        after: The store as it was left.
    """
    return _follow(before, made, (0,) * len(made), after, set())


def _follow(
    pickled: bytes,
    made: list[Made],
    places: tuple[int, ...],
    after: Store,
    tried: set[tuple[tuple[int, ...], bytes]],
) -> bool:
    """Whether the calls, of which so many moments have come, can go on from this world to the end."""
    if (places, pickled) in tried:
        return False
    tried.add((places, pickled))
    if _may_end(made, places) and _same(pickle.loads(pickled).store, after):
        return True
    for number in _next(made, places):
        call, place = made[number], places[number]
        for way, early in product(call.call.moments[place].ways(), (False, True)):
            world: World = pickle.loads(pickled)
            if early and world.now <= call.moment:
                continue
            place_then = _moment(world, call, place, way, early=early)
            if place_then is None:
                continue
            _learn(world.store, after)
            then = (*places[:number], place_then, *places[number + 1 :])
            if _follow(pickle.dumps(world), made, then, after, tried):
                return True
    return False


def _moment(world: World, made: Made, place: int, way: Any, *, early: bool) -> int | None:
    """Let a moment of a call come. Returns how many have come of it then; None: the rules give something else.

    A call may go by the time when it began, though it takes effect when some has passed.
    """
    last = len(made.call.moments)
    if made.busy() and place == max(made.call.busy):
        return None
    passed = world.now - made.moment if early else timedelta(0)
    world.now -= passed
    try:
        given = way(world, made.got)
    except OtherwiseError:
        return None
    except EngineError as error:
        given = Ended(type(error))
    world.now += passed
    if made.busy():
        return None if isinstance(given, Ended) else place + 1
    if isinstance(given, Ended):
        return last if given.value == made.got else None
    if place + 1 < last:
        return place + 1 if given is None else None
    return last if given == made.got else None


def _may_end(made: list[Made], places: tuple[int, ...]) -> bool:
    return all(_is_over(call, place) for call, place in zip(made, places, strict=True))


def _is_over(made: Made, place: int) -> bool:
    return place in made.call.busy if made.busy() else place == len(made.call.moments)


def _next(made: list[Made], places: tuple[int, ...]) -> Iterator[int]:
    """The calls of which a moment may be next: those before which no other had returned that is not over."""
    left = [number for number, place in enumerate(places) if place < len(made[number].call.moments)]
    for number in sorted(left, key=lambda number: _likely(made[number], places[number])):
        if all(
            made[other].ended >= made[number].began or _is_over(made[other], places[other])
            for other in left
            if other != number
        ):
            yield number


def _likely(made: Made, place: int) -> int:
    """When the moment has probably come: the last one right before the call returned, others as it began."""
    return made.ended if place + 1 == len(made.call.moments) else made.began


def _same(world: Store, after: Store) -> bool:
    return world == after and all(
        task.finished_order() == after.tasks[task_id].finished_order()
        for task_id, task in world.tasks.items()
    )


def _learn(world: Store, after: Store) -> None:
    """Name the runs that the engine has made by itself."""
    for task, run in world.runs():
        if not run.run_id and task.task_id in after.tasks:
            runs = after.tasks[task.task_id].runs
            run.run_id = runs[run.attempt - 1].run_id if run.attempt <= len(runs) else ""
