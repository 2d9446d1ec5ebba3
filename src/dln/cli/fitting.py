"""Fit a model and print its warnings."""

from __future__ import annotations

import warnings
from typing import Any

from dln.cli.talk import say


def fit_aloud(model: Any, X: Any, y: Any, *, quiet: bool) -> None:
    """Fit an estimator and print each of its warnings as one line, unless `quiet`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit(X, y)
    for warning in caught:
        if not quiet and issubclass(warning.category, UserWarning):
            say(str(warning.message))
