"""One module a system: its verbs behind the few that the workloads need, so that all are measured by the same code."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

Step = Callable[[str, Callable[[], Any]], Any]
"""Makes a durable step: its name, and what it computes."""

Job = Callable[[Any, Step], None]
"""What a handler does, given the task's params and the way to make steps."""


class Adapter(Protocol):
    """An open store of one system. Each module of this folder has one, named `System`."""

    fastest: ClassVar[str]
    """The `synchronous` level at which the store is filled before anything is measured."""
    file: str
    """The SQLite file."""

    def __init__(self, path: str, synchronous: str, workers: int) -> None:
        """Open the store, and make it if it does not exist.

        Args:
            path: The file, or the folder for a system that wants one.
            synchronous: The level that is asked for. Systems without such an option have had it executed on each new
                connection already (`watching`), and need to do something only if they set a level of their own.
            workers: How many workers a pool will have, for systems that must know early.
        """

    def spawn(self, params: Any, *, steps: bool = False) -> None:
        """Enqueue a task, and return once it is committed. `steps`: its job makes durable steps."""

    def pool(self, workers: int, job: Job) -> AbstractContextManager[None]:
        """Workers that run the job for each task, inside the block; they have ended after it."""

    def close(self) -> None:
        """Close the store."""


def no_steps(name: str, compute: Callable[[], Any]) -> Any:
    """The `Step` of systems, and of tasks, that have none."""
    raise AssertionError(f"step {name!r}: this system, or this task, has no durable steps")
