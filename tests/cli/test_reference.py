"""The reference page names every command, every long option and every exit code, as the program has them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dura.cli.commands import COMMANDS
from dura.cli.exits import MEANINGS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text("utf-8")


def section(name: str) -> str:
    found = re.search(rf"^## dura {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section for {name}"
    return found[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section_with_all_its_options(name: str) -> None:
    text = section(name)
    parser = COMMANDS[name].parser()
    options = set(re.findall(r"--[a-z][a-z-]*", parser.format_help())) - {"--help"}
    own = {option for option in options if option in parser._option_string_actions}
    assert {option for option in own if option not in text} == set()
    documented = set(re.findall(r"--[a-z][a-z-]*", text.split("```")[1]))
    assert documented == own


def test_every_command_is_in_the_list_with_its_summary() -> None:
    for name, command in COMMANDS.items():
        assert f"| [`{name}`](#dura-{name}) | {command.summary} |" in PAGE


def test_every_exit_code_is_there_with_its_meaning() -> None:
    for code, meaning in MEANINGS.items():
        assert f"| {int(code)} | {meaning} |" in PAGE


def test_the_program_itself_is_described() -> None:
    for option in ("--help", "--version"):
        assert option in PAGE
