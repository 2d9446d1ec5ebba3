"""A fingerprint that shows whether a resumed fit or search has the same rows."""

from __future__ import annotations

import hashlib

import numpy as np

from dln.train.problem import NumberProblem, Problem

_DIGITS = 16
"""Length of a digest. Two fits in one folder will not have the same one by chance."""


def fingerprint(problem: Problem | NumberProblem) -> str:
    """Return a text that changes if a value, target or weight of the table changes.

    Values of a table in files are not read again.
    """
    digest = hashlib.sha256()
    classes = problem.classes if isinstance(problem, Problem) else None
    digest.update(repr((problem.table.names, classes)).encode())
    for array in (problem.target, problem.weight, problem.groups):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    for index in () if problem.table.is_in_files else range(problem.table.n_columns):
        raw = problem.table.read(index)
        digest.update(raw.kind.encode())
        if raw.kind == "category":
            digest.update(repr(raw.values.tolist()).encode())
        else:
            digest.update(np.ascontiguousarray(raw.values, dtype=np.float64).tobytes())
    return digest.hexdigest()[:_DIGITS]
