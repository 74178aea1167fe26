"""One thread at a time, and a seed that chooses which: what threads do to each other is the same whenever it is played.

Threads give way at the yield points that the stage has put into the engine, and where they would block: a gate is a lock of
which the scheduler knows who waits for it. Waiting takes no time; whether a wait with a bound is too long is chosen too.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

_PATIENCE: Final = 60.0
"""Seconds that the test waits for a play to end: a player that blocks where the scheduler does not know of it never ends."""


_SHORT: Final = 1.0
"""Seconds; a wait that is shorter may end at any time without its cause."""


class Gate:
    """A lock whose waiting the scheduler knows of."""

    def __init__(self, scheduler: Scheduler, what: str, *, held: bool) -> None:
        self.what = what
        self.open = not held
        self._scheduler = scheduler

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not self.open and not self._scheduler.wait(self, math.inf if timeout < 0 else timeout):
            return False
        self.open = False
        return True

    def release(self) -> None:
        # Nobody gives way here: it is done under real locks.
        if self.open:
            raise RuntimeError("release unlocked lock")
        self.open = True

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *about: object) -> None:
        self.release()


class Scheduler:
    """Players, which are threads that live as long as it does, and who of them goes on."""

    def __init__(self, players: int) -> None:
        self.log: list[tuple[int, str]] = []
        """Who came to which yield point, in this order."""
        self.chance = Random()
        self.stuck: str | None = None
        """Set if all who were left waited in vain, and for what."""
        self._restless = self._impatient = 0.0
        self._quiet: Callable[[], str | None] | None = None
        self._calls: list[Callable[[], object] | None] = [None] * players
        self._batons = [_taken() for _ in range(players)]
        self._over = _taken()
        self._playing: list[int] = []
        self._waiting: dict[int, tuple[Gate, float]] = {}
        self._places: dict[int, int] = {}
        self._threads = [
            threading.Thread(target=self._live, args=(place,), name=f"player-{place}", daemon=True)
            for place in range(players)
        ]
        for thread in self._threads:
            thread.start()

    def play(
        self,
        calls: Sequence[Callable[[], object]],
        seed: str,
        *,
        quiet: Callable[[], str | None] | None = None,
    ) -> None:
        """Let each player make its call, in the order of the seed.

        Args:
            calls: One for each player, at most as many as there are; they raise nothing.
            seed: Chooses.
            quiet: Called when all who are left wait, to wake them; returns what is wrong with that, if anything.
        """
        self.chance = Random(seed)
        assert not self._playing, "a player of an earlier play blocks for real"
        self.log, self.stuck, self._quiet = [], None, quiet
        self._restless = self.chance.choice((0.1, 0.3, 0.6, 1.0))
        self._impatient = self.chance.choice((0.0, 0.0, 0.0, 0.1))
        self._calls[: len(calls)] = calls
        self._playing = list(range(len(calls)))
        self._batons[self._next(None)].release()
        assert self._over.acquire(timeout=_PATIENCE), f"a player blocks for real, after {self.told()}"

    def end(self) -> None:
        """End the players."""
        for place, thread in enumerate(self._threads):
            self._calls[place] = None
            self._batons[place].release()
            thread.join(60)

    def give_way(self, where: str) -> None:
        """A yield point: another player may go on here. Threads that do not play pass."""
        place = self._places.get(threading.get_ident())
        if place is None or not self._playing:
            return
        self.log.append((place, where))
        if self.chance.random() < self._restless:
            self._switch(place, self._next(None))

    def wait(self, gate: Gate, seconds: float) -> bool:
        """Wait until the gate is open. False: it took longer than so many seconds."""
        place = self._places[threading.get_ident()]
        self.log.append((place, f"waits for {gate.what}"))
        self._waiting[place] = gate, seconds
        self._switch(place, self._next(None))
        del self._waiting[place]
        if not gate.open:
            self.log.append((place, "has waited too long"))
        return gate.open

    def told(self) -> str:
        """The schedule, a line for each stretch of one player."""
        lines: list[tuple[int, list[str]]] = []
        for place, where in self.log:
            if not lines or lines[-1][0] != place:
                lines.append((place, []))
            lines[-1][1].append(where)
        return "\n".join(f"  player {place}: {', '.join(where)}" for place, where in lines)

    def _live(self, place: int) -> None:
        self._places[threading.get_ident()] = place
        while True:
            self._batons[place].acquire()
            call = self._calls[place]
            if call is None:
                return
            call()
            self.log.append((place, "ends"))
            self._playing.remove(place)
            if self._playing:
                self._batons[self._next(place)].release()
            else:
                self._over.release()

    def _switch(self, place: int, to: int) -> None:
        if to != place:
            self._batons[to].release()
            self._batons[place].acquire()

    def _next(self, ended: int | None) -> int:
        """Who goes on: one that can, now and then one whose wait is said to be too long."""
        late = [place for place, (_, seconds) in self._waiting.items() if seconds < math.inf]
        if late and self._impatient and self.chance.random() < self._impatient:
            return self.chance.choice(sorted(late))
        ready = self._ready()
        if not ready and self._quiet is not None:
            self.stuck = self._quiet()
            ready = self._ready()
        if not ready:
            self.stuck = ", ".join(
                f"player {place} waits for {gate.what}" for place, (gate, _) in self._waiting.items()
            )
            # So that they end: each is told that it has waited too long.
            ready = sorted(self._waiting)
        return self.chance.choice(ready)

    def _ready(self) -> list[int]:
        """Who plays and waits for nothing, or for a gate that is open, or not for long."""
        return [
            place for place in self._playing if place not in self._waiting or _soon(*self._waiting[place])
        ]


def _soon(gate: Gate, seconds: float) -> bool:
    return gate.open or seconds < _SHORT


def _taken() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock
