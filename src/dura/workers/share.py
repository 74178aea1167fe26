"""What one process of a pool is given: its share of the workers, and what they need, in a form that can be sent.

A process of the pool is a fresh interpreter that imports the handlers by name. What has no name that it can import is
refused before any process starts, and named.
"""

from __future__ import annotations

import os
import pickle
import pickletools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dura.engine import DurableEngine
from dura.errors import InvalidValue
from dura.workers.executor import Handler
from dura.workers.worker import Terms


@dataclass(frozen=True, kw_only=True)
class Share:
    """A process's share of a pool."""

    parent: int
    """The process that it obeys."""
    open_engine: Callable[[], DurableEngine]
    handlers: Mapping[str, Handler]
    priorities: tuple[int | None, ...]
    """Each worker's highest priority; None for no limit."""
    claim_timeout_secs: float
    poll_interval: float
    queues: tuple[str, ...] | None
    grace: float
    beats: bool
    """Whether the parent wants to hear of the workers' signs of life."""


def deal(terms: Terms, priorities: list[int | None], processes: int, grace: float) -> list[bytes]:
    """Deal the workers out to so many processes as evenly as can be, those of a lane too. Returns a pickle for each.

    Raises:
        InvalidValue: A handler, or the engine's clock, cannot be imported by another process.
    """
    _check_main()
    handlers = dict(terms.handlers)
    for name, handler in handlers.items():
        _check(handler, f"the handler of {name!r}")
    open_engine = _opening(terms.engine)
    _check(open_engine, "the engine's clock")
    return [
        pickle.dumps(
            Share(
                parent=os.getpid(),
                open_engine=open_engine,
                handlers=handlers,
                priorities=tuple(priorities[number::processes]),
                claim_timeout_secs=terms.claim_timeout_secs,
                poll_interval=terms.poll_interval,
                queues=terms.queues,
                grace=grace,
                beats=terms.heartbeat is not None,
            )
        )
        for number in range(processes)
    ]


def _opening(engine: DurableEngine) -> Callable[[], DurableEngine]:
    """How another process opens the same store with the same options."""
    database = engine.database
    return partial(
        type(engine),
        engine.db_path,
        clock=database._clock,  # noqa: SLF001
        busy_timeout_ms=database._busy_timeout_ms,  # noqa: SLF001
        synchronous=database._synchronous,  # noqa: SLF001
        create=False,
    )


def _check(value: Any, what: str) -> None:
    """Refuse what another process could not import.

    Raises:
        InvalidValue: It cannot be pickled, or is defined where no other process finds it.
    """
    try:
        pickled = pickle.dumps(value)
    except Exception as error:
        raise InvalidValue(
            f"{what} cannot be handed to another process ({error}). With processes > 1 it must be a function that is "
            "defined at the top level of a module, not a lambda or a function inside another; put what it needs into "
            "its module or into the task's params."
        ) from error
    if not _main_is_imported() and any(part == "__main__" for _, part, _ in pickletools.genops(pickled)):
        raise InvalidValue(
            f"{what} is defined in a program that no other process can import (python -c, standard input, an "
            "interactive session, a package's __main__). With processes > 1 it must be in a module, or in a script "
            "that is a file."
        )


def _main_is_imported() -> bool:
    """Whether a process that multiprocessing spawns imports this one's main module."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name is not None:
        return not (name == "__main__" or name.endswith(".__main__"))
    return getattr(main, "__file__", None) is not None


def _check_main() -> None:
    """Refuse a main module that multiprocessing would try to import, and fail.

    Raises:
        InvalidValue: It says that it came from a file that is not there.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if getattr(main, "__spec__", None) is None and file is not None and not Path(file).exists():
        raise InvalidValue(
            f"processes > 1 needs a main program that other processes can import, and {file} is no file. Save the "
            "program to a file and run that."
        )
