"""The points of leaves of boosted trees: damped Newton steps.

Losses need this without the trees themselves, which import scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.train.levels import add_up_nodes, bound_steps

Floats = NDArray[np.float64]

MIN_LEAF_ROWS = 5
"""Minimum number of rows in a leaf."""

PENALTY = 1.0
"""Rows of mean weight that are added to a leaf without changing its gradient."""


def bounded_newton_steps(
    structure: Any, signs: NDArray[np.int8], leaf: NDArray[np.int64], pull: Floats, hold: Floats
) -> Floats:
    """Return a Newton step for each node, bounded so that leaves have the directions.

    `pull` and `hold` are the derivatives of each row, downhill.
    """
    pulls, holds = (add_up_nodes(structure, leaf, values) for values in (pull, hold))
    return bound_steps(structure, signs, pulls / (holds + PENALTY))
