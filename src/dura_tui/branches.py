"""Namespaces as a tree: parted at `.`, `:` and `/`, with a branch wherever several have a beginning in common. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from dura.records import NamespaceRow

_OWN: Final = "dura."
"""Namespaces of the engine itself; they come last."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One line of the tree: a namespace, or what several have in common."""

    path: str
    """The namespace, or the beginning that its namespaces share."""
    label: str
    """What it has beyond the branch above it."""
    depth: int
    row: NamespaceRow | None
    """The namespace; None for a beginning."""
    keys: int
    """Keys of the namespace, or of all below it."""
    capped: bool
    folded: bool = False
    """Whether what is below it is hidden."""

    @property
    def own(self) -> bool:
        """Whether the engine keeps it."""
        return self.path.startswith(_OWN)


@dataclass(slots=True)
class _Node:
    path: str
    row: NamespaceRow | None = None
    below: dict[str, _Node] = field(default_factory=dict)

    def rows(self) -> list[NamespaceRow]:
        """The namespaces at and below it."""
        own = [self.row] if self.row else []
        return own + [row for node in self.below.values() for row in node.rows()]


def branches(namespaces: Sequence[NamespaceRow], folded: Collection[str]) -> list[Branch]:
    """The lines of the tree, from top to bottom.

    Args:
        namespaces: In any order.
        folded: The paths of beginnings whose namespaces are hidden.
    """
    root = _Node("")
    for row in sorted(namespaces, key=lambda row: (row.namespace.startswith(_OWN), row.namespace)):
        node = root
        for part in re.split(r"(?<=[.:/])(?=.)", row.namespace, flags=re.DOTALL):
            node = node.below.setdefault(part, _Node(node.path + part))
        node.row = row
    return _lines(root, "", 0, folded)


def _lines(node: _Node, above: str, depth: int, folded: Collection[str]) -> list[Branch]:
    found: list[Branch] = []
    for child in node.below.values():
        while child.row is None and len(child.below) == 1:
            (child,) = child.below.values()
        rows = child.rows()
        hidden = bool(child.below) and child.path in folded
        found.append(
            Branch(
                path=child.path,
                label=child.path.removeprefix(above),
                depth=depth,
                row=child.row,
                keys=sum(row.keys for row in rows if child.row is None or row is child.row),
                capped=any(row.capped for row in rows),
                folded=hidden,
            )
        )
        if not hidden:
            found += _lines(child, child.path, depth + 1, folded)
    return found
