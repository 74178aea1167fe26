"""A worker's turn: settle the run in hand and claim the next, in one transaction for all workers that wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dura.errors import EngineError
from dura.store.claim import Claim, Granted, claim
from dura.store.due import Lookout
from dura.store.settle import NO_LONGER_HELD, Settlement, complete_all, settle
from dura.store.transaction import Transaction


class Turn(NamedTuple):
    """What a worker asks for."""

    settlement: Settlement | None
    """Of the run in hand, if there is one."""
    wanted: Claim | None
    """Which run is to be next; None: none."""


class Outcome(NamedTuple):
    """What it gets."""

    lost: EngineError | None
    """Why the run in hand could not be settled: it is no longer the worker's. It does not keep the next from being had."""
    granted: Granted | None
    more: bool
    """Whether more may be due than one turn makes pending, so that asking again may find a run."""


def take_turns(tx: Transaction, turns: Sequence[Turn], lookout: Lookout) -> list[Outcome]:
    """Settle and claim for each.

    Raises:
        ServeAlone: One of several workers has lost its run.
    """
    lost = _settle(tx, [turn.settlement for turn in turns])
    asking = {place: turn.wanted for place, turn in enumerate(turns) if turn.wanted is not None}
    granted: list[Granted | None] = [None] * len(turns)
    more = False
    if asking:
        claims, more = claim(tx, list(asking.values()), lookout)
        for place, run in zip(asking, claims, strict=True):
            granted[place] = run
    return [Outcome(error, run, more) for error, run in zip(lost, granted, strict=True)]


def _settle(tx: Transaction, settlements: Sequence[Settlement | None]) -> list[EngineError | None]:
    """Settle each, the completed ones together. Returns why one could not be."""
    completed = [
        settlement for settlement in settlements if settlement is not None and settlement.result is not None
    ]
    if len(completed) > 1:
        complete_all(tx, completed)
    lost: list[EngineError | None] = []
    for settlement in settlements:
        error: EngineError | None = None
        if settlement is not None and (settlement.result is None or len(completed) == 1):
            try:
                settle(tx, settlement)
            except NO_LONGER_HELD as no_longer_held:
                error = no_longer_held
        lost.append(error)
    return lost
