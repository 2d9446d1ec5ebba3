"""The drawings of the docs are what their script draws, and their texts have room."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from dln.draw.diagram.metrics import text_width
from dln.draw.diagram.scene import Box, Text

IMAGES = Path(__file__).parents[1] / "docs" / "images"


@pytest.fixture(scope="module")
def drawings() -> Any:
    spec = importlib.util.spec_from_file_location("drawings", IMAGES / "drawings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_drawings_of_the_docs_are_those_of_the_script(drawings: Any, tmp_path: Path) -> None:
    paths = drawings.write_drawings(tmp_path)
    assert [path.name for path in paths] == ["method.svg", "phases.svg"]
    for path in paths:
        assert path.read_bytes() == (IMAGES / path.name).read_bytes()


@pytest.mark.parametrize("name", ["draw_method", "draw_phases"])
def test_every_text_stays_within_its_box_and_the_page(name: str, drawings: Any) -> None:
    scene = getattr(drawings, name)()
    for item in scene.items:
        boxes = [shape for shape in item.shapes if isinstance(shape, Box)]
        for text in (shape for shape in item.shapes if isinstance(shape, Text)):
            width = text_width(text.text, text.size)
            left = text.x - width / 2 if text.anchor == "middle" else text.x
            assert left >= 0
            assert left + width <= scene.width
            if text.anchor == "middle" and boxes:
                assert width <= boxes[0].width, text.text
