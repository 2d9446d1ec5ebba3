"""What a search has found: trials as records, the front of accuracy against size, choices."""

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
    """One set of parameters, judged on the folds.

    Parameters
    ----------
    number
        Its place in the search, from 0.
    params
        Parameters of `DLNClassifier`.
    values
        What was proposed; for a space of your own the same as in `params`.
    fold_scores
        Balanced accuracy on each fold that it was trained on.
    score
        Their mean, in the paper's space less 0.1 standard deviations.
    estimate
        What the best trial is chosen by: the score, with the noise that similar trials show taken
        out.
    standard_error
        Of the mean.
    size
        Gate-level operations of its circuit (`dln.cost`), measured on the first fold.
    stopped
        Whether it was given up before the last fold, as hopeless.
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
    """Find the trials that no other beats: none is as good and smaller, or better and no larger.

    They come smallest first. Trials that were given up early are left out.

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
    """Find the best trial; see `in_order`."""
    if all(trial.stopped for trial in trials):
        raise OptionError("no trial was finished, so that there is nothing to choose from")
    return in_order(trials)[0]


def in_order(trials: Sequence[Trial]) -> list[Trial]:
    """Put the best first: those within one standard error of the highest score, by their estimates.

    The others follow, by their estimates too, and then those given up early. Of equal ones the
    smaller comes first.
    """
    whole = [trial for trial in trials if not trial.stopped]
    top = max(whole, key=lambda trial: trial.score, default=None)
    enough = top.score - top.standard_error if top is not None else 0.0

    def place(trial: Trial) -> tuple[bool, bool, float, float, int]:
        behind = trial.score < enough
        return trial.stopped, behind, -trial.estimate, trial.size, trial.number

    return sorted(trials, key=place)


def find_small(trials: Sequence[Trial]) -> Trial:
    """Find the smallest trial whose score is within one standard error of the best's estimate.

    Its own score decides: neighbours say little about how far down a circuit can be made smaller.
    """
    best = find_best(trials)
    enough = best.estimate - best.standard_error
    good = [trial for trial in find_front(trials) if trial.score >= enough]
    return min([*good, best], key=lambda trial: trial.size)


CHOICES = {"best": find_best, "small": find_small}


def rank(trials: Sequence[Trial]) -> list[int]:
    """Rank trials from 1, the best; those given up early come after all others."""
    ranks = np.empty(len(trials), dtype=np.int64)
    ranks[[trial.number for trial in in_order(trials)]] = np.arange(1, len(trials) + 1)
    return [int(place) for place in ranks]
