"""The monitor's page shows every view, with images that the build makes and no others."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

from docs.pages import DOCS, ROOT
from dura_tui.keys import VIEWS

IMAGE = re.compile(r"!\[[^\]]+\]\((?:docs/)?images/([\w-]+)\.svg\)")
_OTHERS = {"benchmarks", "benchmarks-claims"}
"""Images that the benchmarks make."""


def shown() -> list[str]:
    return IMAGE.findall((DOCS / "monitor.md").read_text("utf-8"))


def scenes() -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("images_make", DOCS / "images" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.SCENES)


def test_every_view_is_shown() -> None:
    assert set(VIEWS) <= set(shown())


def test_the_images_are_those_that_the_build_makes() -> None:
    stored = {image.stem for image in (DOCS / "images").glob("*.svg")} - _OTHERS
    assert sorted(shown()) == sorted(scenes())
    assert stored == set(scenes())


def test_images_tell_nothing_of_the_machine_that_made_them() -> None:
    for image in (DOCS / "images").glob("*.svg"):
        text = image.read_text("utf-8")
        assert str(ROOT) not in text, image
        assert "@font-face" not in text, image
