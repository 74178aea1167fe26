"""Whether records hold what their fields say.

Rows of a sound store always do: its tables are strict. In a damaged one a text can have become a number, or nothing, and
whoever prints, sorts or draws the record would trip over it, far from the file that is to blame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

_PLAIN: Final = ("builtins", "datetime")
"""Where the types of values come from that hold no others."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a field may hold."""

    types: tuple[type, ...]
    item: _Shape | None = None
    """What each item may be, where it may hold a tuple; None if that does not matter."""

    @property
    def nested(self) -> bool:
        """Whether it can be of the right type and still hold what does not fit."""
        return self.item is not None or any(map(is_dataclass, self.types))


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is known of a class of records."""

    read: Callable[[Any], tuple[Any, ...]]
    """Returns the values of the fields below."""
    names: tuple[str, ...]
    shapes: tuple[_Shape, ...]
    nested: tuple[int, ...]
    """The places of the fields that need a closer look."""
    accepted: set[tuple[type, ...]] = field(default_factory=set)
    """The types of the fields that such records were seen with, and found to fit."""


def misfit(record: Any) -> str | None:
    """The place of the first value of another type than its field's, for example `tasks.tasks[3].name`; None if all fit.

    Args:
        record: A record, or a tuple of them; whatever else it is, it fits.
    """
    if isinstance(record, tuple):
        places = ((number, misfit(each)) for number, each in enumerate(record))
        return next((f"[{number}].{place}" for number, place in places if place is not None), None)
    if not is_dataclass(record):
        return None
    record_type: type = type(record)
    kind = _kind(record_type)
    values = kind.read(record)
    types = tuple(map(type, values))
    if types not in kind.accepted:
        for name, value, shape in zip(kind.names, values, kind.shapes, strict=True):
            if not isinstance(value, shape.types):
                return name
        kind.accepted.add(types)
    for number in kind.nested:
        place = _within(values[number], kind.shapes[number])
        if place is not None:
            return f"{kind.names[number]}{place}"
    return None


def _within(value: Any, shape: _Shape) -> str | None:
    if isinstance(value, tuple) and shape.item is not None:
        for number, each in enumerate(value):
            place = _within(each, shape.item) if isinstance(each, shape.item.types) else ""
            if place is not None:
                return f"[{number}]{place}"
        return None
    place = misfit(value) if shape.nested else None
    return None if place is None else f".{place}"


@cache
def _kind(record_type: type) -> _Kind:
    found = [(name, _shape(hint)) for name, hint in get_type_hints(record_type).items()]
    known = [(name, shape) for name, shape in found if shape is not None]
    shapes = tuple(shape for _, shape in known)
    nested = tuple(number for number, shape in enumerate(shapes) if shape.nested)
    names = tuple(name for name, _ in known)
    # With one name `attrgetter` would return its value alone.
    read = (
        attrgetter(*names)
        if len(names) > 1
        else lambda record: tuple(getattr(record, name) for name in names)
    )
    return _Kind(read, names, shapes, nested)


def _shape(hint: Any) -> _Shape | None:
    """The shape that a type hint describes; None for one that takes anything."""
    if get_origin(hint) is tuple:
        return _Shape((tuple,), _shape(get_args(hint)[0]))
    if isinstance(hint, UnionType):
        shapes = [_shape(each) for each in get_args(hint)]
        if None in shapes:
            return None
        known = [shape for shape in shapes if shape is not None]
        item = next((shape.item for shape in known if shape.item is not None), None)
        return _Shape(tuple(each for shape in known for each in shape.types), item)
    if hint is float:
        return _Shape((float, int))
    if hint is NoneType or (isinstance(hint, type) and (is_dataclass(hint) or hint.__module__ in _PLAIN)):
        return _Shape((hint,))
    return None
