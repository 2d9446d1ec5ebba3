"""Optuna's proposals, made anew from the trials so far.

Promise: what is proposed for a trial depends on the seed, its number and the trials before it
alone, so a search that was stopped goes on as if it had not been.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dln.search.preset import Preset
from dln.search.space import free_part, from_optuna, import_optuna, to_optuna, to_proposal
from dln.search.trial import Trial


class Proposer:
    """Asks Optuna for batches of trials, and tells it how they went.

    `directions` are Optuna's, one for each objective.
    """

    def __init__(self, preset: Preset, directions: Sequence[str], seed: int) -> None:
        self._optuna = import_optuna()
        self._preset, self._seed = preset, seed
        self._free = free_part(preset.space)
        self._distributions = {name: to_optuna(wish) for name, wish in self._free.items()}
        self._asked: dict[int, Any] = {}
        with quiet(self._optuna):
            self._study = self._optuna.create_study(directions=list(directions))

    def ask(self, number: int) -> dict[str, Any]:
        """Propose the values of the next trial."""
        with quiet(self._optuna):
            # A sampler of its own for every trial: no hidden state to restore after a stop.
            self._study.sampler = self._optuna.samplers.TPESampler(
                seed=int(np.random.default_rng([self._seed, number]).integers(2**31)),
                multivariate=True,
                constant_liar=True,
            )
            if number < len(self._preset.first):
                self._study.enqueue_trial(self.proposal(self._preset.first[number]))
            trial = self._study.ask(self._distributions)
        self._asked[number] = trial
        return {name: from_optuna(self._free[name], trial.params[name]) for name in self._free}

    def tell(self, trial: Trial, objectives: Sequence[float]) -> None:
        """Tell how a trial went."""
        with quiet(self._optuna):
            self._study.tell(self._asked.pop(trial.number), list(objectives))

    def proposal(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Write values the way Optuna does."""
        return {name: to_proposal(wish, values[name]) for name, wish in self._free.items()}

    def frozen(self, trial: Trial, objectives: Sequence[float]) -> Any:
        """Write a finished trial as Optuna's record, for its storages and pictures."""
        return self._optuna.trial.create_trial(
            params=self.proposal(trial.values),
            distributions=self._distributions,
            values=list(objectives),
            user_attrs={
                "params": {name: repr(value) for name, value in trial.params.items()},
                "fold_scores": list(trial.fold_scores),
                "size": trial.size,
                "stopped": trial.stopped,
            },
        )


@contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Keep Optuna from writing to standard error, and from warning of what is meant."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
