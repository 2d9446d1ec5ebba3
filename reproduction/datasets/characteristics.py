"""The characteristics of a table after preparation, as the paper lists them."""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.protocol import Task

FILE = "datasets.json"
"""Name of the file in a folder of results."""


@dataclass(frozen=True)
class Characteristics:
    """The counts of one table.

    Attributes
    ----------
    train, test, classes, continuous, categorical
        Rows, classes and columns as in the paper's table; `categorical` counts one-hot columns.
    categories
        The categorical columns before one-hot encoding, which a DLN reads here.
    missing
        Missing values among the columns that are read.
    """

    name: str
    train: int
    test: int
    classes: int
    continuous: int
    categorical: int
    categories: int
    missing: int


def describe(task: Task) -> Characteristics:
    """Count the rows and columns of a table after preparation; seeds do not change them."""
    X = task.dataset.X
    continuous = X.select_dtypes("number").shape[1]
    return Characteristics(
        name=task.dataset.name,
        train=len(task.rows[0]),
        test=len(task.rows[1]),
        classes=task.n_classes,
        continuous=continuous,
        categorical=task.arrays.train.shape[1] - continuous,
        categories=X.shape[1] - continuous,
        missing=int(X.isna().sum().sum()),
    )
