"""Presets: sets of options with a name. Each value is stated here once.

"paper" is the text of the paper; where the text says nothing, the values of the authors' program
that a user can see (rate, epochs, looks), else dln's defaults. "program" is the authors' program.
Sizes, the learning rate and tau are not part of a preset: the paper searches them for each table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar
from typing import Literal as OneOf

from dln._util.option import check_choice, options_of
from dln.train.options import FitOptions

T = TypeVar("T", bound=FitOptions)

PresetName = OneOf["paper", "program"]

_COMMON: dict[str, Any] = {
    "n_networks": 1,
    "n_cutoffs": 4,
    "scaling": "range",
    "screening": False,
    "n_links": 8,
    "n_gates": 8,
    "concatenation": "separate",
    "epochs": 1_000,
    "slope": 2.0,
    "threshold_rate": 1.0,
    "final_rate": 1.0,
    "phases": "epochs",
    "validation_fraction": 0.2,
    "validation_every": 10,
    "validation_score": "both",
    "selection_fits": 0,
    "probabilities": "votes",
}
"""What the two presets have in common."""

PRESETS: dict[PresetName, Mapping[str, Any]] = {
    "paper": {**_COMMON, "gate_gradient": "mixture"},
    "program": {
        **_COMMON,
        "gate_gradient": "hard",
        "vote_gradient": "hard",
        "vote_density": "undecided",
        "link_drawing": "repeated",
        "last_batch": "drop",
        "class_weight": "smoothed",
    },
}
"""The options of each preset, by the names of `DLNClassifier`'s parameters."""


def batch_size(n_classes: int) -> int:
    """Return the batch size of both presets: 64 rows for two classes, 128 for more."""
    return 64 if n_classes == 2 else 128


def suit_classes(parameters: T, n_classes: int) -> T:
    """Set the batch size of parameters with a preset, unless it is stated."""
    if parameters.batch_size != "auto":
        return parameters
    return replace(parameters, batch_size=batch_size(n_classes))


def preset_options(name: PresetName) -> dict[str, Any]:
    """Return the options of a preset, as parameters of `DLNClassifier`.

    Parameters
    ----------
    name : {"paper", "program"}
        The text of the paper, or the authors' program.

    Returns
    -------
    dict
        The options by name. Add or replace some, and pass them on.

    Examples
    --------
    >>> from dln import DLNClassifier, preset_options
    >>> options = preset_options("program")
    >>> options["vote_density"], options["n_links"]
    ('undecided', 8)
    >>> model = DLNClassifier(**{**options, "n_links": 16})
    """
    check_choice("preset", name, tuple(PRESETS))
    return dict(PRESETS[name])


def apply_preset(name: PresetName | None, given: dict[str, Any], table: type) -> dict[str, Any]:
    """Return the options of a preset, replaced by those given options that are not at a default."""
    if name is None:
        return given
    defaults = {option: own.default for option, own in options_of(table).items()}
    unset = {
        option: value
        for option, value in preset_options(name).items()
        if _same(given[option], defaults[option])
    }
    return {**given, **unset}


def _same(value: Any, default: Any) -> bool:
    """Return whether a value is the default; arrays and other types are not."""
    return type(value) is type(default) and bool(value == default)
