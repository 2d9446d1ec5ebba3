"""Optuna's proposals, computed from the trials so far.

Promise: the proposal for a trial depends only on the seed, its number and the earlier trials. So a
search that was stopped continues as if it had not been stopped.
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
    """Asks Optuna for batches of trials and passes their results to it.

    `directions` are those of Optuna, one for each objective.
    """

    def __init__(self, preset: Preset, directions: Sequence[str], seed: int) -> None:
        self._optuna = import_optuna()
        self._preset, self._seed = preset, seed
        self._free = free_part(preset.space)
        self._distributions = {name: to_optuna(choices) for name, choices in self._free.items()}
        self._asked: dict[int, Any] = {}
        with quiet(self._optuna):
            self._study = self._optuna.create_study(directions=list(directions))

    def ask(self, number: int) -> dict[str, Any]:
        """Propose the values of the next trial."""
        with quiet(self._optuna):
            # A new sampler for each trial, so that there is no hidden state to restore.
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
        """Pass the result of a trial to Optuna."""
        with quiet(self._optuna):
            self._study.tell(self._asked.pop(trial.number), list(objectives))

    def proposal(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Convert values to Optuna's form."""
        return {name: to_proposal(choices, values[name]) for name, choices in self._free.items()}

    def frozen(self, trial: Trial, objectives: Sequence[float]) -> Any:
        """Convert a finished trial to Optuna's record, for its storages and plots."""
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
    """Silence Optuna's log, and its warnings about what is done here on purpose."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
