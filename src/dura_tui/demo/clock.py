"""A clock that starts some minutes ago and is moved up to the present, so that a new store can have a past."""

from __future__ import annotations

from datetime import datetime, timedelta

from dura.clock import system_clock


class CatchingUpClock:
    """The machine's clock, less a delay that only shrinks. Once the delay is gone it is the machine's clock."""

    def __init__(self, behind: timedelta) -> None:
        """Start in the past.

        Args:
            behind: How far.
        """
        self._behind = behind

    def __call__(self) -> datetime:
        """The time by this clock, in UTC."""
        return system_clock() - self._behind

    @property
    def caught_up(self) -> bool:
        """Whether it shows the present."""
        return not self._behind

    def advance(self, seconds: float) -> None:
        """Move towards the present, and never past it."""
        self._behind = max(self._behind - timedelta(seconds=seconds), timedelta(0))
