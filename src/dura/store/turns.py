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
    if len(turns) == 1:
        return [_take_turn(tx, *turns[0], lookout)]
    lost = _settle(tx, [turn.settlement for turn in turns])
    asking = [turn.wanted for turn in turns if turn.wanted is not None]
    if not asking:
        return [Outcome(error, None, more=False) for error in lost]
    claims, more = claim(tx, asking, lookout)
    if len(claims) < len(turns):
        granted = iter(claims)
        claims = [None if turn.wanted is None else next(granted) for turn in turns]
    return [Outcome(error, run, more) for error, run in zip(lost, claims, strict=True)]


def _take_turn(
    tx: Transaction, settlement: Settlement | None, wanted: Claim | None, lookout: Lookout
) -> Outcome:
    """Settle and claim for one."""
    lost = None if settlement is None else _lost(tx, settlement)
    if wanted is None:
        return Outcome(lost, None, more=False)
    (granted,), more = claim(tx, [wanted], lookout)
    return Outcome(lost, granted, more)


def _settle(tx: Transaction, settlements: Sequence[Settlement | None]) -> list[EngineError | None]:
    """Settle each, the completed ones together. Returns why one could not be."""
    lost: list[EngineError | None] = [None] * len(settlements)
    completed = [done for done in settlements if done is not None and done.result is not None]
    if len(completed) > 1:
        complete_all(tx, completed)
    for place, settlement in enumerate(settlements):
        if settlement is not None and (len(completed) == 1 or settlement.result is None):
            lost[place] = _lost(tx, settlement)
    return lost


def _lost(tx: Transaction, settlement: Settlement) -> EngineError | None:
    """Settle one. Returns why it could not be, if the run is no longer the worker's."""
    try:
        settle(tx, settlement)
    except NO_LONGER_HELD as no_longer_held:
        return no_longer_held
    return None
