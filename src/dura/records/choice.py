"""What an operator is told before an action on much at once: which steps there are to go back to, and what would go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class StepCount:
    """A step, and how many of the tasks asked for have finished it."""

    name: str
    tasks: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Removable:
    """What a cleanup would remove."""

    before: datetime
    """Tasks that ended before this moment would go."""
    completed: int
    failed: int
    cancelled: int
    events: int
    """Events that nobody can need any more."""
    capped: bool
    """Whether counting stopped early, so that there may be more."""

    @property
    def tasks(self) -> int:
        """All tasks that would go."""
        return self.completed + self.failed + self.cancelled
