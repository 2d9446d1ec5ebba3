"""Tell whether a search that goes on is about the same data, with the same programs."""

from __future__ import annotations

import hashlib
from importlib.metadata import version

import numpy as np

from dln.train.fit import Problem


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
    return digest.hexdigest()[:16]


def versions() -> str:
    """Name the programs that decide what is proposed and what comes of it."""
    return f"dln {version('dln')}, optuna {version('optuna')}"
