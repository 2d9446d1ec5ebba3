"""Warnings about a fit: what the user should know about the table or the result."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from dln._util.messages import list_names
from dln.core.circuit import Circuit
from dln.core.literals import Column
from dln.errors import DlnWarning
from dln.train.problem import Problem

_FEW_ROWS = 100_000
"""Number of rows to try first. In such a sample nearly every class wins at least one row."""


def warn_user(message: str) -> None:
    """Warn at the line that called into dln, directly or through scikit-learn."""
    frame, level = inspect.currentframe(), 1
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in ("dln", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DlnWarning, stacklevel=level)


def warn_of_mixtures(columns: Iterable[Column]) -> None:
    """Warn of columns of numbers that a few texts turned into categories."""
    for column in columns:
        texts = [category for category in column.categories if isinstance(category, str)]
        truths = [category for category in column.categories if isinstance(category, bool)]
        if 0 < len(texts) < len(column.categories) - len(texts) - len(truths):
            warn_user(
                f"Column {column.name!r} holds numbers, but also {texts[0]!r}, so each number "
                "became a separate category. Replace such text with numbers or missing values."
            )


def warn_of_lost_classes(
    circuit: Circuit, problem: Problem, class_weight: Any, budget: str = ""
) -> None:
    """Warn of classes that have training rows but are never predicted for them.

    `budget` describes the limits on the circuit, if there are any.
    """
    lost = [repr(circuit.classes[number]) for number in _lost_classes(circuit, problem)]
    fewer = "" if circuit.constraints is None else "fewer constraints, "
    if lost and budget:
        warn_user(
            f"The model never predicts {list_names(lost, most=4)}. A larger budget than {budget} "
            "may help."
        )
    elif lost and not circuit.rules:
        warn_user(
            "The model has no rules, so it predicts the same class for every row. "
            f"Try {fewer}more epochs. If that does not help, check that numbers and dates were "
            "not read as text."
        )
    elif lost:
        weights = "" if class_weight in ("balanced", "smoothed") else "balanced class weights, "
        warn_user(
            f"The model never predicts {list_names(lost, most=4)}. "
            f"Try {weights}{fewer}more epochs, more or wider layers, or more networks."
        )


def _lost_classes(circuit: Circuit, problem: Problem) -> list[int]:
    """Find the classes that have rows but are never predicted."""
    # A class that is never the most probable one need not be predicted.
    target = problem.target if problem.top is None else problem.target[problem.top]
    table, lost = problem.table, set(np.unique(target).tolist())
    if table.n_rows > _FEW_ROWS:
        few = np.arange(0, table.n_rows, -(-table.n_rows // _FEW_ROWS))
        lost.difference_update(circuit.winners(table.take(few)).tolist())
    if lost:
        lost.difference_update(circuit.winners(table).tolist())
    return sorted(lost)
