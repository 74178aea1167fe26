"""Every public call of the engine with drawn arguments, and the law that each call obeys.

A call succeeds, or raises one of the errors that its documentation names, whose message names an argument or an object;
after an error nothing was written. A signature that does not fit is a TypeError.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

import dura.errors
from conftest import TABLES
from dura import DurableEngine, EngineError, InvalidValue, WorkflowSuspended
from fuzz.values import JSON, WILD, BoomError, Values, functions, returning

FOR_POOLS: Final = frozenset({"claim_next", "settle", "settle_and_claim", "take_turns", "wait_for_claim"})
"""Calls whose arguments a pool has made and checked; the reference says so."""

PUBLIC: Final = {
    name: member
    for name, member in inspect.getmembers(DurableEngine, inspect.isfunction)
    if not name.startswith("_") and name not in FOR_POOLS
}

_SPOKEN: Final = {
    "name": "task's name",
    "event_name": "event",
    "params": "params",
    "value": "the value of",
    "items": "items|key|the value of",
    "result": "the result of run",
    "reason": "reason",
    "payload": "payload",
    "fn": "fn|the result of step|the value of",
    "tasks": r"tasks|task \d+ of the list",
    "owner_run_id": "owner_run_id|claim_token",
    "want": "want|limit|sort|state|page|condition|search text|field|group|cannot be compared",
}
"""How messages call an argument, where it is not by its name alone."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is in the store that the calls are made on."""

    runs: Mapping[str, str]
    """The latest run of each task."""
    running: tuple[str, ...] = ()
    """Of these, those that run."""
    tokens: tuple[int, ...] = (1, 1, 2)
    steps: tuple[str, ...] = ("load", "approval", "nap", "fresh")
    events: tuple[str, ...] = ("approved:ord_1", "catalog.ready", "new")


def plausible(name: str, facts: Facts) -> Values:
    """Values that the parameter of this name is meant to take.

    Raises:
        KeyError: No parameter of this name is known: say here what it takes.
    """
    names = st.sampled_from(["job", "mail", "ünï", "a" * 300])
    seconds = st.one_of(st.integers(0, 100), st.floats(0, 1e9))
    running = [task_id for task_id, run_id in facts.runs.items() if run_id in facts.running]
    some_id = {
        "task": st.sampled_from([*facts.runs, *running * 2, "no-such-task"]),
        "run": st.sampled_from([*facts.runs.values(), *facts.running * 8, "no-such-run"]),
    }
    optional_run = st.none() | some_id["run"]
    ways: dict[str, Values] = {
        "task_id": some_id["task"],
        "run_id": some_id["run"],
        "owner_run_id": optional_run,
        "seen_run_id": optional_run,
        "claim_token": st.none() | st.sampled_from(facts.tokens),
        "seen_claim_token": st.none() | st.sampled_from(facts.tokens),
        "step_name": st.sampled_from(facts.steps),
        "from_step": st.none() | st.sampled_from(facts.steps),
        "event_name": st.sampled_from(facts.events),
        "timeout_secs": seconds,
        "by_secs": seconds,
        "seconds": seconds,
        "on_timeout": JSON,
        "default": JSON,
        "task_name": names,
        "name": names,
        "queue": names,
        "worker_id": names,
        "namespace": st.sampled_from(["feeds", "dura.audit", "new"]),
        "key": st.sampled_from(["cursor", "new", "a/b"]),
        "actor": st.none() | names,
        "reason": st.none() | names | JSON,
        "repair": st.booleans(),
        "retryable": st.booleans(),
        "keep_checkpoints": st.booleans(),
        "fn": functions(JSON),
        "max_priority": st.none() | st.integers(-5, 5),
        "priority": st.integers(-5, 5),
        "max_attempts": st.none() | st.integers(1, 5),
        "max_reclaims": st.none() | st.integers(0, 5),
        "limit": st.integers(0, 50),
        "stopped": st.none() | st.just(returning(False)),
        "progress": st.none() | st.just(returning(None)),
        "before": st.none() | st.datetimes(),
        "seen_at": st.none() | st.datetimes(),
        "ttl": st.timedeltas(),
        "available_after": st.none() | st.timedeltas(),
        "params": JSON,
        "result": JSON,
        "payload": JSON,
        "value": JSON,
        "items": st.dictionaries(st.text(max_size=3) | st.integers(), JSON, max_size=3),
        "idempotency_key": st.none() | st.sampled_from(["ord_1", "new"]),
        "retry": st.none() | st.just(dura.RetryStrategy(kind="fixed", base_seconds=5)),
        "steps": st.none() | st.lists(names, max_size=3),
    }
    if name == "tasks":
        spawn = PUBLIC["spawn_task"]
        return st.lists(arguments(spawn, facts) | WILD, max_size=3) | st.dictionaries(
            names, names, max_size=1
        )
    return ways[name]


def arguments(function: Callable[..., Any], facts: Facts) -> Values:
    """Keyword arguments for a call: mostly plausible ones, some wild, now and then one too many or too few."""
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]

    @st.composite
    def draw_all(draw: st.DrawFn) -> dict[str, Any]:
        given = {}
        wild: set[str] = set()
        names = [each.name for each in parameters]
        if draw(st.booleans()) and names:
            wild = draw(st.sets(st.sampled_from(names), min_size=1, max_size=2))
        for each in parameters:
            if each.name in wild:
                given[each.name] = draw(WILD)
            elif each.default is each.empty or draw(st.booleans()):
                given[each.name] = draw(plausible(each.name, facts))
        if draw(st.integers(0, 3)):
            given |= _together(given, facts, wild)
        if draw(st.integers(0, 19)) == 0:
            given["no_such_argument"] = None
        if given and draw(st.integers(0, 19)) == 0:
            given.pop(draw(st.sampled_from(sorted(given))))
        return given

    return draw_all()


def _together(given: Mapping[str, Any], facts: Facts, but: set[str]) -> dict[str, Any]:
    """Ids that belong together, in place of those that were drawn one by one."""
    task_id = given.get("task_id")
    if not isinstance(task_id, str) or task_id not in facts.runs:
        return {}
    runs = {"run_id", "owner_run_id", "seen_run_id"} & set(given)
    return dict.fromkeys(runs - but, facts.runs[task_id])


def digest(path: Path) -> str:
    """The content of the store's tables, read beside the engine."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    connection.text_factory = bytes
    try:
        sums = hashlib.blake2b()
        connection.execute("BEGIN")
        for table in TABLES:
            for row in connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid"):
                sums.update(repr(row).encode())
        return sums.hexdigest()
    finally:
        connection.close()


def documented(function: Callable[..., Any]) -> tuple[type[BaseException], ...]:
    """The errors that the call's documentation names, and those that any call may raise for its arguments."""
    _, _, raises = (inspect.getdoc(function) or "").partition("Raises:")
    named = [getattr(dura.errors, word, None) for word in re.findall(r"\b[A-Z]\w+", raises)]
    classes = [each for each in named if isinstance(each, type) and issubclass(each, BaseException)]
    return (InvalidValue, *(each for each in classes if not issubclass(each, dura.StoreError)))


class LawBrokenError(AssertionError):
    """The law was broken."""


def obey(
    call: Callable[..., Any], given: Mapping[str, Any], content: Callable[[], object]
) -> type[BaseException] | None:
    """Make the call and hold it to the law.

    Args:
        call: The bound method.
        given: Its arguments.
        content: Says what is in the store.

    Returns:
        The class of the error that it raised, None if it succeeded.
    """
    before = content()
    try:
        call(**given)
    except BaseException as error:
        _judge(call, given, error)
        if isinstance(error, WorkflowSuspended):
            return None
        if content() != before:
            raise LawBrokenError(
                f"{call.__name__} raised {type(error).__name__}, but wrote something"
            ) from error
        return type(error)
    return None


def _judge(call: Callable[..., Any], given: Mapping[str, Any], error: BaseException) -> None:
    if isinstance(error, BoomError):
        return
    if type(error) is TypeError and not fits(call, given):
        return
    if not isinstance(error, documented(call)):
        raise LawBrokenError(
            f"{call.__name__} raised {type(error).__name__}, which its documentation does not name"
        ) from error
    if isinstance(error, EngineError) and not any(map(str(error).__contains__, objects(given))):
        words = "|".join(_SPOKEN.get(name, name) for name in given)
        if not re.search(words, str(error)):
            raise LawBrokenError(
                f"{call.__name__}: the message names no argument and no object: {error}"
            ) from error


def fits(call: Callable[..., Any], given: Mapping[str, Any]) -> bool:
    """Whether the arguments fit the signature."""
    try:
        inspect.signature(call).bind(**given)
    except TypeError:
        return False
    return True


_NAMING: Final = ("task_id", "run_id", "seen_run_id", "owner_run_id", "key", "event_name", "step_name")


def objects(given: Mapping[str, Any]) -> Iterator[str]:
    """The ids among the arguments, by which a message may name an object."""
    for name, value in given.items():
        if name in _NAMING and isinstance(value, str):
            yield value or "(empty)"
