"""Fingerprints that show whether a resumed search has the same data, folds and versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from dln.search.folds import Fold
from dln.search.space import describe

_DIGITS = 16
"""Length of a digest. Two searches in one file will not have the same one by chance."""


def fingerprint_folds(folds: Sequence[Fold]) -> str:
    """Return a text that changes if a fold changes."""
    digest = hashlib.sha256()
    for fold in folds:
        for rows in (fold.train, fold.valid):
            digest.update(len(rows).to_bytes(8, "little") + rows.astype(np.int64).tobytes())
    return digest.hexdigest()[:_DIGITS]


def fingerprint_values(trials: Sequence[Mapping[str, Any]]) -> str:
    """Return a text that changes if a value of a trial changes."""
    text = json.dumps([describe(values) for values in trials])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def versions() -> str:
    """Return the versions of the packages that can change a search."""
    return f"dln {version('dln')}, optuna {version('optuna')}"
