"""Assertions in the machine's modules say what they compared, as those in tests do."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("model")
