"""Rows that belong together: `--group COLUMN`.

The rows of one group are all training rows or all test rows. The name of the column is recorded in
the model file, so that later commands can repeat the split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import count_of
from dln.cli.arrow import Column, pa, pc
from dln.cli.kinds import tidy
from dln.core.origin import Origin
from dln.errors import TableError

_SETTING = "group"


def group_numbers(cells: Column, name: str, missing: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of each row's group; groups are numbered as they first occur.

    Text is compared without the whitespace around it. The words in `missing` are missing values,
    which raise `TableError`.

    >>> cells = pa.chunked_array([["Ada", "Ben", "Ada "]])
    >>> group_numbers(cells, "patient", ("", "NA")).tolist()
    [0, 1, 0]
    """
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_string(cells.type):
        cells = tidy(cells, missing)
    n_missing = pc.sum(pc.is_null(cells, nan_is_null=True)).as_py() or 0
    if n_missing:
        raise TableError(
            f"the group column {name!r} has no value in {n_missing:,} of "
            f"{count_of(len(cells), 'row')}; give each row a group, its own if it is alone"
        )
    try:
        packed = cells.combine_chunks().dictionary_encode()
    except pa.ArrowNotImplementedError:
        raise TableError(
            f"the group column {name!r} holds {cells.type}, expected text, numbers or dates"
        ) from None
    numbers: NDArray[np.int64] = packed.indices.to_numpy().astype(np.int64)
    return numbers


def group_note(name: str, groups: NDArray[np.int64]) -> str:
    """Say how many groups there are; raises `TableError` for a single one.

    >>> group_note("patient", np.array([0, 0, 1]))
    "The column 'patient' has 2 groups of 1 to 2 rows; the rows of a group stay together."
    """
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        raise TableError(
            f"the group column {name!r} has the same value in all {len(groups):,} rows; "
            "at least two groups are required"
        )
    if sizes.max() == 1:
        return (
            f"The column {name!r} has {len(sizes):,} groups of one row each, so --group changes "
            "nothing."
        )
    low, high = int(sizes.min()), int(sizes.max())
    of = f"{low:,} rows each" if low == high else f"{low:,} to {high:,} rows"
    return (
        f"The column {name!r} has {len(sizes):,} groups of {of}; the rows of a group stay together."
    )


def remember_group(origin: Origin, name: str | None) -> Origin:
    """Record the group column in the origin, so that later commands can repeat the split."""
    if name is None:
        return origin
    settings = {**dict(origin.settings), _SETTING: name}
    return replace(origin, settings=tuple(settings.items()))


def remembered_group(origin: Origin) -> str | None:
    """Return the group column that a model was trained with."""
    name = dict(origin.settings).get(_SETTING)
    return name if isinstance(name, str) else None
