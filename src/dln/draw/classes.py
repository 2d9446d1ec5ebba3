"""The classes that a figure shows, each with its name and colour; the others are pooled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln._util.colours import COLOURS, GREY
from dln.core.labels import Label
from dln.draw.canvas import LONGEST, name_text


@dataclass(frozen=True)
class ClassStyle:
    """The counts of one class, or of several pooled classes, and their style."""

    label: str
    colour: str
    counts: NDArray[np.int64]


def style_classes(
    classes: tuple[Label, ...], counts: NDArray[np.int64], longest: int = LONGEST
) -> list[ClassStyle]:
    """Assign a colour to each class. If there are too many classes, the rarest share a grey.

    `counts` is (n_classes, bins). Names have at most `longest` letters.
    """
    most = len(COLOURS)
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    kept = sorted(order[:most].tolist())
    styles = [
        ClassStyle(_label_text(classes[number], longest), colour, counts[number])
        for number, colour in zip(kept, COLOURS, strict=False)
    ]
    if len(classes) > most:
        pooled = counts[order[most:]].sum(axis=0)
        styles.append(ClassStyle(f"{len(classes) - most} other classes", GREY, pooled))
    return styles


def _label_text(label: Label, longest: int) -> str:
    return name_text(label, longest) if isinstance(label, str) else str(label)


def count_cells(number: int, what: str) -> str:
    """Describe how many values have a property.

    >>> count_cells(1, "missing"), count_cells(1200, "missing")
    ('1 value is missing', '1,200 values are missing')
    """
    return f"1 value is {what}" if number == 1 else f"{number:,} values are {what}"


def missing_note(number: int, *, is_asked: bool) -> str:
    """Describe how many values are missing, and whether a literal of the circuit tests for that."""
    return count_cells(number, "missing") + (" (the circuit tests for that)" if is_asked else "")
