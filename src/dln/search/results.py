"""Convert trials to `cv_results_`, as in scikit-learn's searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.search.trial import Trial, rank


def make_results(trials: Sequence[Trial], n_splits: int) -> dict[str, Any]:
    """Return one entry per trial. Folds that a stopped trial did not reach are NaN.

    `mean_test_score` and `std_test_score` are computed over the folds. Ranks follow `score` and
    `estimate`; see `in_order`.
    """
    scores = np.full((len(trials), n_splits), np.nan)
    for row, trial in zip(scores, trials, strict=True):
        row[: len(trial.fold_scores)] = trial.fold_scores
    names = sorted({name for trial in trials for name in trial.params})
    return {
        "params": [dict(trial.params) for trial in trials],
        **{f"param_{name}": _column(trials, name) for name in names},
        **{f"split{fold}_test_score": scores[:, fold] for fold in range(n_splits)},
        "mean_test_score": np.nanmean(scores, axis=1),
        "std_test_score": np.nanstd(scores, axis=1),
        "score": np.array([trial.score for trial in trials]),
        "estimate": np.array([trial.estimate for trial in trials]),
        "rank_test_score": np.array(rank(trials), dtype=np.int32),
        "size": np.array([trial.size for trial in trials]),
        "stopped": np.array([trial.stopped for trial in trials]),
    }


def _column(trials: Sequence[Trial], name: str) -> NDArray[Any]:
    """Return one parameter of all trials as an array of objects (layers are tuples)."""
    column = np.empty(len(trials), dtype=object)
    for place, trial in enumerate(trials):
        column[place] = trial.params.get(name)
    return column
