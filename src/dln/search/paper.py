"""The paper's search: its space, folds, budget, score and final fit.

The options that the search does not vary are those of a preset: "paper" or "program"
(`dln.estimators.presets`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from dln.data.table import RawColumn
from dln.estimators.presets import PRESETS, batch_size
from dln.search.final import FinalFit, fit_all_rows, fit_best_epoch
from dln.search.folds import Fold, count_rarest, split_rows
from dln.search.preset import Preset, Values
from dln.search.scores import penalised_mean
from dln.search.scoring import Scoring
from dln.search.space import Between
from dln.train.network import layer_sizes
from dln.train.problem import Problem

EVAL_EVERY = 20
"""Epochs between two evaluations on the validation rows of a fold."""

PATIENCE = 200
"""Training on a fold stops after this number of epochs without improvement."""

PENALTY = 0.1
"""The score of a trial is the mean minus this factor times the standard deviation over folds."""

HELD_BACK = 0.2
"""Fraction of the rows that is used to choose the epoch of the final fit."""

FINAL_EVAL_EVERY = 10
"""Epochs between two evaluations on both parts of the rows in the final fit."""


def score_trials(accuracies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Score trials by their accuracies: (..., folds) -> (...).

    >>> score_trials(np.array([[0.5, 0.7], [0.6, 0.6]])).round(2).tolist()
    [0.59, 0.6]
    """
    return penalised_mean(accuracies, PENALTY, axis=-1)


def paper_folds(target: NDArray[np.int32], seed: int) -> list[Fold]:
    """Split rows: one part of 20 % from 5000 rows, 3 folds from 2000, else 4.

    >>> len(paper_folds(np.arange(2000, dtype=np.int32) % 2, seed=0))
    3
    """
    n_rows = len(target)
    if n_rows >= 5_000:
        return split_rows(StratifiedShuffleSplit(1, test_size=0.2, random_state=seed), target)
    n_folds = min(3 if n_rows >= 2_000 else 4, count_rarest(target))
    return split_rows(StratifiedKFold(n_folds, shuffle=True, random_state=seed), target)


def paper_preset(problem: Problem) -> Preset:
    """Return the search with the text of the paper, for a table."""
    return _preset(
        problem,
        {name: PRESETS["paper"][name] for name in PRESETS["paper"] if name not in _REPLACED},
        partial(fit_best_epoch, held_back=HELD_BACK, eval_every=FINAL_EVAL_EVERY),
    )


def program_preset(problem: Problem) -> Preset:
    """Return the search of the authors' program, for a table."""
    fixed = {name: x for name, x in PRESETS["program"].items() if name != "class_weight"}
    return _preset(problem, fixed, fit_all_rows)


_REPLACED = ("validation_fraction", "validation_every", "validation_score", "selection_fits")
"""Options that `fit_best_epoch` replaces: it fits the trees without the rows that it looks at."""


def preset_class_weight(space: Any, class_weight: Any) -> Any:
    """Return the class weight of a search: that of its preset, unless the user states another."""
    if isinstance(space, str) and isinstance(class_weight, str) and class_weight == "balanced":
        preset: Mapping[str, Any] = dict(PRESETS).get(space, {})  # type: ignore[call-overload]
        return preset.get("class_weight", class_weight)
    return class_weight


def _preset(problem: Problem, fixed: Mapping[str, Any], final: FinalFit) -> Preset:
    n_classes = len(problem.classes)
    low, high = _first_layers(problem)
    return Preset(
        # The order of what is searched matters, because Optuna draws in it.
        space={
            "learning_rate": Between(0.01, 0.3, log=True),
            "n_layers": Between(2, 5),
            "ratio": Between(0.25, 1.0, log=True),
            "n_cutoffs": [4, 6],
            "tau": Between(1.0, 30.0, log=True),
            "grad_factor": Between(1.0, 2.0),
            "first": Between(low, high),
            "batch_size": batch_size(n_classes),
            **{name: value for name, value in fixed.items() if name != "n_cutoffs"},
        },
        scoring=Scoring(
            paper_folds,
            penalty=PENALTY,
            eval_every=EVAL_EVERY,
            patience=PATIENCE,
            smoothed=False,
        ),
        translate=lambda values: _translate(values, n_classes),
        final=final,
    )


def _translate(values: Values, n_classes: int) -> dict[str, Any]:
    """Compute the layers from the width of the first, the ratio and the number of layers."""
    own = ("first", "ratio", "n_layers")
    layers = layer_sizes(values["first"], values["ratio"], values["n_layers"], n_classes)
    others = {name: value for name, value in values.items() if name not in own}
    return {"layers": layers, **others}


def _first_layers(problem: Problem) -> tuple[int, int]:
    """Return the smallest and largest first layer: d, 2d and a third that depends on the rows."""
    d = sum(_count_inputs(problem.table.read(i)) for i in range(problem.table.n_columns))
    third = min(len(problem.target) // (2 * (d + len(problem.classes))), 3 * d)
    if third < d / 2 or third in (d, 2 * d):
        third = d // 2
    widths = (d, 2 * d, max(1, third))
    return min(widths), max(widths)


def _count_inputs(raw: RawColumn) -> int:
    """Count the inputs of a column: four cutoffs, or one-hot with the first category dropped."""
    if raw.kind == "category":
        return max(1, len({cell for cell in raw.values if cell is not None}) - 1)
    return 1 if raw.kind == "boolean" else 4
