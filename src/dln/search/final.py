"""The paper's final fit: hold rows back, and keep the epoch that is best on both parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dln.search.folds import Fold
from dln.search.tasks import encode_fold
from dln.train.fit import FitPlan, Problem
from dln.train.jobs import Engine, Job

LOOK_EVERY = 10
"""Epochs between two looks at both parts."""

HELD_BACK = 0.2
"""The part of the rows held back."""


def find_best_epoch(
    problem: Problem, fold: Fold, plan: FitPlan, *, engine: Engine, seed: int, n_threads: int
) -> int:
    """Give the epochs after which a fit on `fold.train` is best on both parts of the fold.

    Best is the largest sum of balanced accuracies on training and validation rows; a later epoch
    wins a tie. The network trained is the one that `DLNClassifier` trains with this seed on these
    rows, so with a constant learning rate a fit of so many epochs ends exactly there.
    """
    recipe = plan.candidates.usual
    rows = encode_fold(problem, fold, plan.encode)
    start = int(np.random.default_rng(seed).integers(2**63))
    options = replace(recipe.options, seed=start, eval_every=LOOK_EVERY)
    jobs = [
        Job(
            recipe.draw_network(rows.encoder.literals, rows.n_classes, start),
            rows.data,
            fold.train,
            options,
            valid_rows=looked_at,
        )
        for looked_at in (fold.train, fold.valid)
    ]
    trained = engine(jobs, n_threads=n_threads)
    total = np.sum([result.history[:, 2] for result in trained], axis=0)
    looks = np.flatnonzero(~np.isnan(total))
    return int(looks[::-1][total[looks][::-1].argmax()]) + 1
