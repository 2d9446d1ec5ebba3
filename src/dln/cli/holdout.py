"""Choose test rows, and record what a model was trained on."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dln
from dln.cli.files import STANDARD, part_files
from dln.core.circuit import Circuit
from dln.core.origin import Origin, Setting
from dln.core.row_sketch import RowSketch
from dln.errors import OptionError

_NOT_RECORDED = (
    "random_state",
    "n_jobs",
    "verbose",
    "on_interrupt",
    "engine",
    "device",
    "init",
    "storage",
)
"""Parameters that are not part of the recorded settings."""


def hold_out(
    classes: NDArray[np.int64], part: float, seed: int, groups: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose training rows and test rows: the same share of every class.

    Every class keeps at least one training row. With groups, the rows of a group stay together,
    and the shares are as near to `part` as a random order of the groups allows.

    Parameters
    ----------
    classes
        The number of each row's class.
    groups
        The number of each row's group.

    Examples
    --------
    >>> rows, test_rows = hold_out(np.array([0, 0, 0, 0, 1, 1]), 0.5, seed=0)
    >>> len(rows), len(test_rows)
    (3, 3)
    """
    rng = np.random.default_rng(seed)
    if groups is not None:
        is_test = _test_groups(classes, part, rng, groups)[groups]
        return np.flatnonzero(~is_test), np.flatnonzero(is_test)
    is_test = np.zeros(len(classes), dtype=bool)
    for number in range(classes.max() + 1):
        rows = rng.permutation(np.flatnonzero(classes == number))
        is_test[rows[: min(round(part * len(rows)), len(rows) - 1)]] = True
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _test_groups(
    classes: NDArray[np.int64], part: float, rng: np.random.Generator, groups: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Go through the groups in random order; test those that bring the class shares nearer."""
    n_groups, n_classes = int(groups.max()) + 1, int(classes.max()) + 1
    total = np.bincount(classes, minlength=n_classes).tolist()
    tested = [0] * n_classes
    # Only classes that a group has are stored: most groups have one of many classes.
    members: list[list[tuple[int, int]]] = [[] for _ in range(n_groups)]
    keys, counts = np.unique(groups * n_classes + classes, return_counts=True)
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        members[key // n_classes].append((key % n_classes, count))
    is_test = np.zeros(n_groups, dtype=bool)
    for group in rng.permutation(n_groups).tolist():
        change = 0.0
        for number, count in members[group]:
            gap = part * total[number] - tested[number]
            change += ((gap - count) ** 2 - gap**2) / total[number] ** 2
        if change < 0 and all(tested[n] + count < total[n] for n, count in members[group]):
            is_test[group] = True
            for number, count in members[group]:
                tested[number] += count
    return is_test


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file, or that of the digests of several files.

    It is "" for standard input, which cannot be read twice.
    """
    if path == STANDARD:
        return ""
    files = part_files(path)
    if files is not None:
        return hashlib.sha256("".join(map(digest_of, files)).encode()).hexdigest()
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
    model: dln.DLNClassifier | dln.DLNRegressor,
    *,
    n_rows: int,
    test_part: float,
    seed: int,
    rows: RowSketch | None,
) -> Origin:
    """Describe the table and the settings of a training."""
    defaults = type(model)().get_params()
    given = model.get_params()
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
