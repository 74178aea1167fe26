"""The `dura` command that does what an action does, for the shell: complete, quoted, with what was seen. Pure.

It names runs and claims, not tasks, so that it reaches what the screen showed, or nothing.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from dura.clock import to_text
from dura_tui import format as fmt
from dura_tui.actions import seen_waiting
from dura_tui.orders import Order, Target

_Words = tuple[tuple[str, ...], tuple[str, ...]]
"""Positional arguments after the path, then options."""

_MOST_IDS: Final = 200
"""Runs in one command: more would be a line that some shells do not take."""


def command(order: Order, path: str, actor: str | None = None) -> str | None:
    """The command, in one line.

    Args:
        order: The action and what was chosen for it.
        path: The store's absolute path.
        actor: Who acts, where it is not who the command itself would name.

    Returns:
        The line; None for what no command line can hold: a NUL, or text that is no UTF-8.
    """
    return _line([order], path, actor)


def commands(orders: Sequence[Order], path: str, actor: str | None = None) -> str | None:
    """The commands that do all of the orders, a line each: one for many runs where everything else is the same."""
    lines: list[str | None] = []
    start = 0
    while start < len(orders):
        end = start + 1
        if orders[start].action in _SEVERAL:
            alike = replace(orders[start], target=Target())
            while (
                end < len(orders)
                and end - start < _MOST_IDS
                and replace(orders[end], target=Target()) == alike
            ):
                end += 1
        lines.append(_line(orders[start:end], path, actor))
        start = end
    known = [line for line in lines if line is not None]
    return "\n".join(known) if len(known) == len(lines) else None


def _line(orders: Sequence[Order], path: str, actor: str | None) -> str | None:
    order = orders[0]
    name, words = _COMMANDS[order.action]
    wanted = [words(each) for each in orders]
    positional = [path, *(word for words_, _ in wanted for word in words_)]
    options = list(wanted[0][1])
    if len(orders) > 1 and order.action in _ASKING:
        options.append("--yes")
    if order.reason:
        options.append(_option("reason", order.reason))
    if actor is not None:
        options.append(_option("actor", actor))
    if any(word.startswith("-") for word in positional):
        argv = [*options, "--", *positional]
    else:
        argv = [*positional, *options]
    try:
        return " ".join(["dura", name, *map(quoted, argv)])
    except ValueError:
        return None


def quoted(word: str) -> str:
    """A word as a shell takes it, with nothing in it that a terminal could obey.

    Raises:
        ValueError: It holds a NUL, or is no UTF-8 text.
    """
    data = word.encode()
    if b"\0" in data:
        raise ValueError("no command line can hold a NUL")
    if fmt.printable(word) == word:
        option, equals, value = word.partition("=")
        if equals and option.startswith("--"):
            return f"{option}={shlex.quote(value)}"
        return shlex.quote(word)
    # What bash, zsh and ksh read as escapes; POSIX has it since 2024.
    return "$'" + "".join(_escaped(character) for character in word) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    if fmt.printable(character) == character:
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode())


def _option(name: str, value: str) -> str:
    return f"--{name}={value}"


# --- the words of each ------------------------------------------------------------------------------------------------


def _claim(target: Target) -> str:
    run = target.run_id or target.task_id or ""
    return f"{run}@{target.claim_token}" if target.run_id and target.claim_token is not None else run


def _emit(order: Order) -> _Words:
    seen = seen_waiting(order)
    run = (_option("run", seen),) if seen else ()
    return (order.event_name,), (_option("payload", _json(order.payload)), *run)


def _extend(order: Order) -> _Words:
    until = (_option("until", to_text(order.until)),) if order.until else ()
    return (_claim(order.target),), until


def _requeue(order: Order) -> _Words:
    steps: tuple[str, ...] = ()
    if order.from_step is not None:
        steps = (_option("from-step", order.from_step),)
    elif not order.keep_checkpoints:
        steps = ("--from-scratch",)
    return (order.target.run_id or order.target.task_id or "",), steps


def _cancel(order: Order) -> _Words:
    return (_claim(order.target),), ()


def _wake(order: Order) -> _Words:
    return (order.target.run_id or order.target.task_id or "",), ()


def _set(order: Order) -> _Words:
    names, seen = _delete(order)
    return names, (_option("value", _json(order.value)), *seen)


def _delete(order: Order) -> _Words:
    target = order.target
    seen = (_option("seen-at", to_text(target.written_at)),) if target.written_at else ()
    return (target.namespace or "", target.key or ""), seen


def _clean_up(order: Order) -> _Words:
    return (), (_option("before", to_text(order.before)),) if order.before else ()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_COMMANDS: Final[dict[str, tuple[str, Callable[[Order], _Words]]]] = {
    "emit": ("emit", _emit),
    "extend": ("extend", _extend),
    "requeue": ("requeue", _requeue),
    "cancel": ("cancel", _cancel),
    "wake": ("wake", _wake),
    "set": ("set-state", _set),
    "delete": ("delete-state", _delete),
    "cleanup": ("cleanup", _clean_up),
}

_SEVERAL: Final = ("requeue", "cancel", "wake")
"""Commands that take several runs."""

_ASKING: Final = ("requeue", "cancel")
"""Commands that ask before they act on several."""
