"""The `Dataset` type and the names of the tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.published import published

NAMES = tuple(name for name in published()["tables"] if name != "PDAC")
"""The public tables, in the order of the paper's table."""

HONEST = "Cardiotocography-honest"
"""Cardiotocography without the columns that nearly determine its target."""

EMBEDDED: tuple[str, ...] = ("iris", "wine", "breast_cancer", "digits")
"""Tables that come with scikit-learn and need no folder."""

BEYOND = (HONEST, *EMBEDDED)
"""Tables that the paper does not have: listed below its own, and in no mean or rank."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A raw table with its class labels.

    Attributes
    ----------
    name : str
        Name of the table.
    X : pandas.DataFrame
        Numbers as int or float columns, categories as text columns of dtype `category`. Values may
        be missing.
    y : pandas.Series
        The class label of each row, never missing.
    split : numpy.ndarray or None
        `"train"` or `"test"` for each row if there is an official split (HAR and SatIm).
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    split: NDArray[np.str_] | None
