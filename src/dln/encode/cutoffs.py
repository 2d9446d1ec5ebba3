"""Initial thresholds: the split points of a small tree on one column (paper, Sec. III-B)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Target = Ints | Floats
"""Class numbers, or numbers."""

MAX_ROWS = 50_000
"""Maximum number of rows used; with more rows the split points hardly change."""


def tree_cutoffs(cells: Floats, target: Target, weight: Floats, n_cutoffs: int) -> Floats:
    """Split one encoded column into at most `n_cutoffs` + 1 parts that separate the classes.

    For a target of numbers, the parts have the least variance of the target.
    Missing values (NaN) are ignored. The rows are weighted as in training. A column without a
    useful split gets its median, so that it can still be used together with another column.
    """
    return nested_cutoffs(cells, target, weight, (n_cutoffs,))[0]


def nested_cutoffs(
    cells: Floats, target: Target, weight: Floats, counts: tuple[int, ...]
) -> list[Floats]:
    """Return the cutoffs of `tree_cutoffs` for each of several numbers, from a single tree.

    The tree is grown best first, so its first k splits are those of the tree with k splits.
    """
    known = np.flatnonzero(~np.isnan(cells))
    if len(known) > MAX_ROWS:
        known = known[:: -(-len(known) // MAX_ROWS)]
    values = cells[known]
    if len(values) == 0 or values.min() == values.max():
        return [np.empty(0, dtype=np.float32) for _ in counts]
    most = min(max(counts), len(values))
    find: Any = _find_splits if target.dtype == np.int32 else sklearn_splits
    splits = find(values, target[known], weight[known], most)
    if len(splits) > 0:
        return [np.unique(splits[:count].astype(np.float32)) for count in counts]
    distinct = np.unique(values)
    middle = len(distinct) // 2
    halves = distinct[middle - 1 : middle] + distinct[middle : middle + 1]
    median = np.asarray(halves / 2, dtype=np.float32)
    return [median for _ in counts]


def sklearn_splits(
    values: Floats, target: Target, weight: Floats, n_splits: int
) -> NDArray[np.float64]:
    """Return the first splits of a tree on one column, in the order in which they are made.

    For classes, this defines what `tree_splits` of the compiled extension computes, and replaces
    it where the extension is missing.
    """
    # The tree allocates memory for all leaves, and there cannot be more leaves than rows.
    n_leaves = min(n_splits, len(values) - 1) + 1
    is_class = target.dtype == np.int32
    wanted = target if is_class else target.astype(np.float64)
    kind = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=n_leaves, random_state=0)
    # With a few hundred rows, the validation would take half of the time.
    with config_context(skip_parameter_validation=True):
        tree.fit(values[:, None], wanted, sample_weight=weight, check_input=False)
    inner = np.flatnonzero(tree.tree_.children_left >= 0)
    # A node gets its children when it is split.
    order = inner[np.argsort(tree.tree_.children_left[inner])]
    return np.asarray(tree.tree_.threshold[order], dtype=np.float64)


try:
    from dln._native import tree_splits as _find_splits
except ImportError:  # a machine without the compiled extension
    _find_splits = sklearn_splits
