"""Sparse matrices of SciPy: stored by column, of which one at a time becomes dense."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_sparse(X: Any) -> bool:
    """Recognise a sparse matrix or array without importing SciPy."""
    return hasattr(X, "tocsc") and hasattr(X, "nnz")


class SparseColumns:
    """The columns of a sparse matrix. Values that are not stored are 0, not missing."""

    def __init__(self, X: Any) -> None:
        stored = X.tocsc()
        if not stored.has_canonical_format:
            stored = stored.copy()  # not the user's own matrix
            stored.sum_duplicates()
        self.shape: tuple[int, int] = stored.shape
        self.dtype: np.dtype[Any] = stored.dtype
        self._values, self._rows, self._starts = stored.data, stored.indices, stored.indptr

    def column(self, index: int) -> NDArray[Any]:
        """Return one column with its zeros: (n_rows,)."""
        own = slice(self._starts[index], self._starts[index + 1])
        dense = np.zeros(self.shape[0], dtype=self.dtype)
        dense[self._rows[own]] = self._values[own]
        return dense

    def densest(self, n_columns: int) -> NDArray[np.intp]:
        """Return the columns with the most stored values, in order."""
        counts = np.diff(self._starts)
        return np.sort(np.argsort(-counts, kind="stable")[:n_columns])
