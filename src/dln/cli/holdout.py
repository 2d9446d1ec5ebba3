"""Rows held out to test on: chosen once when a model is trained, and found again later."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dln
from dln.circuit import Circuit
from dln.cli.files import STANDARD
from dln.cli.talk import say
from dln.origin import Origin, Setting
from dln.target import class_numbers

_NOT_OF_THE_MODEL = ("random_state", "n_jobs", "verbose", "on_interrupt", "engine", "device")


def hold_out(
    classes: NDArray[np.int64], part: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose the rows to train on and those to test on: the same part of every class.

    Every class keeps at least one row to train on.

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
    held_out = np.zeros(len(classes), dtype=bool)
    rng = np.random.default_rng(seed)
    for number in range(classes.max() + 1):
        rows = rng.permutation(np.flatnonzero(classes == number))
        held_out[rows[: min(round(part * len(rows)), len(rows) - 1)]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def digest_of(path: str) -> str:
    """Give the SHA-256 of a file; "" for standard input, which is gone once it is read."""
    if path == STANDARD:
        return ""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def data_name(path: str) -> str:
    """Name a table as a model file does: without its folder."""
    return "standard input" if path == STANDARD else Path(path).name


def is_own_table(circuit: Circuit, digest: str) -> bool:
    """Tell whether a file of this SHA-256 is the one that a circuit was trained on."""
    return circuit.origin is not None and digest != "" and digest == circuit.origin.digest


def tell_of_own_rows(circuit: Circuit, path: str) -> None:
    """Note that a circuit is measured on rows that it was trained on, where that is known."""
    if circuit.origin is not None and is_own_table(circuit, digest_of(path)):
        say(
            f"note: the model was trained on {circuit.origin.n_rows:,} of these rows; "
            "dln report tests on those that were held out"
        )


def split_again(
    circuit: Circuit, labels: NDArray[Any], digest: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Find the rows that a circuit was trained on and those held out; None in another table."""
    if circuit.origin is None or not is_own_table(circuit, digest):
        return None
    classes = class_numbers(labels, circuit.classes, len(labels))
    return hold_out(classes, circuit.origin.test_part, circuit.origin.seed)


def origin_of(
    path: str, target: str, classifier: dln.DLNClassifier, n_rows: int, test_part: float
) -> Origin:
    """Say what a classifier was trained on, and what was asked of it."""
    usual = dln.DLNClassifier().get_params()
    wished = classifier.get_params()
    return Origin(
        data=data_name(path),
        digest=digest_of(path),
        target=target,
        n_rows=n_rows,
        test_part=float(test_part),
        seed=wished["random_state"],
        version=dln.__version__,
        settings=tuple(
            (name, _setting(value))
            for name, value in wished.items()
            if name not in _NOT_OF_THE_MODEL and value != usual[name]
        ),
    )


def _setting(value: Any) -> Setting:
    return value if isinstance(value, Setting) else str(value)
