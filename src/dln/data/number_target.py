"""Read the number of each row, for a circuit that predicts a number."""

from __future__ import annotations

import datetime
import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import type_name
from dln.data.target import check_length, check_no_missing, label_values
from dln.errors import OptionError, TableError


def read_numbers(y: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the target as numbers; text, dates, missing and infinite values are refused.

    >>> read_numbers([1, 2.5], 2).tolist()
    [1.0, 2.5]
    """
    from sklearn.utils.validation import column_or_1d  # slow to load

    if y is None:
        raise TableError("requires y to be passed, but the target y is None")
    values = label_values(y, object if _mixes_types(y) else None)
    if values.ndim == 1:
        check_no_missing(values)
    try:
        values = column_or_1d(values, warn=True)
    except ValueError as error:
        raise TableError(f"the target cannot be used: {error}") from error
    check_length(values, n_rows)
    check_no_missing(values)
    return _to_floats(values)


def name_of_target(y: Any) -> str:
    """Return the name of a target that has one, such as a column of a frame."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else "prediction"


def rate_name(target: str, exposure: str | None) -> str:
    """Name the target for one unit of an exposure.

    >>> rate_name("claims", "years"), rate_name("claims", None)
    ('claims per years', 'claims')
    """
    return target if exposure is None else f"{target} per {exposure}"


def read_exposure(exposure: Any, n_rows: int, loss: str) -> NDArray[np.float64]:
    """Return the exposure of each row; raises for one that is not above 0, or for another loss."""
    if loss not in ("poisson", "gamma"):
        raise OptionError(
            f"exposure is given with loss={loss!r}; it needs a log link: use loss='poisson' or "
            "loss='gamma'"
        )
    try:
        found = np.asarray(exposure, dtype=np.float64)
    except (TypeError, ValueError):
        raise TableError("exposure cannot be used: expected a number for each row") from None
    if found.shape != (n_rows,):
        raise TableError(
            f"exposure has the shape {found.shape}, expected one number for each of {n_rows} rows"
        )
    wrong = ~(np.isfinite(found) & (found > 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"the exposure of row {row} is {found[row]:g}; expected finite numbers above 0"
        )
    return found


def check_domain(target: NDArray[np.float64], loss: str) -> None:
    """Refuse targets that a loss is not defined for."""
    lowest = float(target.min())
    if loss == "poisson" and lowest < 0:
        raise TableError(
            f"the target holds {lowest:g}, but loss='poisson' needs numbers of at least 0; "
            "use loss='squared' or shift the target"
        )
    if loss == "poisson" and float(target.max()) == 0:
        raise TableError("the target is 0 in every row; loss='poisson' needs a positive number")
    if loss == "gamma" and lowest <= 0:
        raise TableError(
            f"the target holds {lowest:g}, but loss='gamma' needs numbers above 0; "
            "use loss='squared' or loss='poisson'"
        )


def _mixes_types(y: Any) -> bool:
    """Return whether NumPy would turn numbers of a list into text."""
    return isinstance(y, (list, tuple)) and any(isinstance(value, str) for value in y)


def _to_floats(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.dtype.kind == "c":
        raise TableError("Complex data not supported: the target must be real numbers")
    if values.dtype.kind == "M":
        raise _not_a_number(values[0])
    if values.dtype.kind not in "fiub":
        odd = next((value for value in values.tolist() if not _is_number(value)), None)
        if odd is not None:
            raise _not_a_number(odd)
    found = values.astype(np.float64)
    infinite = ~np.isfinite(found)
    if infinite.any():
        raise TableError(
            f"Input y contains infinity: the target of row {int(np.argmax(infinite))} is "
            f"{found[np.argmax(infinite)]}; remove such rows or replace the value"
        )
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Real, Decimal, np.bool_))


def _not_a_number(value: Any) -> TableError:
    if isinstance(value, (datetime.date, np.datetime64)):
        return TableError(
            f"the target holds dates such as {str(value)[:40]!r}, expected numbers; convert them, "
            "for example to days since a first date"
        )
    shown = repr(value) if isinstance(value, str) else type_name(value)
    return TableError(
        f"Unknown label type: the target holds {shown[:60]}, expected numbers; use DLNClassifier "
        "for classes, or convert the target to numbers"
    )
