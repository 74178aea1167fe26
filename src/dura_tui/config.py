"""The settings of the monitor: what there is, the file they come from, and what is wrong with it, by line.

The file is TOML in `$XDG_CONFIG_HOME/dura-tui/config.toml`. Everything in it is optional. It is checked as a whole: a
setting that does not exist, a value that does not fit and a key that would do two things are refused, each with its line
and what to do. Nothing here loads Textual.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from dura_tui.alerts import MEASURES, Alert, alert
from dura_tui.key_names import as_textual, displayed
from dura_tui.keys import KEYS, MOVING, RESERVED, Keymap

LEAST_REFRESH: Final = 0.1
MOST_REFRESH: Final = 3600.0
DEFAULT_REFRESH: Final = 1.0
SLOW_REFRESH: Final = 5.0

THEMES: Final = ("dura-dark", "dura-light", "dura-safe-dark", "dura-safe-light")
"""The monitor's own, in the order in which its key goes through them."""

CLIPBOARDS: Final = ("terminal", "file")

_SHOWN_FAULTS: Final = 8

_LARGEST: Final = 256 * 1024
"""Bytes of a file of settings."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the monitor behaves for one person."""

    refresh: float | None = None
    """Seconds between two looks at the file; None for 1, or 5 when slow."""
    slow: bool = False
    """Whether the line is bad: a tick of 5 s, no mouse, no animation."""
    mouse: bool = True
    theme: str = THEMES[0]
    bell: bool = True
    """Whether an alert that rises rings the terminal's bell."""
    clipboard: str = CLIPBOARDS[0]
    """Where a copied text goes: to the clipboard of the terminal (OSC 52), or into a file."""
    alerts: tuple[Alert, ...] = ()
    keymap: Keymap = field(default_factory=Keymap)

    @property
    def seconds(self) -> float:
        """Between two looks at the file."""
        return self.refresh or (SLOW_REFRESH if self.slow else DEFAULT_REFRESH)


class WrongSettings(Exception):  # noqa: N818
    """The file of the settings cannot be used; the text says where and why, a line each."""


def default_path() -> Path:
    """Where the settings are unless told otherwise."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(home) / "dura-tui" / "config.toml"


def load(path: str | None) -> Settings:
    """Read the settings.

    Args:
        path: Their file; None for the default one, which may be missing.

    Raises:
        WrongSettings: It cannot be read, or something in it is wrong.
    """
    file = Path(path) if path is not None else default_path()
    try:
        text = _text(file)
    except (FileNotFoundError, NotADirectoryError):
        if path is None:
            return Settings()
        raise WrongSettings(f"{file}: no such file; --print-config prints one to begin with") from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise WrongSettings(f"{file}: cannot be read: {why}") from error
    return parse(text, str(file))


def _text(file: Path) -> str:
    """What the file holds, or so much of it that it cannot be settings: a device has no end, and a pipe may have no writer."""
    with open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as opened:
        found = opened.read(_LARGEST + 1) or b""
    if len(found) > _LARGEST:
        raise WrongSettings(f"{file}: these are no settings: it holds more than {_LARGEST // 1024} KiB")
    return found.decode("utf-8")


def parse(text: str, name: str) -> Settings:
    """Settings from the text of a file.

    Args:
        text: TOML.
        name: What the file is called in messages.

    Raises:
        WrongSettings: It is no TOML, or something in it is wrong.
    """
    import tomllib

    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits, or brackets in thousands of brackets, are none of tomllib's own errors.
        raise WrongSettings(f"{name}: no TOML: {error}") from error
    faults: list[tuple[int, str]] = []
    settings = _read(document, lambda where, what: faults.append((_line_of(text, where), what)))
    if faults:
        lines = [f"{name}, line {line}: {what}" for line, what in sorted(faults)]
        more = [f"and {len(lines) - _SHOWN_FAULTS} more"] if len(lines) > _SHOWN_FAULTS else []
        raise WrongSettings("\n".join(lines[:_SHOWN_FAULTS] + more))
    return settings


Complain = Callable[[tuple[str, ...], str], None]
"""Takes where something is wrong, as a path of names, and what is."""


def _read(document: dict[str, Any], complain: Complain) -> Settings:
    values: dict[str, Any] = {}
    for name, value in document.items():
        if name == "keys":
            values["keymap"] = _keymap(value, complain)
        elif name == "alerts":
            values["alerts"] = _alerts(value, complain)
        elif (check := _CHECKS.get(name)) is None:
            complain((name,), f"no setting {name!r}{_meant(name, (*_CHECKS, 'keys', 'alerts'))}")
        elif (objection := check(value)) is not None:
            complain((name,), f"{name} = {_toml(value)}: {objection}")
        else:
            values[name] = value
    return Settings(**values)


def _truth(value: Any) -> str | None:
    return None if isinstance(value, bool) else "write true or false"


def _one_of(names: tuple[str, ...]) -> Callable[[Any], str | None]:
    return lambda value: None if value in names else f"write one of {', '.join(map(_toml, names))}"


def _seconds(value: Any) -> str | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if fits and LEAST_REFRESH <= value <= MOST_REFRESH:
        return None
    return f"write seconds, a number from {LEAST_REFRESH:g} to {MOST_REFRESH:g}"


_CHECKS: Final[dict[str, Callable[[Any], str | None]]] = {
    "refresh": _seconds,
    "slow": _truth,
    "mouse": _truth,
    "theme": _one_of(THEMES),
    "bell": _truth,
    "clipboard": _one_of(CLIPBOARDS),
}


def _alerts(table: Any, complain: Complain) -> tuple[Alert, ...]:
    if not isinstance(table, dict):
        complain(("alerts",), 'alerts is a table: write [alerts], and below it for example oldest-due = "5m"')
        return ()
    alerts: list[Alert] = []
    for name, limit in table.items():
        if name not in MEASURES:
            complain(("alerts", name), f"no alert {name!r}{_meant(name, tuple(MEASURES))}")
            continue
        try:
            alerts.append(alert(name, str(limit)))
        except ValueError as error:
            complain(("alerts", name), str(error))
    return tuple(alerts)


def _keymap(table: Any, complain: Complain) -> Keymap:
    if not isinstance(table, dict):
        complain(("keys",), 'keys is a table: write [keys], and below it for example pause = "p"')
        return Keymap()
    known = {key.id for key in (*KEYS, *MOVING)}
    changed: dict[str, tuple[str, ...]] = {}
    for name, value in table.items():
        where = ("keys", name)
        written = value if isinstance(value, list) else [value]
        if name not in known:
            complain(where, f"nothing is called {name!r}{_meant(name, tuple(known))}")
        elif not written or not all(isinstance(key, str) for key in written):
            complain(where, f'{name} = {_toml(value)}: write a key, or several: {name} = ["p", "f5"]')
        else:
            keys = tuple(_key(key, where, complain) for key in written)
            changed[name] = tuple(dict.fromkeys(keys))
    keymap = Keymap(changed)
    for key, one, other in keymap.conflicts():
        late = other if other.id in changed else one
        rest = one if late is other else other
        complain(
            ("keys", late.id),
            f"{displayed(key)!r} is the key of {rest.id} too: give {late.id} or {rest.id} another one",
        )
    return keymap


def _key(written: str, where: tuple[str, ...], complain: Complain) -> str:
    try:
        key = as_textual(written)
    except ValueError as error:
        complain(where, f"{error}: write a character, or for example esc, space, f5, ^d, ctrl+d")
        return written
    if key in RESERVED:
        complain(
            where, f"{written!r} cannot be given to {where[-1]}: tables, dialogs and the palette need it"
        )
    return key


def _meant(name: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else "; --print-config prints all there are"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return f'"{value}"' if isinstance(value, str) else str(value)
    except ValueError:
        return "…"  # an integer of more digits than Python writes


def _line_of(text: str, where: tuple[str, ...]) -> int:
    """The line, counted from 1, on which a setting stands; that of its table if it stands in no line of its own."""
    table: tuple[str, ...] = ()
    found = 1
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            table = _names(heading[1])
            here = table
        elif "=" in line and not line.lstrip().startswith("#"):
            here = (*table, *_names(line.partition("=")[0]))
        else:
            continue
        if here == where:
            return number
        if here == where[: len(here)]:
            found = number
    return found


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(name.strip().strip("\"'") for name in dotted.split("."))
