"""Durable state: namespaced values that outlive every task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from dura.checks import function, name, optional_moment, own_name, text
from dura.codec import decode, encode
from dura.engine.opened import OpenedStore, actor_of
from dura.errors import InvalidValue
from dura.store import audit, state
from dura.store.audit import Actor
from dura.store.transaction import Transaction

_NOTED: Final = 500
"""Characters of a value that an audit entry keeps."""


class StateCalls(OpenedStore):
    """Cursors, watermarks, what was seen already: memory across tasks, which cleanup never touches.

    Namespaces that begin with `dura.` are the engine's own: they can be read, and writing to them is refused with
    InvalidValue.
    """

    def get_state(self, *, namespace: str, key: str, default: Any = None) -> Any:
        """The value of a key, or `default` if it has none."""
        text(namespace, "namespace")
        text(key, "key")
        found = self.database.read(lambda connection: state.get(connection, namespace, key))
        return default if found is None else self._decoded(found, f"the value of {namespace}/{key}")

    def has_state(self, namespace: str) -> bool:
        """Whether the namespace has any key."""
        text(namespace, "namespace")
        return self.database.read(lambda connection: state.has(connection, namespace))

    def set_state(
        self,
        *,
        namespace: str,
        key: str,
        value: Any,
        actor: str | None = None,
        reason: str | None = None,
        seen_at: datetime | None = None,
    ) -> None:
        """Set a key to a JSON value; the last write wins.

        Args:
            namespace: The namespace.
            key: The key.
            value: Any JSON value.
            actor: The operator who sets it by hand, for the audit.
            reason: Why, for the audit.
            seen_at: When the value that the operator saw was written; refused if it was written or deleted since.

        Raises:
            InvalidValue: The namespace is reserved, or the value is no JSON value (`NotStorable`).
            ActionRefused: The key was written or deleted since it was seen.
        """
        own_name(namespace, "namespace")
        pair = (name(key, "key"), encode(value, f"the value of {namespace}/{key}"))
        by, at = actor_of(actor, reason), optional_moment(seen_at, "seen_at")

        def operation(tx: Transaction) -> None:
            before = _before(tx, by, namespace, key, at, "set")
            state.put(tx, namespace, [pair])
            audit.record(
                tx,
                by,
                action="set",
                target=f"{namespace}/{key}",
                before=_noted(before),
                after=_noted(pair[1]),
            )

        self.database.write(operation)

    def set_state_many(self, *, namespace: str, items: Mapping[str, Any]) -> int:
        """Set many keys in one transaction. Returns how many.

        Raises:
            InvalidValue: The namespace is reserved, or a value is no JSON value (`NotStorable`); nothing is set.
        """
        own_name(namespace, "namespace")
        if not isinstance(items, Mapping):
            raise InvalidValue(f"items must be a mapping of keys to values, not {type(items).__name__}")
        pairs = [
            (name(key, "key"), encode(value, f"the value of {namespace}/{key}"))
            for key, value in items.items()
        ]
        if pairs:
            self.database.write(lambda tx: state.put(tx, namespace, pairs))
        return len(pairs)

    def delete_state(
        self,
        *,
        namespace: str,
        key: str,
        actor: str | None = None,
        reason: str | None = None,
        seen_at: datetime | None = None,
    ) -> bool:
        """Delete a key.

        Args:
            namespace: The namespace.
            key: The key.
            actor: The operator who deletes it by hand, for the audit.
            reason: Why, for the audit.
            seen_at: When the value that the operator saw was written; refused if it was written or deleted since.

        Returns:
            Whether it existed.

        Raises:
            InvalidValue: The namespace is reserved.
            ActionRefused: The key was written or deleted since it was seen.
        """
        own_name(namespace, "namespace")
        text(key, "key")
        by, at = actor_of(actor, reason), optional_moment(seen_at, "seen_at")

        def operation(tx: Transaction) -> bool:
            before = _before(tx, by, namespace, key, at, "delete")
            existed = state.delete(tx, namespace, key)
            if existed:
                audit.record(
                    tx,
                    by,
                    action="delete",
                    target=f"{namespace}/{key}",
                    before=_noted(before),
                    after="deleted",
                )
            return existed

        return self.database.write(operation)

    def list_state(self, namespace: str) -> dict[str, Any]:
        """All keys and values of the namespace, ordered by key."""
        text(namespace, "namespace")
        pairs = self.database.read(lambda connection: state.items(connection, namespace))
        return {key: self._decoded(value, f"the value of {namespace}/{key}") for key, value in pairs}

    def update_state(self, *, namespace: str, key: str, fn: Callable[[Any], Any], default: Any = None) -> Any:
        """Read, change and write a key in one transaction, which no other writer can come between.

        Args:
            namespace: The namespace.
            key: The key.
            fn: Given the present value, returns the new one. It runs while the store's write lock is held: keep it
                quick. Engine calls that it makes join the transaction. If it raises, nothing is changed.
            default: What `fn` is given if the key has no value.

        Returns:
            The new value, as JSON has it.
        """
        own_name(namespace, "namespace")
        name(key, "key")
        function(fn, "fn")

        def operation(tx: Transaction) -> str:
            present = state.get(tx.connection, namespace, key)
            what = f"the value of {namespace}/{key}"
            value = encode(fn(default if present is None else self._decoded(present, what)), what)
            state.put(tx, namespace, [(key, value)])
            return value

        return decode(self.database.write(operation, alone=True))


def _before(
    tx: Transaction, by: Actor, namespace: str, key: str, seen_at: datetime | None, action: str
) -> str | None:
    """The value before an operator changes it; programs, who compare nothing and leave no entry, need not read it."""
    if by.actor is None and seen_at is None:
        return None
    return state.seen(tx, namespace, key, seen_at, action)


def _noted(value: str | None) -> str | None:
    """A value as an audit entry keeps it."""
    return value if value is None or len(value) <= _NOTED else value[:_NOTED] + "…"
