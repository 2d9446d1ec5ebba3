"""Tables that come with scikit-learn: no folder, no download."""

from __future__ import annotations

from dln.datasets.dataset import Dataset
from dln.datasets.folder import import_pandas


def load_embedded(name: str) -> Dataset:
    """Load a scikit-learn table by name.

    >>> load_embedded("iris").X.shape
    (150, 4)
    """
    import_pandas()
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
    return Dataset(name, bunch.data, bunch.target, split=None, paper=None)
