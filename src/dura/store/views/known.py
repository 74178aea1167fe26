"""Words that occur lately, to complete a filter with: a bounded number of rows of each kind is looked at."""

from __future__ import annotations

from typing import Any, Final

from dura.records import KnownWords
from dura.store.events import SLEEP_EVENT
from dura.store.views.look import Look
from dura.store.views.progress import declared_steps

_SAMPLE: Final = 500

_LAST: Final = 2**63 - 1
"""The last rowid."""

_DECLARED: Final = "SELECT steps FROM tasks WHERE rowid < ? ORDER BY rowid DESC LIMIT ?"
_FINISHED: Final = "SELECT checkpoint_name FROM checkpoints WHERE rowid < ? ORDER BY rowid DESC LIMIT ?"
_AWAITED: Final = "SELECT event_name FROM waits WHERE rowid < ? ORDER BY rowid LIMIT ?"
_WORKERS: Final = "SELECT claimed_by FROM runs WHERE state = 'running' AND claim_expires_at < ? ORDER BY claim_expires_at LIMIT ?"

_ERRORS: Final = """
    SELECT CASE WHEN json_valid(failure_reason) THEN json_extract(failure_reason, '$.type') END
    FROM runs WHERE state = 'failed' AND {time} < ? ORDER BY {time} DESC LIMIT ?
"""


def known_words(look: Look) -> KnownWords:
    """The words of a store."""
    declared = {row[0] for row in look.rows(_DECLARED, (_LAST, _SAMPLE))}
    steps = {step for text in declared for step in declared_steps(text) or ()}
    steps |= _words(look, _FINISHED, _LAST)
    failed = _ERRORS.format(time="failed_at" if "runs_failed" in look.indexes else "available_at")
    return KnownWords(
        steps=tuple(sorted(steps)),
        errors=tuple(sorted(_words(look, failed, "~"))),
        workers=tuple(sorted(_words(look, _WORKERS, "~"))),
        events=tuple(sorted(_words(look, _AWAITED, _LAST) - {SLEEP_EVENT})),
    )


def _words(look: Look, sql: str, before: Any) -> set[str]:
    return {str(row[0]) for row in look.rows(sql, (before, _SAMPLE)) if row[0] is not None}
