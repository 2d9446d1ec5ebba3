"""What to predict: classes, or a number."""

from __future__ import annotations

from typing import Literal as OneOf

from dln.core.circuit import Task
from dln.core.literals import ColumnKind

TaskChoice = OneOf["auto", "classes", "number"]

MOST_CLASSES = 20
"""A target of numbers with more distinct values is predicted as a number by default."""


def choose_task(asked: TaskChoice, kind: ColumnKind, n_values: int) -> Task:
    """Choose what to predict by the kind of the target and the number of its distinct values.

    >>> choose_task("auto", "integer", 2), choose_task("auto", "number", 300)
    ('classes', 'number')
    """
    if asked != "auto":
        return asked
    is_measured = kind in ("number", "integer") and n_values > MOST_CLASSES
    return "number" if is_measured else "classes"
