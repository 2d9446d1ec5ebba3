"""Checks of arguments that the figures of a trace share."""

from __future__ import annotations

import operator
from typing import Any

from dln._util.messages import type_name
from dln.errors import OptionError
from dln.train.trace import Trace


def check_trace(trace: Any) -> None:
    """Check that this is a trace with records."""
    if not isinstance(trace, Trace):
        raise OptionError(
            f"trace is {type_name(trace)}, expected a Trace; "
            "fit DLNClassifier(trace_every=1) and take one of its traces_"
        )
    if len(trace.epochs) == 0:
        raise OptionError("the trace is empty; fit DLNClassifier(trace_every=1) to record one")


def check_number(name: str, value: Any, n_known: int) -> int:
    """Check that a number is from 0 to below `n_known`, and return it."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < n_known:
        raise OptionError(
            f"{name} is {value!r}, but the network has {n_known}: "
            f"expected a number from 0 to {n_known - 1}"
        )
    return number
