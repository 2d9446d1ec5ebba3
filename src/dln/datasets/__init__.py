"""Load the public tables of the paper, cut to the rows and columns that it used.

A folder of raw tables with a `manifest.json` becomes a `Dataset`: features as a user would bring
them (numbers and categories, nothing scaled or one-hot) beside the class labels. The environment
variable `DLN_DATA` names the folder; `download` fills one from public sources. Promise: a file is
read only if its checksum is the manifest's, and rows, classes and columns are as many as the paper
counts. Splitting, scaling and encoding are left to others.

The 20th table of the paper, PDAC, is not public. The manifest states what is in each file (the
kind of each column, the paper's counts); `recipes` states only what the paper did beyond that.
Some tables come with scikit-learn and need no folder.
"""

from __future__ import annotations

import numpy as np

from dln.datasets.dataset import EMBEDDED, HONEST, NAMES, PAPER_DLN, Dataset, PaperCounts
from dln.datasets.embedded import load_embedded
from dln.datasets.folder import find_folder, read_entry, read_file
from dln.datasets.recipes import KINDS, RECIPES
from dln.datasets.sources import download
from dln.errors import OptionError

__all__ = ["EMBEDDED", "NAMES", "PAPER_DLN", "Dataset", "PaperCounts", "download", "load"]


def load(name: str) -> Dataset:
    """Load a table of the paper from the folder that `DLN_DATA` names, or one of scikit-learn's.

    Parameters
    ----------
    name : str
        One of `NAMES`, or `"Cardiotocography-honest"`: the 21 standard features, without the
        pattern CLASS and its ten flags, which nearly determine the target. Or one of `EMBEDDED`.

    Returns
    -------
    Dataset
        Rows in the order of the file.

    Raises
    ------
    OptionError
        If the name is unknown or `DLN_DATA` is not set.
    TableError
        If the folder, its manifest or the file is missing, or the file is not the manifest's.
    ExtraMissingError
        If pandas is not installed.

    Examples
    --------
    >>> load("PDAC")
    Traceback (most recent call last):
    dln.errors.OptionError: PDAC is not public and could not be found; known are BankChurn, ...
    """
    if name in EMBEDDED:
        return load_embedded(name)
    if name not in (*NAMES, HONEST):
        known = ", ".join((*NAMES, HONEST, *EMBEDDED))
        found = f"there is no data set {name!r}"
        if name == "PDAC":
            found = "PDAC is not public and could not be found"
        raise OptionError(f"{found}; known are {known}")
    folder = find_folder()
    entry = read_entry(folder, "Cardiotocography" if name == HONEST else name)
    kinds = {**entry.kinds, **KINDS.get(name, {})}
    recipe = RECIPES.get(name, lambda table: table)
    table = recipe(read_file(folder, entry, kinds)).reset_index(drop=True)
    # A column that the manifest does not know was made by the recipe: a principal component.
    kind_of = {column: kinds.get(column, "continuous") for column in table.columns}
    features = [column for column, kind in kind_of.items() if kind in ("continuous", "categorical")]
    categorical = [column for column in features if kind_of[column] == "categorical"]
    return Dataset(
        name=name,
        X=table[features].astype(dict.fromkeys(categorical, "category")),
        y=table[entry.target],
        split=table["split"].to_numpy(dtype=np.str_) if "split" in table else None,
        paper=entry.paper,
    )
