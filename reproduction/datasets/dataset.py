"""The `Dataset` type and the names of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

PAPER_DLN: Mapping[str, float] = MappingProxyType(
    {
        "BankChurn": 75.8,
        "BreastCancer": 65.1,
        "Cardiotocography": 97.7,
        "CKD": 99.1,
        "Cirrhosis": 54.0,
        "Compas": 67.6,
        "CreditFraud": 94.3,
        "Diabetes": 88.0,
        "EyeMovements": 55.0,
        "HAR": 87.1,
        "Heart": 81.5,
        "HeartFailure": 68.4,
        "HepatitisC": 91.1,
        "Letter": 69.1,
        "Liver": 66.5,
        "Mushroom": 100.0,
        "SatIm": 86.4,
        "Stroke": 76.2,
        "TelcoChurn": 75.9,
    }
)
"""Balanced test accuracy in percent that the paper reports for DLN (mean of four seeds)."""

NAMES: tuple[str, ...] = tuple(PAPER_DLN)
"""The public tables, in the order of the paper's table."""

HONEST = "Cardiotocography-honest"
"""Cardiotocography without the columns that nearly determine its target."""

EMBEDDED: tuple[str, ...] = ("iris", "wine", "breast_cancer", "digits")
"""Tables that come with scikit-learn and need no folder."""


@dataclass(frozen=True)
class PaperCounts:
    """The paper's counts for a dataset; `categorical` counts one-hot columns."""

    rows: int
    classes: int
    continuous: int
    categorical: int


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
    paper : PaperCounts or None
        The paper's counts (for `Cardiotocography-honest`, those of the full table); None for
        tables that the paper does not have.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    split: NDArray[np.str_] | None
    paper: PaperCounts | None
