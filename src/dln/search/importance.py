"""Importance of each parameter in a search."""

from __future__ import annotations

from collections.abc import Sequence

from dln.search.propose import quiet
from dln.search.space import Space, free_part, import_optuna, to_optuna, to_proposal
from dln.search.trial import Trial


def find_importance(trials: Sequence[Trial], space: Space) -> dict[str, float]:
    """Return the share of the variance of scores that each parameter explains, largest first.

    Shares add up to 1 and come from Optuna's functional analysis of variance. With fewer than two
    trials, or if all scores are equal, all shares are 0.
    """
    optuna = import_optuna()
    free = free_part(space)
    if len({trial.score for trial in trials}) < 2 or not free:
        return dict.fromkeys(free, 0.0)
    distributions = {name: to_optuna(choices) for name, choices in free.items()}
    with quiet(optuna):
        study = optuna.create_study(direction="maximize")
        for trial in trials:
            params = {
                name: to_proposal(choices, trial.values[name]) for name, choices in free.items()
            }
            study.add_trial(
                optuna.trial.create_trial(
                    params=params, distributions=distributions, value=trial.score
                )
            )
        evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(part) for name, part in found.items()}
