"""Tables that come with scikit-learn: no folder, no download."""

from __future__ import annotations

import sklearn.datasets

from reproduction.datasets.dataset import Dataset


def load_embedded(name: str) -> Dataset:
    """Load a scikit-learn table by name.

    >>> load_embedded("iris").X.shape
    (150, 4)
    """
    bunch = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
    return Dataset(name, bunch.data, bunch.target, split=None)
