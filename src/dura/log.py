"""The loggers of dura. What must not be shown is hidden in their lines, and in the tracebacks below them.

A handler's error may say anything, and a log is kept, copied and sent about. So a line is read like any other text before a
handler of the application's gets it. That one may fail, and an error that is logged may not let itself be told: it costs the
line, and neither the run nor the worker of whom the line is.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from contextlib import suppress
from functools import lru_cache
from typing import Any

from dura.errors import InvalidValue
from dura.redaction import HIDE_VARIABLE, SHOW_VARIABLE, Redaction


class _Hiding(logging.Filter):
    """Lets every line pass, without what is hidden."""

    def filter(self, record: logging.LogRecord) -> bool:
        rules = _rules(os.environ.get(HIDE_VARIABLE, ""), os.environ.get(SHOW_VARIABLE, ""))
        message = record.getMessage()
        hidden = rules.text(message)
        if hidden is not message:
            record.msg, record.args = hidden, ()
        if record.exc_info:
            trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            hidden = rules.text(trace)
            if hidden is not trace:
                # Formatters take the text that is there, and make none of an exception that is not.
                record.exc_text, record.exc_info = hidden, None
        return True


_hiding = _Hiding()


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger that raises nothing."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a line. If that fails, standard error is told of it, unless `logging.raiseExceptions` is off."""
        try:
            super().log(level, msg, *args, stacklevel=2, **kwargs)
        except Exception:  # noqa: BLE001 - handlers and filters are the application's
            if logging.raiseExceptions and sys.stderr is not None:
                with suppress(Exception):
                    traceback.print_exc()


def logger_of(name: str) -> Log:
    """The logger of this name, whose lines hide what must not be shown."""
    logger = logging.getLogger(name)
    logger.addFilter(_hiding)
    return Log(logger, {})


@lru_cache(maxsize=1)
def _rules(hide: str, show: str) -> Redaction:
    """As the environment says; the built-in ones if it says something wrong, since a log line is no place to fail."""
    try:
        return Redaction.from_environment({HIDE_VARIABLE: hide, SHOW_VARIABLE: show})
    except InvalidValue:
        return Redaction()
