"""Initial thresholds: the split points of a small tree on one column (paper, Sec. III-B)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier

MAX_ROWS = 50_000
"""Maximum number of rows used; with more rows the split points hardly change."""


def tree_cutoffs(
    cells: NDArray[np.float32],
    target: NDArray[np.int32],
    weight: NDArray[np.float32],
    n_cutoffs: int,
) -> NDArray[np.float32]:
    """Split one encoded column into at most `n_cutoffs` + 1 parts that separate the classes.

    Missing values (NaN) are ignored. The rows are weighted as in training. A column without a
    useful split gets its median, so that it can still be used together with another column.
    """
    known = np.flatnonzero(~np.isnan(cells))
    if len(known) > MAX_ROWS:
        known = known[:: -(-len(known) // MAX_ROWS)]
    values = cells[known]
    if len(values) == 0 or values.min() == values.max():
        return np.empty(0, dtype=np.float32)
    # The tree allocates memory for all leaves, and there cannot be more leaves than rows.
    most = min(n_cutoffs, len(values) - 1)
    tree = DecisionTreeClassifier(max_leaf_nodes=most + 1, random_state=0)
    # With a few hundred rows, the validation would take half of the time.
    with config_context(skip_parameter_validation=True):
        tree.fit(values[:, None], target[known], sample_weight=weight[known], check_input=False)
    inner = tree.tree_.children_left >= 0
    cutoffs = np.unique(tree.tree_.threshold[inner].astype(np.float32))
    if len(cutoffs) == 0:
        distinct = np.unique(values)
        middle = len(distinct) // 2
        cutoffs = (distinct[middle - 1 : middle] + distinct[middle : middle + 1]) / 2
    return cutoffs
