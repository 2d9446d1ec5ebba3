"""Choose test rows, and record what a model was trained on."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dln
from dln.cli.files import STANDARD
from dln.core.circuit import Circuit
from dln.core.origin import Origin, Setting
from dln.core.row_sketch import RowSketch
from dln.errors import OptionError

_NOT_RECORDED = ("random_state", "n_jobs", "verbose", "on_interrupt", "engine", "device")
"""Parameters that are not part of the recorded settings."""


def hold_out(
    classes: NDArray[np.int64], part: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose training rows and test rows: the same share of every class.

    Every class keeps at least one training row.

    Parameters
    ----------
    classes
        The number of each row's class.

    Examples
    --------
    >>> rows, test_rows = hold_out(np.array([0, 0, 0, 0, 1, 1]), 0.5, seed=0)
    >>> len(rows), len(test_rows)
    (3, 3)
    """
    is_test = np.zeros(len(classes), dtype=bool)
    rng = np.random.default_rng(seed)
    for number in range(classes.max() + 1):
        rows = rng.permutation(np.flatnonzero(classes == number))
        is_test[rows[: min(round(part * len(rows)), len(rows) - 1)]] = True
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file; "" for standard input, which cannot be read twice."""
    if path == STANDARD:
        return ""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def data_name(path: str) -> str:
    """Return the name of a table without its folder."""
    return "standard input" if path == STANDARD else Path(path).name


def target_of(circuit: Circuit, target: str | None) -> str:
    """Return the target column: the one given, or the one of the training."""
    if target is not None:
        return target
    if circuit.origin is None:
        raise OptionError("the model file does not name its target column; add --target COLUMN")
    return circuit.origin.target


def origin_of(
    path: str,
    target: str,
    classifier: dln.DLNClassifier,
    *,
    n_rows: int,
    test_part: float,
    seed: int,
    rows: RowSketch | None,
) -> Origin:
    """Describe the table and the settings of a training."""
    defaults = dln.DLNClassifier().get_params()
    given = classifier.get_params()
    return Origin(
        data=data_name(path),
        digest=digest_of(path),
        target=target,
        n_rows=n_rows,
        test_part=float(test_part),
        seed=seed,
        version=dln.__version__,
        settings=tuple(
            (name, _setting(value))
            for name, value in given.items()
            if name not in _NOT_RECORDED and value != defaults[name]
        ),
        rows=rows,
    )


def _setting(value: Any) -> Setting:
    return value if isinstance(value, Setting) else str(value)
