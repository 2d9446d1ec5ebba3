"""Load the public tables of the paper, with the rows and columns that it used.

The environment variable `DLN_DATA` names a folder of raw tables with a `manifest.json`; `download`
fills such a folder from public sources. A table becomes a `Dataset`: raw features (numbers and
categories, not scaled or one-hot encoded) and class labels. A file is read only if its checksum is
that of the manifest.
Splitting, scaling and encoding happen elsewhere.

The 20th table of the paper, PDAC, is not public. The manifest describes each file (the kind of each
column, the paper's counts); `recipes` adds what the paper did to it. Some tables come with
scikit-learn and need no folder.
"""

from __future__ import annotations

import numpy as np

from dln import OptionError
from reproduction.datasets.dataset import (
    BEYOND,
    EMBEDDED,
    HONEST,
    NAMES,
    Dataset,
)
from reproduction.datasets.embedded import load_embedded
from reproduction.datasets.folder import find_folder, read_entry, read_file
from reproduction.datasets.recipes import KINDS, RECIPES
from reproduction.datasets.sources import download

__all__ = [
    "BEYOND",
    "EMBEDDED",
    "HONEST",
    "NAMES",
    "Dataset",
    "check_name",
    "download",
    "load",
]


def check_name(name: str) -> None:
    """Raise an error for the name of an unknown table."""
    if name not in (*NAMES, *BEYOND):
        found = f"there is no data set {name!r}"
        if name == "PDAC":
            found = "PDAC is not public and could not be found"
        raise OptionError(f"{found}; known are {', '.join((*NAMES, *BEYOND))}")


def load(name: str) -> Dataset:
    """Load a table of the paper from the folder `DLN_DATA`, or a table of scikit-learn.

    Parameters
    ----------
    name : str
        One of `NAMES` or `EMBEDDED`, or `"Cardiotocography-honest"`: the 21 standard features
        without CLASS and its ten flags, which nearly determine the target.

    Returns
    -------
    Dataset
        Rows in the order of the file.

    Raises
    ------
    OptionError
        If the name is unknown or `DLN_DATA` is not set.
    TableError
        If the folder, its manifest or the file is missing, or the file has another checksum.

    Examples
    --------
    >>> load("PDAC")
    Traceback (most recent call last):
    dln.errors.OptionError: PDAC is not public and could not be found; known are BankChurn, ...
    """
    check_name(name)
    if name in EMBEDDED:
        return load_embedded(name)
    folder = find_folder()
    entry = read_entry(folder, "Cardiotocography" if name == HONEST else name)
    kinds = {**entry.kinds, **KINDS.get(name, {})}
    recipe = RECIPES.get(name, lambda table: table)
    table = recipe(read_file(folder, entry, kinds)).reset_index(drop=True)
    # Columns that the manifest does not list are principal components from the recipe.
    kind_of = {column: kinds.get(column, "continuous") for column in table.columns}
    features = [column for column, kind in kind_of.items() if kind in ("continuous", "categorical")]
    categorical = [column for column in features if kind_of[column] == "categorical"]
    return Dataset(
        name=name,
        X=table[features].astype(dict.fromkeys(categorical, "category")),
        y=table[entry.target],
        split=table["split"].to_numpy(dtype=np.str_) if "split" in table else None,
    )
