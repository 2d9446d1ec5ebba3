"""Fit a model, and say what it warns of."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from dln.cli.talk import say


def fit_aloud(model: Any, X: Any, y: Any, *, quiet: bool) -> None:
    """Fit an estimator; what it warns users of is said in a line of its own."""
    log = logging.getLogger("dln")
    # Without a handler, Python prints warnings by itself, also where nothing is to be said.
    handler = logging.NullHandler() if quiet else _Saying()
    log.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            model.fit(X, y)
    finally:
        log.removeHandler(handler)
    for warning in caught:
        if not quiet and issubclass(warning.category, UserWarning):
            say(str(warning.message))


class _Saying(logging.Handler):
    """Says what is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())
