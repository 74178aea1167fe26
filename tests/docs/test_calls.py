"""Every call of the engine in the documentation, also in fragments that cannot run alone, fits the signature it has."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import pytest

import dura
import dura.records
from docs.pages import PAGES, Block, blocks
from dura.monitor import Monitor

BLOCKS = [block for page in PAGES for block in blocks(page, "python") if not block.text.startswith(" ")]


def known_calls(tree: ast.AST) -> Iterator[tuple[ast.Call, object]]:
    """The calls whose target is known, each with its target."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        match call.func:
            case ast.Attribute(value=ast.Name(id="engine"), attr=attribute):
                yield call, getattr(dura.DurableEngine, attribute)
            case ast.Attribute(value=ast.Name(id="monitor"), attr=attribute):
                yield call, getattr(Monitor, attribute)
            case ast.Name(id=name) if name in dura.__all__ or name in ("Want", "TaskQuery"):
                yield call, getattr(dura, name, None) or getattr(dura.records, name)
            case _:
                pass


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_calls_fit_their_signatures(block: Block) -> None:
    for call, target in known_calls(ast.parse(block.text)):
        arguments: list[object] = [*call.args]
        if inspect.isfunction(target) and "self" in inspect.signature(target).parameters:
            arguments.insert(0, None)
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            continue
        named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        assert callable(target)
        try:
            inspect.signature(target).bind(*arguments, **named)
        except TypeError as error:
            pytest.fail(f"{block.name}: {ast.unparse(call)}: {error}")
