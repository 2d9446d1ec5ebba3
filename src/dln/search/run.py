"""Run a search: batches of proposals -> populations of networks -> outcomes -> trials."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.search.backend import AnyTask, Backend
from dln.search.fingerprint import fingerprint_values
from dln.search.preset import Preset
from dln.search.propose import Proposer
from dln.search.scores import fold_scores, penalised_mean, standard_error
from dln.search.storage import Storage
from dln.search.tasks import Outcome
from dln.search.trial import Trial

_log = logging.getLogger("dln")

Objective = OneOf["accuracy", "pareto"]
DIRECTIONS: dict[Objective, tuple[str, ...]] = {
    "accuracy": ("maximize",),
    "pareto": ("maximize", "minimize"),
}
HOPELESS = 0.005
"""A trial is stopped if it is worse than the best by more than this plus two standard errors."""

LONE_FOLD_ERROR = 0.025
"""The standard error that is assumed after one fold."""


TaskOfFold = Callable[[int], AnyTask]
"""What a trial trains on a fold, given the number of the fold."""


@dataclass(frozen=True)
class SearchState:
    """Progress of a search.

    Attributes
    ----------
    trials
        Finished trials, in order.
    n_trials
        Total number of trials.
    done, recalled
        Fraction of the search that is done, and that was read from the storage, from 0 to 1.
    seconds
        Seconds since the search was started or resumed.
    """

    trials: tuple[Trial, ...]
    n_trials: int
    done: float
    recalled: float
    seconds: float

    @property
    def seconds_left(self) -> float | None:
        """Estimated remaining seconds; None before the first result."""
        trained = self.done - self.recalled
        return self.seconds * (1 - self.done) / trained if trained > 0 else None


class Share(NamedTuple):
    """The share of a population in its batch: some of the folds of all its trials."""

    folds: range
    n_trials: int
    n_folds: int

    def of_trials(self, done: float) -> float:
        """Return how much of the batch is done, in trials. Stopped trials count as done.

        >>> Share(range(5, 20), 8, 20).of_trials(0.0)
        2.0
        """
        return self.n_trials * (self.folds.start + done * len(self.folds)) / self.n_folds


class _Partial(NamedTuple):
    """Intermediate result of a trial: its accuracy on each fold so far, and its size."""

    scores: NDArray[np.float64]
    size: float


@dataclass
class Search:
    """A search in progress; `trials` grows batch by batch."""

    preset: Preset
    plan_of: Callable[[dict[str, Any]], TaskOfFold]
    n_folds: int
    objective: Objective
    seed: int
    n_trials: int
    batch_size: int
    backend: Backend
    storage: Storage
    report: Callable[[SearchState], None] = lambda state: None
    trials: list[Trial] = field(default_factory=list)
    _start: float = 0.0
    _recalled: float = 0.0

    def run(self, time_limit: float | None) -> None:
        """Run all batches, or those that start within the time limit in seconds."""
        self._start = start = time.monotonic()
        proposer = Proposer(self.preset, DIRECTIONS[self.objective], self.seed)
        while len(self.trials) < self.n_trials:
            if time_limit is not None and self.trials and time.monotonic() - start > time_limit:
                return
            batch = self._run_batch(proposer)
            for trial in batch:
                objectives = self._objectives(trial)
                proposer.tell(trial, objectives)
                self.storage.add(trial.number, proposer.frozen(trial, objectives))
            self.trials += batch
            best = max(trial.score for trial in self.trials)
            _log.info("%d of %d trials, best score %.4f", len(self.trials), self.n_trials, best)
            self._report(0.0)

    def _objectives(self, trial: Trial) -> list[float]:
        return [trial.score, trial.size][: len(DIRECTIONS[self.objective])]

    # -- one batch ------------------------------------------------------------------------------

    def _run_batch(self, proposer: Proposer) -> list[Trial]:
        first = len(self.trials)
        numbers = range(first, min(first + self.batch_size, self.n_trials))
        values = {number: proposer.ask(number) for number in numbers}
        params = {number: self.preset.parameters(values[number]) for number in numbers}
        plans = {number: self.plan_of(params[number]) for number in numbers}
        outcomes: dict[int, list[Outcome]] = {number: [] for number in numbers}
        going = list(numbers)
        for folds in self._rounds():
            if not going:
                break
            tasks = [plans[number](fold) for number in going for fold in folds]
            # The storage may hold outcomes of other values, if another Optuna proposed them.
            drawn = fingerprint_values([values[number] for number in going])
            name = f"trials {first} to {numbers[-1]}, folds {folds[0]} to {folds[-1]}, {drawn}"
            found = iter(self._train(name, tasks, Share(folds, len(numbers), self.n_folds)))
            for number in going:
                outcomes[number] += [next(found) for _ in folds]
            hopeless = {number for number in going if self._hopeless(outcomes, number)}
            going = [number for number in going if number not in hopeless]
        return [
            self._trial(number, params[number], values[number], outcomes[number])
            for number in numbers
        ]

    def _rounds(self) -> list[range]:
        """Return the folds of each round. After a round, trials without a chance are stopped."""
        first = self.preset.scoring.first_folds
        if not 0 < first < self.n_folds:
            return [range(self.n_folds)]
        return [range(first), range(first, self.n_folds)]

    def _train(self, population: str, tasks: Sequence[AnyTask], share: Share) -> list[Outcome]:
        known = self.storage.load(population)
        if known is not None:
            self._recalled += (share.of_trials(1.0) - share.of_trials(0.0)) / self.n_trials
            return known
        outcomes = self.backend.run(tasks, lambda done: self._report(share.of_trials(done)))
        self.storage.save(population, outcomes)
        return outcomes

    def _hopeless(self, outcomes: dict[int, list[Outcome]], number: int) -> bool:
        """Return whether a trial is clearly worse than the best one, on their common folds.

        If size matters too, it is compared only with trials that are not larger.
        """
        own = self._partial(outcomes[number])
        rivals = [self._partial(other) for other in outcomes.values()]
        rivals += [_Partial(np.array(trial.fold_scores), trial.size) for trial in self.trials]
        n_folds = len(own.scores)
        met = [
            rival.scores[:n_folds]
            for rival in rivals
            if len(rival.scores) >= n_folds
            and (self.objective == "accuracy" or rival.size <= own.size)
        ]
        gap = max(met, key=np.mean) - own.scores
        error = gap.std(ddof=1) / np.sqrt(n_folds) if n_folds > 1 else LONE_FOLD_ERROR
        return bool(gap.mean() > HOPELESS + 2 * error)

    def _partial(self, outcomes: Sequence[Outcome]) -> _Partial:
        sizes = [outcome.size for outcome in outcomes if outcome.size is not None]
        size = float(np.mean(sizes)) if sizes else float("inf")
        return _Partial(fold_scores(outcomes, self.preset.scoring.penalty), size)

    def _trial(
        self, number: int, params: dict[str, Any], values: dict[str, Any], outcomes: list[Outcome]
    ) -> Trial:
        scores, size = self._partial(outcomes)
        score = float(penalised_mean(scores, self.preset.scoring.penalty, axis=0))
        return Trial(
            number=number,
            params=params,
            values=values,
            fold_scores=tuple(scores.tolist()),
            score=score,
            estimate=score,
            standard_error=standard_error(scores),
            size=size,
            stopped=len(outcomes) < self.n_folds,
        )

    def _report(self, trials_under_way: float) -> None:
        done = (len(self.trials) + trials_under_way) / self.n_trials
        seconds = time.monotonic() - self._start
        self.report(SearchState(tuple(self.trials), self.n_trials, done, self._recalled, seconds))
