"""Draw the flowchart of the method and its two training phases: method.svg and phases.svg.

They show what the paper's flowchart and its illustration of the phases show, in the style and the
colours of circuit diagrams, on a light and on a dark page.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal as OneOf

from dln.draw.diagram.scene import Box, Item, Point, Scene, Shape, Text
from dln.draw.diagram.scene import Path as Line
from dln.draw.diagram.svg import to_svg

SIZE, SMALL = 13.0, 11.5
TRAINED, FIXED = "literal", "rule"
"""The colours of what a phase trains, and of what it leaves as it is."""

BoxKind = OneOf["literal", "gate", "rule", "part"]


def write_drawings(folder: Path) -> list[Path]:
    """Write both drawings; return their paths."""
    paths = []
    for name, scene in (("method", draw_method()), ("phases", draw_phases())):
        path = folder / f"{name}.svg"
        path.write_text(to_svg(scene, prefix=f"dln-{name}"), "utf-8")
        paths.append(path)
    return paths


# -- parts ------------------------------------------------------------------------------------


def make_box(
    kind: BoxKind, x: float, y: float, width: float, height: float, lines: tuple[str, ...]
) -> Item:
    """Make a box with centred lines of text; the first of several is bold."""
    step = SIZE + 5
    top = y - step * (len(lines) - 1) / 2
    texts = [
        Text(
            x,
            top + step * number,
            line,
            SIZE if number == 0 else SMALL,
            bold=number == 0 and len(lines) > 1,
        )
        for number, line in enumerate(lines)
    ]
    return Item(kind, (Box(x, y, width, height, 6), *texts))


def make_note(x: float, y: float, text: str, anchor: OneOf["start", "middle"] = "start") -> Item:
    """Make a line of muted text."""
    return Item("note", (Text(x, y, text, SMALL, anchor),))


def straight(*corners: Point) -> Line:
    """Join corners by straight lines."""
    points = [corners[0]]
    for start, end in itertools.pairwise(corners):
        points += [start, end, end]
    return Line(tuple(points))


def arrow(*corners: Point) -> Item:
    """Join corners and mark the end with an arrowhead."""
    (x0, y0), (x, y) = corners[-2:]
    angle = math.atan2(y - y0, x - x0)
    wings = [
        (x - 7 * math.cos(angle + turn), y - 7 * math.sin(angle + turn)) for turn in (-0.5, 0.5)
    ]
    return Item("link", (straight(*corners), straight(wings[0], (x, y), wings[1])))


# -- the method -------------------------------------------------------------------------------


def draw_method() -> Scene:
    """Draw the steps from a table to a circuit."""
    x, width = 250.0, 380.0
    steps: list[tuple[BoxKind, tuple[str, ...]]] = [
        ("part", ("Table", "numbers, categories, missing values; a class for each row")),
        ("rule", ("Encode", "scale numbers to [0, 1]; small trees give thresholds")),
        ("rule", ("Draw a network", "candidate functions, links and votes, each with a score")),
        (TRAINED, ("Phase I, E epochs", "train thresholds and gate functions; links are fixed")),
        (TRAINED, ("Phase II, E epochs", "train links and votes; functions are fixed")),
        ("rule", ("Discretise", "each choice becomes its candidate with the highest score")),
        ("rule", ("Simplify", "a smaller circuit, proven equal")),
        ("gate", ("Circuit", "predict, explain, draw, count its cost, export")),
    ]
    height, gap = 50.0, 26.0
    middles = [44 + place * (height + gap) for place in range(len(steps))]
    items = [
        make_box(kind, x, y, width, height, lines)
        for y, (kind, lines) in zip(middles, steps, strict=True)
    ]
    items += [
        arrow((x, above + height / 2), (x, below - height / 2))
        for above, below in itertools.pairwise(middles)
    ]
    side, back = x + width / 2, x + width / 2 + 34
    first, second = middles[3], middles[4]
    items.append(arrow((side, second), (back, second), (back, first), (side, first)))
    items.append(make_note(back + 8, (first + second) / 2, "T times"))
    return Scene(
        width=560,
        height=middles[-1] + height / 2 + 18,
        items=tuple(items),
        title="From a table to a circuit",
        description="; ".join(": ".join(lines) for _, lines in steps),
    )


# -- the phases -------------------------------------------------------------------------------

FORMULAS = (
    ("threshold", "Sigmoid(s (x − b))", "1 if x > b, else 0"),
    ("gate", "Σ Softmax(W) · gate(a, b)", "gate of the largest W"),
    ("link a", "input of the largest U", "Σ Softmax(U) · input"),
    ("vote", "on if Sigmoid(S) ≥ 0.8", "Sigmoid(S)"),
)
"""A choice, and what takes its place in phase I and in phase II."""

PANEL = 400.0
ROWS = (96.0, 146.0, 196.0, 246.0)
GATES = (121.0, 221.0)


def draw_phases() -> Scene:
    """Draw what each phase trains, side by side."""
    items = [*_panel(0.0, trains_functions=True), *_panel(PANEL, trains_functions=False)]
    items += _legend(20.0, 442.0)
    return Scene(
        width=2 * PANEL,
        height=464,
        items=tuple(items),
        title="The two training phases",
        description="Phase I trains thresholds and gate functions, phase II links and votes.",
    )


def _panel(left: float, *, trains_functions: bool) -> Iterator[Item]:
    """Draw a small network in one phase, and its formulas."""
    name = "Phase I: functions" if trains_functions else "Phase II: links"
    function_kind: BoxKind = TRAINED if trains_functions else FIXED
    yield Item("note", (Text(left + 20, 28, name, 15, "start", bold=True),))
    for column, text in ((45, "columns"), (135, "thresholds"), (250, "gates"), (355, "classes")):
        yield make_note(left + column, 58, text, "middle")
    yield from _links(left, soft=not trains_functions)
    for y, text in ((121.0, "age"), (221.0, "dose")):
        yield make_box("part", left + 45, y, 52, 30, (text,))
    for y in ROWS:
        curve = _sigmoid if trains_functions else _step
        shapes: tuple[Shape, ...] = (Box(left + 135, y, 48, 34, 6), curve(left + 135, y))
        yield Item(function_kind, shapes)
    for y, text in zip(GATES, ("AND", "OR"), strict=True):
        shown = "AND? OR?" if trains_functions else text
        yield make_box(function_kind, left + 250, y, 88, 34, (shown,))
    for y, text in zip(GATES, ("ill", "healthy"), strict=True):
        yield make_box("part", left + 355, y, 62, 30, (text,))
    for number, (choice, first, second) in enumerate(FORMULAS):
        y = 300 + 26 * number
        is_function = choice in ("threshold", "gate")
        kind: BoxKind = TRAINED if is_function == trains_functions else FIXED
        formula = first if trains_functions else second
        swatch = Box(left + 28, y, 14, 14, 3)
        texts = (
            Text(left + 46, y, choice, SMALL, "start", bold=True),
            Text(left + 130, y, formula, SMALL, "start"),
        )
        yield Item(kind, (swatch, *texts))


def _links(left: float, *, soft: bool) -> Iterator[Item]:
    """Draw one link for each input of a gate, or all candidates while they are trained."""
    for place, y in enumerate(ROWS):
        source = 121.0 if place < 2 else 221.0
        yield Item("link", (straight((left + 71, source), (left + 111, y)),))
    chosen = {(0, 0), (2, 0), (1, 1), (3, 1)}
    for gate, to in enumerate(GATES):
        for place, y in enumerate(ROWS):
            line = straight((left + 159, y), (left + 206, to + 5 * (place - 1.5)))
            yield from _link(line, chosen=(place, gate) in chosen, soft=soft)
    for gate, y in enumerate(GATES):
        for label, to in enumerate(GATES):
            line = straight((left + 294, y), (left + 324, to + 6 * (gate - 0.5)))
            yield from _link(line, chosen=gate == label, soft=soft)


def _link(line: Line, *, chosen: bool, soft: bool) -> Iterator[Item]:
    """Draw a link; those that are not chosen only while links are trained."""
    if soft:
        yield Item("link", (Line(line.points, dashed=not chosen),), label=1)
    elif chosen:
        yield Item("link", (line,))


def _sigmoid(x: float, y: float) -> Line:
    return Line(((x - 18, y + 11), (x + 4, y + 11), (x - 4, y - 11), (x + 18, y - 11)))


def _step(x: float, y: float) -> Line:
    return straight((x - 18, y + 11), (x, y + 11), (x, y - 11), (x + 18, y - 11))


def _legend(x: float, y: float) -> Iterator[Item]:
    text = "yellow, orange: trained in this phase · grey: fixed at its best candidate"
    yield make_note(x, y - 20, text)
    yield make_note(
        x,
        y,
        "Straight-through: values are always those of the best candidate; only gradients use the "
        "formulas of what is trained.",
    )


if __name__ == "__main__":
    write_drawings(Path(__file__).parent)
