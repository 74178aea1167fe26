"""The filter line of the task list: `state:failed name:import_* queue:mail` and free text. Pure."""

from __future__ import annotations

import shlex
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from dura.records import TaskQuery
from dura.states import State

FIELDS: Final = ("state", "name", "queue")
SORTS: Final = ("newest", "oldest", "due", "priority", "attempts", "name")


def parse(text: str, query: TaskQuery) -> TaskQuery:
    """Read a filter line.

    Args:
        text: Words of the form `field:value`; the rest is free text, a part of an id, key or parameters. A value with
            spaces stands in quotes.
        query: The query whose sort and limit are kept; its page is not.

    Raises:
        ValueError: A field or state that does not exist; the message says which do.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    fields: dict[str, str] = {}
    free: list[str] = []
    for word in words:
        field, colon, value = word.partition(":")
        if not colon or field not in FIELDS:
            if colon and (meant := get_close_matches(field, FIELDS, n=1, cutoff=0.7)):
                raise ValueError(f"no field {field!r}: did you mean {meant[0]}: ?")
            free.append(word)
        elif value:
            fields[field] = value
    if "state" in fields:
        fields["state"] = _state(fields["state"])
    return replace(
        query,
        state=fields.get("state"),
        name=fields.get("name"),
        queue=fields.get("queue"),
        text=" ".join(free) or None,
        after=None,
    )


def _state(prefix: str) -> str:
    matches = [state.value for state in State if state.value.startswith(prefix.lower())]
    if len(matches) != 1:
        raise ValueError(f"no state {prefix!r}: use one of {', '.join(State)}")
    return matches[0]


def to_line(query: TaskQuery) -> str:
    """The filter line that means this query."""
    words = [f"{field}:{shlex.quote(value)}" for field in FIELDS if (value := getattr(query, field))]
    if query.text:
        words.append(query.text)
    return " ".join(words)
