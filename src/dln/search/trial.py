"""The results of a search: trials, the Pareto front of accuracy and size, and the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

import numpy as np

from dln.errors import OptionError

Choice = OneOf["best", "small"]


@dataclass(frozen=True)
class Trial:
    """One set of parameters and its cross-validated score.

    Parameters
    ----------
    number
        Number of the trial, from 0.
    params
        Parameters of `DLNClassifier`.
    values
        Proposed values. For a search space given as a dict, the same as `params`.
    fold_scores
        Balanced accuracy on each fold that was used.
    score
        Mean of `fold_scores`; with `space="paper"`, minus 0.1 standard deviations.
    estimate
        The score, smoothed with the scores of similar trials. The best trial has the largest one.
    standard_error
        Standard error of the mean.
    size
        Gate-level operations of the circuit (`dln.cost`), measured on the first folds.
    stopped
        Whether the trial was stopped before the last fold, because it was clearly worse.
    """

    number: int
    params: Mapping[str, Any]
    values: Mapping[str, Any]
    fold_scores: tuple[float, ...]
    score: float
    estimate: float
    standard_error: float
    size: float
    stopped: bool


def find_front(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the Pareto front: trials that no other trial beats in both score and size.

    The smallest comes first. Trials that were stopped early are left out.

    >>> trial = Trial(0, {}, {}, (0.8,), 0.8, 0.8, 0.0, 50.0, False)
    >>> from dataclasses import replace
    >>> larger = replace(trial, number=1, size=60.0)
    >>> [found.number for found in find_front([larger, trial])]
    [0]
    """
    front: list[Trial] = []
    whole = [trial for trial in trials if not trial.stopped]
    for trial in sorted(whole, key=lambda trial: (trial.size, -trial.score, trial.number)):
        if not front or trial.score > front[-1].score:
            front.append(trial)
    return tuple(front)


def find_best(trials: Sequence[Trial]) -> Trial:
    """Return the best trial; see `in_order`."""
    if all(trial.stopped for trial in trials):
        raise OptionError("no trial was finished; raise the time limit")
    return in_order(trials)[0]


def in_order(trials: Sequence[Trial]) -> list[Trial]:
    """Sort trials, best first.

    Trials within one standard error of the highest score come first, then the others, then those
    that were stopped early. Each group is sorted by estimate; of equal trials the smaller is first.
    """
    whole = [trial for trial in trials if not trial.stopped]
    top = max(whole, key=lambda trial: trial.score, default=None)
    enough = top.score - top.standard_error if top is not None else 0.0

    def place(trial: Trial) -> tuple[bool, bool, float, float, int]:
        behind = trial.score < enough
        return trial.stopped, behind, -trial.estimate, trial.size, trial.number

    return sorted(trials, key=place)


def find_small(trials: Sequence[Trial]) -> Trial:
    """Return the smallest trial whose score is within one standard error of the best estimate.

    Its score counts, not its estimate: larger neighbours would make small circuits look better.
    """
    best = find_best(trials)
    enough = best.estimate - best.standard_error
    good = [trial for trial in find_front(trials) if trial.score >= enough]
    return min([*good, best], key=lambda trial: trial.size)


CHOICES = {"best": find_best, "small": find_small}


def rank(trials: Sequence[Trial]) -> list[int]:
    """Rank trials from 1 (the best). Trials that were stopped early come last."""
    ranks = np.empty(len(trials), dtype=np.int64)
    ranks[[trial.number for trial in in_order(trials)]] = np.arange(1, len(trials) + 1)
    return [int(place) for place in ranks]
