"""`DLNRegressorSearchCV`: hyperparameter search for a target of numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from dln.errors import OptionError, TableError
from dln.estimators.parameters import NumberParameters
from dln.estimators.plan import (
    budget_of,
    constraints_of,
    plan_number_fit,
    read_number_parameters,
)
from dln.estimators.reading import read_number_problem
from dln.estimators.regressor import DLNRegressor
from dln.search.backend import BackendName
from dln.search.base import AnyProblem, CircuitSearch, Reading
from dln.search.budget_tasks import NumberBudget, make_budget_task
from dln.search.folds import Fold, number_folds
from dln.search.number_preset import NumberSpaceName, find_number_preset
from dln.search.number_tasks import NumberTask
from dln.search.preset import Preset
from dln.search.run import Objective, SearchState, TaskOfFold
from dln.search.scoring import Scoring
from dln.search.trial import Choice
from dln.shrink.simplify.simplify import Effort
from dln.train.engines import EngineName
from dln.train.jobs import OnInterrupt
from dln.train.number_loss import LossName, NumberLoss
from dln.train.problem import NumberProblem


class DLNRegressorSearchCV(RegressorMixin, CircuitSearch):  # type: ignore[misc]
    """Hyperparameter search for `DLNRegressor` by cross-validation.

    It works like `DLNSearchCV`: Optuna proposes batches of trials, and the result depends on the
    data and the parameters only. A trial is a complete fit of `DLNRegressor` on the training rows
    of each fold. Its score is R² on the validation rows, or D² for another loss than "squared": the
    share of the loss of the best constant that the model removes.

    Parameters
    ----------
    loss, quantile
        See `DLNRegressor`. A search has one quantile level.
    space : "default" or dict, default="default"
        The search space. "default" varies the effort, the number of trees and networks, and starts
        with the default of `DLNRegressor`. A dict maps parameters of `DLNRegressor` to a `Between`,
        a list of values, or a fixed value.
    fixed : dict or None, default=None
        Parameters of `DLNRegressor` that every trial has, instead of those of the space. Limits
        such as {"max_rules": 8} work as in `DLNSearchCV`.
    n_trials, objective, refit, cv, batch_size
        See `DLNSearchCV`. objective="accuracy" maximises the score.
    engine, device, simplify
        See `DLNRegressor`.
    backend, storage, time_limit, callback
        See `DLNSearchCV`.
    random_state, n_jobs, verbose, on_interrupt
        See `DLNRegressor`. Ctrl-C stops the search. With `on_interrupt="keep"` the best trial so
        far is fitted.

    Attributes
    ----------
    best_estimator_ : DLNRegressor
        The regressor fitted with the chosen parameters. Not available if `refit=False`.
    best_params_, best_score_, best_index_, small_index_, cv_results_, trials_, pareto_, space_
        See `DLNSearchCV`.
    n_splits_, seed_, search_time_, refit_time_, n_features_in_, feature_names_in_
        See `DLNSearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> space = {"n_trees": [0, 10], "layers": (8,), "n_networks": 1, "epochs": 10}
    >>> search = DLNRegressorSearchCV(space=space, n_trials=2, cv=3, random_state=0).fit(X, y)
    >>> search.best_score_ > 0.3
    True
    """

    parameters = NumberParameters
    model_class = DLNRegressor

    loss: LossName
    quantile: float

    def __init__(
        self,
        *,
        loss: LossName = "squared",
        quantile: float = 0.5,
        space: NumberSpaceName | Mapping[str, Any] = "default",
        fixed: Mapping[str, Any] | None = None,
        n_trials: int = 32,
        objective: Objective = "accuracy",
        refit: Choice | bool = "best",
        cv: Any = "auto",
        batch_size: int = 8,
        engine: EngineName = "native",
        device: str = "cpu",
        simplify: Effort | None = "quick",
        backend: BackendName = "local",
        storage: str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callable[[SearchState], None] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self._store(locals())

    # -- searching --------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        exposure: Any = None,
    ) -> DLNRegressorSearchCV:
        """Search for the best parameters and fit a regressor with them on all rows.

        Parameters
        ----------
        X, y, sample_weight
            See `DLNRegressor.fit`.
        groups
            Rows that belong together have the same value. Folds do not separate them: neither those
            of the search nor those inside a fit. A `cv` that is a splitter gets them too.
        exposure
            See `DLNRegressor.fit`. Trials are scored on rates, weighted as in the fit.

        Returns
        -------
        self : DLNRegressorSearchCV
        """
        self._run(X, y, sample_weight, groups, exposure)
        return self

    def fit_trial(
        self,
        number: int,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        exposure: Any = None,
    ) -> DLNRegressor:
        """Fit a regressor with the parameters of one trial, for example one of `pareto_`.

        Parameters
        ----------
        number
            Number of the trial, from 0.
        X, y, sample_weight, groups, exposure
            The same as in `fit`.

        Returns
        -------
        DLNRegressor
        """
        model: DLNRegressor = self._unfitted(number)
        return model.fit(X, y, sample_weight, groups, exposure)

    @property
    def measure(self) -> str:
        """Name of the score."""
        return NumberLoss(self.loss).measure

    def _read(self, X: Any, y: Any, *rows: Any) -> Reading:
        (loss,) = read_number_parameters(DLNRegressor(loss=self.loss, quantile=self._level)).losses
        sample_weight, groups, exposure = rows
        problem = read_number_problem(self, X, y, sample_weight, loss.name, groups, exposure)
        return Reading(problem, {})

    @property
    def _level(self) -> float:
        if not isinstance(self.quantile, (float, np.floating)):
            raise OptionError(
                f"quantile is {self.quantile!r}, expected one number between 0 and 1: a search "
                "chooses parameters for one level"
            )
        return float(self.quantile)

    def _own_settings(self) -> dict[str, Any]:
        return {"loss": self.loss, "quantile": self._level}

    def _find_preset(self, problem: NumberProblem) -> Preset:
        return find_number_preset(self.space, problem, self._fixed())

    def _plan(
        self, params: Mapping[str, Any], problem: NumberProblem, scoring: Scoring
    ) -> TaskOfFold:
        parameters = read_number_parameters(self._make_model(params))
        (loss,) = parameters.losses
        budget = budget_of(parameters)
        if budget.is_limited:
            budget.check_columns(problem.table.column_names())
            limited = NumberBudget(budget, loss, constraints_of(parameters, problem))
            return lambda fold: make_budget_task(limited, fold, self.seed_)
        plan = plan_number_fit(parameters, loss, problem)
        return lambda fold: NumberTask(fold, plan, self.seed_)

    def _draw_sample(self, problem: NumberProblem, n_rows: int) -> NDArray[np.int64]:
        rng = np.random.default_rng(self.seed_)
        return np.sort(rng.permutation(len(problem.target))[:n_rows])

    def _folds(
        self, read: AnyProblem, sample: AnyProblem, scoring: Scoring, groups: Any
    ) -> list[Fold]:
        folds = super()._folds(read, sample, scoring, groups)
        if any(np.ptp(sample.target[fold.train]) == 0 for fold in folds):
            raise TableError(
                "all training rows of a fold have the same target, so nothing can be learned; use "
                "fewer folds, or more rows"
            )
        return folds

    def _make_folds(self, problem: NumberProblem, scoring: Scoring) -> list[Fold]:
        found = scoring.make_folds(problem.target, self.seed_)
        if problem.groups is None:
            return found
        n_folds = min(len(found), len(np.unique(problem.groups)))
        return self._count_folds(problem, n_folds)

    def _count_folds(self, problem: NumberProblem, n_folds: int) -> list[Fold]:
        return number_folds(problem.target, n_folds, self.seed_, problem.groups)

    def _own_parameters(self) -> dict[str, Any]:
        return {"loss": self.loss, "quantile": self.quantile}

    # -- prediction -------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the prediction of each row."""
        predicted: NDArray[np.float64] = self._fitted().predict(X)
        return predicted
