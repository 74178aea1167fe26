"""Names of a package that are loaded when they are first asked for, so that a program does not wait for what it never uses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def later(package: str, rooms: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """A `__getattr__` for a package, which loads a room with the first of its names.

    Args:
        package: The package's full name.
        rooms: The names that are found in each of its modules. The modules can be asked for too.
    """
    room_of = {name: room for room, names in rooms.items() for name in (room, *names)}

    def find(name: str) -> object:
        asked = sys.modules[package]
        if (room := room_of.get(name)) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=asked)
        module = import_module(f"{package}.{room}")
        found = module if name == room else getattr(module, name)
        setattr(asked, name, found)
        return found

    return find
