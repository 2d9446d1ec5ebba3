"""Search with Optuna in batches of trials that train together."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import optuna

Params = Mapping[str, Any]


def propose_in_batches(
    suggest: Callable[[Any], None],
    evaluate: Callable[[list[Params]], list[float]],
    *,
    n_trials: int,
    batch: int,
    seed: int,
) -> tuple[Params, float]:
    """Search with Optuna's TPE sampler; return the best parameters and score."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    while (n_left := n_trials - len(study.trials)) > 0:
        trials = [study.ask() for _ in range(min(batch, n_left))]
        for trial in trials:
            suggest(trial)
        for trial, score in zip(trials, evaluate([t.params for t in trials]), strict=True):
            study.tell(trial, score)
    return study.best_params, study.best_value
