"""Fit a model and print its warnings."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from dln.cli.output import print_message


def fit_with_messages(
    model: Any, X: Any, y: Any, *, groups: Any = None, exposure: Any = None, quiet: bool
) -> None:
    """Fit an estimator; print each warning as one line, unless quiet."""
    log = logging.getLogger("dln")
    # Without a handler, Python itself prints logged warnings, even with --quiet.
    handler = logging.NullHandler() if quiet else _Printing()
    log.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if quiet else "always", UserWarning)
            more = {} if exposure is None else {"exposure": exposure}
            model.fit(X, y, groups=groups, **more)
    finally:
        log.removeHandler(handler)


class _Printing(logging.Handler):
    """Prints log messages."""

    def emit(self, record: logging.LogRecord) -> None:
        print_message(record.getMessage())
