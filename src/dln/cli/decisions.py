"""Options of `dln train` that name classes -> parameters of `DLNClassifier`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dln._util.messages import list_names
from dln.core.labels import Label, label_text
from dln.errors import OptionError


def read_decision(
    costs: Sequence[str], sensitivity: Sequence[str], labels: Sequence[Label]
) -> dict[str, Any]:
    """Read `--cost TRUE:PREDICTED=COST` and `--sensitivity CLASS=SHARE`.

    >>> read_decision([], ["ill=0.9"], ["ill", "well"])
    {'sensitivity_at_least': {'ill': 0.9}}
    """
    if not costs and not sensitivity:
        return {}
    if not labels:
        raise OptionError(
            "--cost and --sensitivity are for classes, not for a number; leave them out"
        )
    classes = {label_text(label): label for label in labels}
    pairs = {f"{one}:{other}": (a, b) for one, a in classes.items() for other, b in classes.items()}
    found: dict[str, Any] = {}
    if costs:
        found["costs"] = dict(_read("--cost", text, pairs, "TRUE:PREDICTED=COST") for text in costs)
    if sensitivity:
        found["sensitivity_at_least"] = dict(
            _read("--sensitivity", text, classes, "CLASS=SHARE") for text in sensitivity
        )
    return found


def _read(
    option: str, text: str, known: dict[str, Any], form: str
) -> tuple[Label | tuple[Label, Label], float]:
    name, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        raise OptionError(f"{option} is {text!r}, expected {form} with a number") from None
    if name not in known:
        classes = list_names([key for key in known if ":" not in key] or list(known))
        raise OptionError(f"{option} is {text!r}, expected {form} with one of: {classes}")
    return known[name], value
