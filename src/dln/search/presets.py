"""Named searches: what is tried, how it is judged and how the final fit is made.

"paper" is the paper's own search; "default" starts from what `DLNClassifier` would compare by
itself and goes on from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.errors import OptionError
from dln.search.folds import Fold, paper_folds, repeated_folds
from dln.search.space import Between, Space, check_space, fixed_part
from dln.table import RawColumn
from dln.train.fit import Problem
from dln.train.network import layer_sizes
from dln.train.recipe import MAX_WIDTH, usual_taus, usual_widths, widen

MakeFolds = Callable[[NDArray[np.int32], int], list[Fold]]
SpaceName = OneOf["default", "paper"]
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Judging:
    """How trials are compared.

    Attributes
    ----------
    make_folds
        Splits rows, given the classes of all rows and a seed.
    penalty
        Standard deviations over the folds that a score is lowered by.
    eval_every, patience
        Epochs between two looks at the validation rows, and without a better one before a fold
        stops; 0 looks once, at the end.
    max_rows, epochs_part, max_networks
        Trials see at most so many rows, train for this part of their epochs, and of networks that
        vote together at most so many: enough to tell them apart.
    first_folds
        Folds after which a hopeless trial is given up; 0 never gives up.
    smoothed
        Whether trials are chosen by their scores with the noise taken out.
    """

    make_folds: MakeFolds
    penalty: float = 0.0
    eval_every: int = 0
    patience: int = 0
    max_rows: int = 10**12
    epochs_part: float = 1.0
    max_networks: int = 10**12
    first_folds: int = 0
    smoothed: bool = True


@dataclass(frozen=True)
class Preset:
    """A search for tables of one size.

    Attributes
    ----------
    space
        What is chosen; names are those of `DLNClassifier`, but for those that `translate` knows.
    translate
        Turns values of the space into parameters of `DLNClassifier`.
    first
        What is tried first.
    """

    space: Space
    judging: Judging
    translate: Callable[[Values], dict[str, Any]] = dict
    first: tuple[dict[str, Any], ...] = ()

    def parameters(self, values: Values) -> dict[str, Any]:
        """Give the parameters of `DLNClassifier` for chosen values.

        A trial is one recipe: where the classifier would compare some by itself, it must not.
        """
        params = self.translate({**fixed_part(self.space), **values})
        if "auto" in (params.get("layers", "auto"), params.get("tau", "auto")):
            params["selection_fits"] = 0
        return params


def find_preset(space: Any, problem: Problem) -> Preset:
    """Find a preset by its name, or make one of a user's space."""
    if isinstance(space, str):
        if space not in _PRESETS:
            raise OptionError(
                f'space is {space!r}, expected "default", "paper" or a dict of parameters'
            )
        return _PRESETS[space](problem)
    check_space(space)
    return Preset(dict(space), _judging(problem))


# -- our own ----------------------------------------------------------------------------------


def _judging(problem: Problem) -> Judging:
    """Judge by many folds where rows are few: a difference must not be noise.

    Many rows are sampled, but for many classes not as strongly: with few rows of each class wide
    networks look no better than others, and are (`benchmarks/large_choice.py`).
    """
    n_rows, n_classes = len(problem.target), len(problem.classes)
    if n_rows < 1_000:
        return Judging(_repeated(20), first_folds=5)
    if n_rows < 4_000:
        return Judging(_repeated(5), first_folds=2)
    max_rows = max(6_000, 500 * n_classes)
    return Judging(_repeated(3), first_folds=1, max_rows=max_rows, epochs_part=0.5)


def _repeated(n_fits: int) -> MakeFolds:
    return lambda target, seed: repeated_folds(target, n_fits, seed)


def _starts(n_layers: int, *points: tuple[int, float], **others: Any) -> tuple[dict[str, Any], ...]:
    """Make starts of widths and temperatures, and of other values that they share."""
    return tuple(
        {"n_layers": n_layers, "width": width, "tau": tau, **others} for width, tau in points
    )


_MAX_WIDTH = 2 * MAX_WIDTH
"""A search may go further than `DLNClassifier` does unasked: Letter, of 26 classes, gains by it."""

_USUAL = {
    "n_layers": 2,
    "n_links": 16,
    "n_cutoffs": 6,
    "learning_rate": 0.05,
    "slope": 20.0,
    "phases": "batches",
}
# One layer has twice the rules of two: it does well with a higher temperature, and costs little.
_FLAT = _starts(1, (64, 4.0), (64, 8.0), (64, 16.0), (64, 32.0))
_FLAT_AND_WIDE = _starts(1, (200, 4.0), (200, 8.0), (600, 8.0), (600, 16.0))
_WIDE = _starts(2, (600, 8.0), (600, 16.0))
# More links and cutoffs to choose from: for Letter another point, for most tables no loss.
_FINE = _starts(1, (600, 8.0), n_links=32, n_cutoffs=12) + _starts(
    1, (600, 8.0), n_links=32, n_cutoffs=12, phases="unified"
)
# Single networks, for small circuits.
_SMALL = _starts(2, (8, 2.0), (16, 2.0), (32, 4.0)) + _starts(1, (8, 2.0), (16, 4.0))


@dataclass(frozen=True)
class _Scale:
    """What suits tables of some size: how many networks vote together, and further starts."""

    n_networks: int
    together: tuple[dict[str, Any], ...]


_FEW_ROWS = _Scale(15, _FLAT)
_MANY_ROWS = _Scale(9, _FLAT_AND_WIDE + _WIDE + _FINE)
_MAX_JUDGED = 3
"""Networks that a trial is judged by. More vote better, whatever the other parameters are: on nine
small tables 15 are 0.34 points above 3, with a standard error of 0.13 (validation rows,
`benchmarks/networks_choice.py`)."""


def _default(problem: Problem) -> Preset:
    n_rows, n_classes = len(problem.target), len(problem.classes)
    widths, taus = usual_widths(n_rows), usual_taus(n_rows)
    scale = _FEW_ROWS if n_rows < 4_000 else _MANY_ROWS
    grid = [{"width": width, "tau": tau} for width in widths for tau in taus]
    together = {**_USUAL, "n_networks": scale.n_networks}
    first = [{**together, **start} for start in (*grid, *scale.together)]
    first += [{**_USUAL, "n_networks": 1, **start} for start in _SMALL]
    return Preset(
        space={
            "width": Between(4, 2 * max(widths), log=True),
            "tau": Between(1.0, 64.0, log=True),
            "n_layers": [1, 2],
            "n_networks": [1, scale.n_networks],
            "n_links": [8, 16, 32],
            "n_cutoffs": [3, 6, 12, 24],
            "learning_rate": Between(0.02, 0.15, log=True),
            "slope": Between(8.0, 50.0, log=True),
            "phases": ["batches", "unified"],
        },
        judging=replace(_judging(problem), max_networks=_MAX_JUDGED),
        translate=lambda values: _one_or_two_layers(values, n_classes),
        first=tuple(first),
    )


def _one_or_two_layers(values: Values, n_classes: int) -> dict[str, Any]:
    """Make the layers, wider for more classes; a second one is half as wide as the first."""
    own = ("width", "n_layers")
    first = min(_MAX_WIDTH, widen(values["width"], n_classes))
    layers = (first, math.ceil(first / 2))[: values["n_layers"]]
    # Every class needs a rule to vote for it.
    layers = (*layers[:-1], max(n_classes, layers[-1]))
    return {"layers": layers, **{name: v for name, v in values.items() if name not in own}}


# -- the paper's ------------------------------------------------------------------------------


def _paper(problem: Problem) -> Preset:
    n_classes = len(problem.classes)
    low, high = _paper_widths(problem)
    return Preset(
        space={
            "learning_rate": Between(0.01, 0.3, log=True),
            "n_layers": Between(2, 5),
            "ratio": Between(0.25, 1.0, log=True),
            "n_cutoffs": [4, 6],
            "tau": Between(1.0, 30.0, log=True),
            "grad_factor": Between(1.0, 2.0),
            "first": Between(low, high),
            "epochs": 1_000,
            "batch_size": 64 if n_classes == 2 else 128,
            "n_networks": 1,
            "n_links": 8,
            "n_gates": 8,
            "concatenation": "separate",
            "scaling": "range",
            "slope": 2.0,
            "threshold_rate": 1.0,
            "final_rate": 1.0,
            "phases": "epochs",
            "gate_gradient": "mixture",
        },
        judging=Judging(paper_folds, penalty=0.1, eval_every=20, patience=200, smoothed=False),
        translate=lambda values: _paper_layers(values, n_classes),
    )


def _paper_layers(values: Values, n_classes: int) -> dict[str, Any]:
    own = ("first", "ratio", "n_layers")
    layers = layer_sizes(values["first"], values["ratio"], values["n_layers"], n_classes)
    others = {name: value for name, value in values.items() if name not in own}
    return {"layers": layers, **others}


def _paper_widths(problem: Problem) -> tuple[int, int]:
    """Give the smallest and largest first layer: d, 2d and a third that depends on the rows."""
    d = sum(_paper_inputs(problem.table.read(i)) for i in range(problem.table.n_columns))
    third = min(len(problem.target) // (2 * (d + len(problem.classes))), 3 * d)
    if third < d / 2 or third in (d, 2 * d):
        third = d // 2
    widths = (d, 2 * d, max(1, third))
    return min(widths), max(widths)


def _paper_inputs(raw: RawColumn) -> int:
    """Count the inputs of a column: four cutoffs, or one-hot with the first category dropped."""
    if raw.kind == "category":
        return max(1, len({cell for cell in raw.values if cell is not None}) - 1)
    return 1 if raw.kind == "boolean" else 4


_PRESETS: dict[str, Callable[[Problem], Preset]] = {"default": _default, "paper": _paper}
