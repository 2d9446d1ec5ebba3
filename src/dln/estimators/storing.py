"""The storage of a fit: open it, check that it belongs to the same fit, delete it at the end."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dln._util.storage import DIGEST, Storage
from dln.estimators.reading import draw_seed
from dln.train.fingerprint import fingerprint
from dln.train.problem import NumberProblem, Problem

_OTHER_RESULT = {"n_jobs", "verbose", "on_interrupt", "storage", "random_state"}
"""Parameters that may change when a fit is resumed, and the seed, which is stored by itself."""


@contextmanager
def fit_storage(estimator: Any) -> Iterator[Storage | None]:
    """Open the storage of an estimator, if it has one; delete it if the fit is complete.

    A storage that is open already belongs to the caller, who deletes it.
    """
    given = estimator.storage
    if given is None or isinstance(given, Storage):
        yield given
        return
    with Storage.open(given) as storage:
        yield storage
        if not storage.is_kept:
            storage.remove()


def stored_seed(estimator: Any, storage: Storage | None) -> int:
    """Return the seed of a resumed fit whose `random_state` is None; or draw one."""
    known = None if storage is None else storage.setting("fit", "seed")
    if known is not None and estimator.random_state is None:
        return int(known)
    return draw_seed(estimator.random_state)


def check_fit(
    storage: Storage | None, estimator: Any, problem: Problem | NumberProblem, seed: int
) -> None:
    """Store what a fit depends on, or compare it with what is stored."""
    if storage is None:
        return
    parameters = {
        name: _describe(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in _OTHER_RESULT
    }
    data = f"{DIGEST}{fingerprint(problem)}"
    kind = type(estimator).__name__
    storage.check("fit", {"estimator": kind, "seed": seed, "rows": data, **parameters})


def _describe(value: Any) -> Any:
    """Return simple values and lists of them as they are, and a digest of any other."""
    if isinstance(value, (list, tuple)):
        return [_describe(part) for part in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    try:
        content = pickle.dumps(value)
    except Exception:  # whatever the user's object raises
        content = repr(value).encode()
    return f"{DIGEST}{hashlib.sha256(content).hexdigest()[:16]}"
