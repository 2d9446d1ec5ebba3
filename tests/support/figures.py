"""Circuits to draw, names that are hard to show, and figures as files."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

from dln import Circuit, Column, Rule

ODD_NAMES = ["$a_b$", "50% $", r"\$x", "_hidden", "<b>&", "two\nlines", "x^2_{", "{0}", "$\\frac$"]


def make_circuit(
    column: Column, *literals: Any, classes: tuple[Any, ...] = ("no", "yes")
) -> Circuit:
    rules = tuple(Rule(k, (0,) * (len(classes) - 1) + (1,)) for k in range(len(literals)))
    return Circuit((column,), literals, (), rules, (0,) * len(classes), classes)


def rendered(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind)
    return buffer.getvalue()
