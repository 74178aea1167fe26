"""Which names stand before a secret. A name is parted into words: `X-Api-Key`, `apiKey` and `API_KEY` are all `api_key`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from dura.errors import InvalidValue, shown

HIDDEN: Final = (
    "*password*", "*passwd*", "*passphrase*", "passcode", "pass_word", "pass_phrase", "pass_code", "pwd", "*_pass",
    "*secret", "secret", "*token", "token", "api_key", "*apikey*",
    "access_key", "accesskey", "secret_key", "secretkey", "private_key", "privatekey", "signing_key",
    "encryption_key", "auth", "authorization", "*credential", "credential", "bearer", "*cookie", "cookie", "session",
    "sessionid", "jwt", "otp", "totp", "pin_code", "security_code", "cvv", "cvc",
)  # fmt: skip
"""The patterns of names whose values are hidden."""

SHOWN: Final = (
    "claim_token", "*_at", "*_count", "*_used", "*_usage", "*_limit", "*_budget", "*_attempts", "*_length", "*_size", "*_name",
    "*_type", "*_version", "*_policy", "*_required", "*_enabled", "*_expiry", "*_expires", "*_expires_in", "*_ttl", "*_age",
    "*_seconds",
)  # fmt: skip
"""The patterns of names that are shown all the same: they tell something about a secret and are none."""


class Level(IntEnum):
    """How much is hidden of what stands under a name."""

    NOTHING = 0
    ALL_BUT_NUMBERS = 1
    """A number under a plural is a count: `max_tokens`."""
    ALL = 2


# Words end where a small letter is followed by a large one and where letters meet digits; of several large letters the last
# begins a word if a small one follows.
_WORD_ENDS: Final = re.compile(
    r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")


def words(name: str) -> str:
    """A name's words in small letters, with `_` between them."""
    return _BETWEEN_WORDS.sub("_", _WORD_ENDS.sub("_", name)).lower()


def checked(patterns: Iterable[str], what: str) -> tuple[str, ...]:
    """Check patterns of names.

    Raises:
        InvalidValue: They are no list of texts, or one of them could match no name.
    """
    if isinstance(patterns, str) or not isinstance(patterns, Iterable):
        raise InvalidValue(f"{what} must be a list of patterns of names, not {shown(patterns)}")
    found = tuple(patterns)
    for pattern in found:
        if not isinstance(pattern, str):
            raise InvalidValue(f"{what} must be a list of patterns of names; {shown(pattern)} is no text")
        if pattern.strip() != "*" and not any(character.isalnum() for character in pattern):
            raise InvalidValue(
                f"{what} has the pattern {shown(pattern)}, which holds no letter and matches no name"
            )
    return found


def matcher(patterns: Iterable[str], *, plural: bool = False) -> re.Pattern[str] | None:
    """What matches the whole of a name's words; None for no patterns.

    Args:
        patterns: Words that stand next to each other anywhere in the name, or, with a `*` for anything, the whole name.
        plural: Whether the plural of each pattern is meant instead.
    """
    parts = []
    for pattern in patterns:
        pieces = [words(piece) for piece in pattern.strip().split("*")]
        if plural and pieces[-1]:
            pieces[-1] += "s"
        whole = ".*".join(map(re.escape, pieces))
        parts.append(whole if len(pieces) > 1 else rf"(?:.*_)?{whole.strip('_')}(?:_.*)?")
    return re.compile("|".join(parts), re.DOTALL) if parts else None


def signs(patterns: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """A few texts of which one stands, in large or small letters, in every JSON text with a name that a pattern matches.

    Args:
        patterns: The patterns.
        others: Texts that are to be among them.
    """
    found: list[str] = []
    for text in sorted((*map(_sign, patterns), *others), key=len):
        if not any(shorter in text for shorter in found):
            found.append(text)
    return tuple(found)


def _sign(pattern: str) -> str:
    pieces = re.split(r"[*_]", "*".join(map(words, pattern.strip().split("*"))))
    longest = max(pieces, key=len)
    # What is not ASCII may stand there as an escape.
    return longest if longest.isascii() else ""
