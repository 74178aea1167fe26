"""Durable state: namespaced values that outlive every task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dura.checks import name, own_name, text
from dura.codec import decode, encode
from dura.engine.opened import OpenedStore
from dura.errors import InvalidValue
from dura.store import state
from dura.store.connections import Transaction


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
        return default if found is None else decode(found)

    def has_state(self, namespace: str) -> bool:
        """Whether the namespace has any key."""
        text(namespace, "namespace")
        return self.database.read(lambda connection: state.has(connection, namespace))

    def set_state(self, *, namespace: str, key: str, value: Any) -> None:
        """Set a key to a JSON value; the last write wins.

        Raises:
            InvalidValue: The namespace is reserved, or the value is no JSON value (`NotStorable`).
        """
        self.set_state_many(namespace=namespace, items={key: value})

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

    def delete_state(self, *, namespace: str, key: str) -> bool:
        """Delete a key. Returns whether it existed."""
        own_name(namespace, "namespace")
        text(key, "key")
        return self.database.write(lambda tx: state.delete(tx, namespace, key))

    def list_state(self, namespace: str) -> dict[str, Any]:
        """All keys and values of the namespace, ordered by key."""
        text(namespace, "namespace")
        pairs = self.database.read(lambda connection: state.items(connection, namespace))
        return {key: decode(value) for key, value in pairs}

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

        def operation(tx: Transaction) -> str:
            present = state.get(tx.connection, namespace, key)
            value = encode(
                fn(default if present is None else decode(present)), f"the value of {namespace}/{key}"
            )
            state.put(tx, namespace, [(key, value)])
            return value

        return decode(self.database.write(operation, alone=True))
