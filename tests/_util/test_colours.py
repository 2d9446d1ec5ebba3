"""Class colours can be seen on the page and distinguished without full colour vision."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from dln._util.colours import CLASS_COLOURS, DARK_CLASS_COLOURS, PAPER

# Machado, Oliveira and Fernandes (2009), severity 1.0, for linear RGB.
VISIONS = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
)
PALETTES = [(CLASS_COLOURS, PAPER["page"].light), (DARK_CLASS_COLOURS, PAPER["page"].dark)]


def linear(colour: str) -> NDArray[np.float64]:
    part = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio."""
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio = TO_XYZ @ np.clip(rgb, 0, 1) / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(("colours", "page"), PALETTES)
def test_class_colours_stand_out_from_the_page(colours: tuple[str, ...], page: str) -> None:
    assert len(colours) == len(CLASS_COLOURS)
    assert min(contrast(colour, page) for colour in colours) >= 3


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize(("colours", "page"), PALETTES)
def test_class_colours_differ_for_every_kind_of_colour_vision(
    colours: tuple[str, ...], page: str, vision: str
) -> None:
    seen = [lab(np.array(VISIONS[vision]) @ linear(colour)) for colour in colours]
    closest = min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2))
    assert closest > 9
    assert np.linalg.norm(seen[0] - seen[1]) > 40  # most models have two classes
