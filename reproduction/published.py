"""The paper's figures, read from published.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from typing import Literal as OneOf

Measure = OneOf["accuracy", "operations", "gate_operations", "parameters", "bytes"]

_USUAL_SIZE, _USUAL_ROWS = 10_000, 500
"""Size and rows of a table that the paper does not have."""


@cache
def published() -> Mapping[str, Any]:
    """Read all figures: `tables` and `ablations` by dataset, `ranks` and `ablation_ranks`."""
    text = Path(__file__).with_name("published.json").read_text("utf-8")
    document: Mapping[str, Any] = json.loads(text)
    return document


def figures(measure: Measure) -> dict[str, dict[str, float]]:
    """Return one table of the paper: figures by dataset and model.

    >>> figures("accuracy")["Heart"]["DLN"]
    81.5
    """
    return {name: dict(table[measure]) for name, table in published()["tables"].items()}


def train_rows_of(dataset: str) -> int:
    """Return the number of training rows of a table, from the figures in the paper.

    >>> train_rows_of("Heart")
    219
    """
    shape = _shape_of(dataset)
    return _USUAL_ROWS if shape is None else int(shape["train"])


def size_of(dataset: str) -> int:
    """Return training rows x columns of a table, from the figures in the paper.

    >>> size_of("Heart")
    4161
    """
    shape = _shape_of(dataset)
    if shape is None:
        return _USUAL_SIZE
    return int(shape["train"] * (shape["continuous"] + shape["categorical"]))


def _shape_of(dataset: str) -> Mapping[str, Any] | None:
    shape: Mapping[str, Any] | None = published()["tables"].get(dataset.removesuffix("-honest"))
    return shape
