"""Read the number of each row, for comparison with predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.data.target import check_length, label_values
from dln.errors import TableError


def number_target(y: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the number of each row; text, missing and infinite ones are refused.

    >>> number_target([1, 2.5], 2).tolist()
    [1.0, 2.5]
    """
    cells = label_values(y)
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    check_length(cells, n_rows)
    if cells.dtype.kind in "mM":
        raise TableError("the target has dates; expected numbers")
    try:
        numbers = cells.astype(np.float64)
    except (TypeError, ValueError):
        found = next((cell for cell in cells.tolist() if not _is_number(cell)), cells[0])
        raise TableError(f"the target has {found!r}, which is not a number") from None
    if numbers.ndim != 1:
        raise TableError(f"the target has the shape {numbers.shape}, expected one number per row")
    for word, wrong in (("missing", np.isnan(numbers)), ("infinite", np.isinf(numbers))):
        if wrong.any():
            raise TableError(
                f"the target is {word} in row {int(wrong.argmax()) + 1}; expected finite numbers"
            )
    return numbers


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
