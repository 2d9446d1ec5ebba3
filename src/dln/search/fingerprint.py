"""Tell whether a search that goes on has the same data, folds, values and programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from dln.search.folds import Fold
from dln.search.space import describe
from dln.train.fit import Problem

_DIGITS = 16
"""Of a digest: no two searches of one file will share so many by chance."""


def fingerprint(problem: Problem) -> str:
    """Give a text that differs where a cell, a class or a weight does."""
    digest = hashlib.sha256()
    digest.update(repr((problem.table.names, problem.classes)).encode())
    for array in (problem.target, problem.weight):
        digest.update(np.ascontiguousarray(array).tobytes())
    for index in range(problem.table.n_columns):
        raw = problem.table.read(index)
        digest.update(raw.kind.encode())
        if raw.kind == "category":
            digest.update(repr(raw.values.tolist()).encode())
        else:
            digest.update(np.ascontiguousarray(raw.values, dtype=np.float64).tobytes())
    return digest.hexdigest()[:_DIGITS]


def fingerprint_folds(folds: Sequence[Fold]) -> str:
    """Give a text that differs where a row of a fold does."""
    digest = hashlib.sha256()
    for fold in folds:
        for rows in (fold.train, fold.valid):
            digest.update(len(rows).to_bytes(8, "little") + rows.astype(np.int64).tobytes())
    return digest.hexdigest()[:_DIGITS]


def fingerprint_values(trials: Sequence[Mapping[str, Any]]) -> str:
    """Give a text that differs where a value of a trial does."""
    text = json.dumps([describe(values) for values in trials])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def versions() -> str:
    """Name the programs that decide what is proposed and what comes of it."""
    return f"dln {version('dln')}, optuna {version('optuna')}"
