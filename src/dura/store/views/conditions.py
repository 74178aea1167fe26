"""Conditions as SQL: an expression about the task `t` that is 1 where they all hold.

It is evaluated row by row behind a CASE and never searched by: which index a query walks along is the query's own affair,
and so stays the same whatever is asked for. What lies in other tables is looked up by the task's id or by its latest run's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dura.clock import later
from dura.codec import encode
from dura.errors import InvalidValue
from dura.records import Condition
from dura.states import State
from dura.store.events import SLEEP_EVENT
from dura.store.views.look import Look, like

_LONGEST_TEXT: Final = 1_000
"""Characters that a value may have."""

_MOST: Final = 200
"""Conditions that are asked together, and values of one of them: SQLite bounds how deep an expression may be."""

_RELATIONS: Final = {":": "=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}
_TURNED: Final = {">": "<", ">=": "<=", "<": ">", "<=": ">="}

_SAID: Final = """
    (SELECT CASE WHEN json_valid(e.reason) AND json_type(e.reason) = 'object'
                 THEN COALESCE(json_extract(e.reason, '$.type'), '') || ': '
                      || COALESCE(json_extract(e.reason, '$.message'), '')
                 ELSE e.reason END
     FROM (SELECT REASON AS reason) e)
"""

SAID: Final = _SAID.replace(
    "REASON",
    """
    CASE WHEN t.attempts > 1 OR t.state = 'failed' THEN (
        SELECT f.failure_reason FROM runs f WHERE f.task_id = t.task_id AND f.failure_reason IS NOT NULL
        ORDER BY f.attempt DESC LIMIT 1) END
    """,
)
"""Type and message of the latest failure of the task `t`; NULL if no attempt has failed."""

_STEP: Final = """
    CASE WHEN t.state IN ('completed', 'cancelled') THEN NULL
         WHEN json_valid(t.steps) THEN (
             SELECT s.value FROM json_each(t.steps) s WHERE NOT EXISTS (
                 SELECT 1 FROM checkpoints c WHERE c.task_id = t.task_id AND c.checkpoint_name = s.value) LIMIT 1)
         ELSE COALESCE(
             (SELECT w.step_name FROM waits w CROSS JOIN runs x ON x.run_id = w.run_id
              WHERE w.run_id = t.last_attempt_run AND x.state = 'sleeping' AND +w.event_name = x.wake_event LIMIT 1),
             (SELECT l.checkpoint_name FROM (
                  SELECT c.checkpoint_name, max(c.updated_at)
                  FROM (SELECT checkpoint_name, updated_at FROM checkpoints k WHERE k.task_id = t.task_id LIMIT 200) c) l))
    END
"""
"""The step that a task is at: the first declared one that has not finished; without a declaration, the one that it waits in,
else the one that finished last."""

_WORKER: Final = "(SELECT x.claimed_by FROM runs x WHERE x.run_id = t.last_attempt_run)"

_EVENT: Final = f"""
    (SELECT x.wake_event FROM runs x
     WHERE x.run_id = t.last_attempt_run AND x.state = 'sleeping' AND x.wake_event != '{SLEEP_EVENT}')
"""  # noqa: S608 - a constant

_WHOLE: Final = {"name": "t.task_name", "queue": "t.queue", "step": _STEP, "worker": _WORKER}
_PART: Final = {"id": "t.task_id", "key": "t.idempotency_key", "event": _EVENT}


@dataclass(frozen=True, slots=True)
class Matches:
    """Conditions as SQL."""

    sql: str
    values: dict[str, Any] = field(default_factory=dict)
    """By the names under which the expression takes them."""


def matches(look: Look, conditions: Sequence[Condition], attempt: str | None = None) -> Matches:
    """The expression that is 1 where all the conditions hold of the task `t`, and 0 where they do not.

    Args:
        look: The look, for what its file has, and for the time.
        conditions: Any number of them.
        attempt: What a run is called in the query, where `error` means how that attempt failed; by default it means the
            task's latest failure.

    Raises:
        InvalidValue: A condition cannot be asked.
    """
    if max([len(conditions), *(len(condition.values) for condition in conditions)]) > _MOST:
        raise InvalidValue(f"a filter has at most {_MOST} conditions, each of at most {_MOST} values")
    asking = _Asking(look, attempt)
    terms = [asking.term(condition) for condition in conditions]
    sql = f"CASE WHEN {' AND '.join(terms)} THEN 1 ELSE 0 END" if terms else "1"
    return Matches(sql, asking.values)


def one_state(conditions: Sequence[Condition]) -> State | None:
    """The one state that the conditions let through; None if there are several."""
    for condition in conditions:
        if condition.field == "state" and len(condition.values) == 1 and not condition.negated:
            return State(condition.values[0])
    return None


def one_queue(conditions: Sequence[Condition]) -> str | None:
    """The one queue that the conditions let through; None if there may be several."""
    for condition in conditions:
        if condition.field == "queue" and len(condition.values) == 1 and not condition.negated:
            return None if "*" in condition.values[0] else condition.values[0]
    return None


class _Asking:
    """Conditions on their way to SQL, and the values that they have bound."""

    def __init__(self, look: Look, attempt: str | None) -> None:
        self.look = look
        self.attempt = attempt
        self.values: dict[str, Any] = {}

    def term(self, condition: Condition) -> str:
        any_of = (
            [self._measured(condition)]
            if condition.field in ("age", "attempts")
            else [self._alike(condition.field, value) for value in condition.values]
        )
        if not any_of:
            raise InvalidValue(f"a condition on {condition.field} needs a value")
        # COALESCE: what a task does not have is not alike, and its opposite holds.
        return f"{'NOT ' if condition.negated else ''}COALESCE({' OR '.join(any_of)}, 0)"

    def _bind(self, value: Any) -> str:
        name = f"w{len(self.values)}"
        self.values[name] = value
        return f":{name}"

    def _measured(self, condition: Condition) -> str:
        relation = _RELATIONS.get(condition.relation)
        if relation is None or (condition.field == "age" and relation == "="):
            raise InvalidValue(f"{condition.field} cannot be compared with {condition.relation!r}")
        if condition.field == "age":
            # Older is spawned earlier.
            spawned = later(self.look.now, -condition.amount)
            return f"t.enqueue_at {_TURNED[relation]} {self._bind(spawned)}"
        return f"t.attempts {relation} {self._bind(condition.amount)}"

    def _alike(self, name: str, value: str) -> str:
        if len(value) > _LONGEST_TEXT:
            raise InvalidValue(f"a search text has at most {_LONGEST_TEXT} characters, not {len(value)}")
        if name == "state":
            if value not in list(State):
                raise InvalidValue(f"state must be one of {', '.join(State)}, not {value!r}")
            return f"t.state = {self._bind(value)}"
        if name == "text":
            return self._text(value)
        if name == "error":
            own = self.attempt and _SAID.replace("REASON", f"{self.attempt}.failure_reason")
            return self._part(own or SAID, value)
        if name == "id":
            return f"({self._part(_PART['id'], value)} OR t.last_attempt_run = {self._bind(value)})"
        if name in _PART:
            return self._part(_PART[name], value)
        if name in _WHOLE:
            if "*" in value:
                return f"{_WHOLE[name]} GLOB {self._bind(glob(value))}"
            return f"{_WHOLE[name]} = {self._bind(value)}"
        raise InvalidValue(f"tasks have no field {name!r} to filter by")

    def _part(self, sql: str, value: str) -> str:
        pattern = like(value)
        if "*" in value:
            pattern = pattern[1:-1].replace("*", "%")
        return rf"{sql} LIKE {self._bind(pattern)} ESCAPE '\'"

    def _text(self, value: str) -> str:
        part = self._bind(like(value))
        columns = ["t.task_id", "t.idempotency_key", "t.params"]
        found = [rf"{column} LIKE {part} ESCAPE '\'" for column in columns]
        # Parameters lie in the store as JSON, which writes quotes and all but ASCII in its own way.
        as_json = encode(value, "the search text")[1:-1]
        if as_json != value:
            found.append(rf"t.params LIKE {self._bind(like(as_json))} ESCAPE '\'")
        return f"({' OR '.join(found)})"


def glob(pattern: str) -> str:
    """The pattern as GLOB, and the shell, write it: only `*` is special in it."""
    return pattern.replace("[", "[[]").replace("?", "[?]")
