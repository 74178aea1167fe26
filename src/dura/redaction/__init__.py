"""What must not be shown: values under names such as `password`, in JSON and in running text. Pure functions.

Nothing here makes a store safe to hand out. Whoever may read the file may read what is in it; this keeps secrets off screens,
out of logs, and out of what is copied from either.
"""

from __future__ import annotations

from dura.redaction.names import HIDDEN, SHOWN
from dura.redaction.rules import BUILT_IN, HIDE_VARIABLE, MARK, SHOW_VARIABLE, Redaction, holds_mark

__all__ = ["BUILT_IN", "HIDDEN", "HIDE_VARIABLE", "MARK", "SHOWN", "SHOW_VARIABLE", "Redaction", "holds_mark"]
