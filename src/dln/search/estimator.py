"""`DLNSearchCV`: hyperparameter search as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import balanced_accuracy_score

from dln.data.target import ClassWeight
from dln.errors import TableError
from dln.estimators.classifier import DLNClassifier
from dln.estimators.parameters import Parameters
from dln.estimators.plan import (
    budget_of,
    constraints_of,
    goal_of,
    plan_fit,
    read_parameters,
)
from dln.estimators.reading import read_problem
from dln.search.backend import BackendName
from dln.search.base import CircuitSearch, Reading
from dln.search.budget_tasks import ClassBudget, make_budget_task
from dln.search.final import FinalFit
from dln.search.folds import Fold, count_folds, group_folds, sample_rows
from dln.search.paper import preset_class_weight
from dln.search.preset import Preset
from dln.search.presets import SpaceName, find_preset
from dln.search.run import Objective, SearchState, TaskOfFold
from dln.search.scores import ACCURACY
from dln.search.scoring import Scoring
from dln.search.tasks import make_task
from dln.search.trial import Choice
from dln.shrink.simplify.simplify import Effort
from dln.train.engines import EngineName
from dln.train.folds import N_FOLDS
from dln.train.jobs import OnInterrupt
from dln.train.problem import Problem


class DLNSearchCV(ClassifierMixin, CircuitSearch):  # type: ignore[misc]
    """Hyperparameter search for `DLNClassifier` by cross-validation.

    Optuna proposes batches of trials. All trials and folds of a batch are trained in parallel. The
    best trial is then fitted on all rows. The result depends on the data and the parameters only:
    the number of threads, the backend, and stopping and resuming do not change it.

    Parameters
    ----------
    space : {"default", "paper", "program"} or dict, default="default"
        The search space. "default" starts with the settings that `DLNClassifier` compares itself.
        "paper" and "program" are the search of the paper, with the options of that preset: the
        text of the paper, or the authors' program. A dict maps parameters of `DLNClassifier` to a
        `Between`, a list of values, or a fixed value.
    fixed : dict or None, default=None
        Parameters of `DLNClassifier` that every trial has, instead of those of the space. With a
        limit such as {"max_rules": 8}, every trial keeps it and trains no network. The default
        space then has the lengths of rules and the number of literals, each tried once.
    n_trials : int, default=32
        Number of parameter settings that are tried.
    objective : {"accuracy", "pareto"}, default="accuracy"
        "accuracy" maximises the score. "pareto" also minimises the size of the circuit; see
        `pareto_`.
    refit : {"best", "small"} or bool, default="best"
        The trial that is fitted on all rows: the best one (True means the same), or the smallest
        within one standard error of the best. False fits none.
    cv : "auto", int, cross-validation splitter or iterable of splits, default="auto"
        The folds that trials are scored on. "auto" uses more folds for smaller tables. To resume
        a search, a splitter that shuffles must have a fixed `random_state`.
    batch_size : int, default=8
        Number of trials that are proposed at a time. In small batches, later trials learn more
        from earlier ones; large batches keep more cores busy.
    class_weight, engine, device, simplify
        See `DLNClassifier`. With space="program", "balanced" means "smoothed".
    backend : {"local", "ray"}, default="local"
        Train on this machine or on a Ray cluster. "ray" requires the package ray.
    storage : str, path-like or None, default=None
        File in which finished trials are stored, or the URL of a database that Optuna supports.
        Another fit with the same data and parameters continues where the search stopped.
    time_limit : float or None, default=None
        Seconds after which no new batch is started.
    callback : callable or None, default=None
        Called with a `SearchState` from time to time, at least once per batch.
    random_state, n_jobs, verbose, on_interrupt
        See `DLNClassifier`. Ctrl-C stops the search. With `on_interrupt="keep"` the best trial so
        far is fitted.

    Attributes
    ----------
    best_estimator_ : DLNClassifier
        The classifier fitted with the chosen parameters. Not available if `refit=False`.
    best_params_ : dict
        Parameters of the chosen trial.
    best_score_ : float
        Mean cross-validated score of the chosen trial.
    best_index_ : int
        Number of the chosen trial. The best trial is the one with the largest `estimate`, so
        another trial may have a higher score.
    small_index_ : int
        Number of the trial that refit="small" chooses.
    cv_results_ : dict of ndarrays
        One entry per trial, as in scikit-learn's searches, with the additional keys `size` and
        `stopped`.
    trials_ : tuple of Trial
        The same results as records.
    pareto_ : tuple of Trial
        Trials for which no other trial has both a better score and a smaller circuit, smallest
        first.
    space_ : dict
        The search space that was used for this table.
    n_splits_ : int
        Number of cross-validation splits.
    seed_ : int
        Seed of all random numbers; also the `random_state` of `best_estimator_`.
    search_time_, refit_time_ : float
        Seconds used for the search and for the final fit.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns; only defined if all of them are strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dln.search import Between
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"layers": [(8, 4), (16, 8)], "tau": Between(1.0, 8.0, log=True), "epochs": 20}
    >>> search = DLNSearchCV(space=space, n_trials=4, cv=3, random_state=0).fit(X, y)
    >>> sorted(search.best_params_)
    ['effort', 'epochs', 'layers', 'tau']
    >>> search.best_score_ > 0.8
    True
    """

    parameters = Parameters
    model_class = DLNClassifier

    class_weight: ClassWeight | Mapping[Any, float] | None

    def __init__(
        self,
        *,
        space: SpaceName | Mapping[str, Any] = "default",
        fixed: Mapping[str, Any] | None = None,
        n_trials: int = 32,
        objective: Objective = "accuracy",
        refit: Choice | bool = "best",
        cv: Any = "auto",
        batch_size: int = 8,
        class_weight: ClassWeight | Mapping[Any, float] | None = "balanced",
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> DLNSearchCV:
        """Search for the best parameters and fit a classifier with them on all rows.

        Parameters
        ----------
        X, y, sample_weight
            See `DLNClassifier.fit`.
        groups
            Rows that belong together have the same value. Folds do not separate them: neither those
            of the search nor those inside the final fit. A `cv` that is a splitter gets them too.

        Returns
        -------
        self : DLNSearchCV
        """
        self._run(X, y, sample_weight, groups)
        return self

    def fit_trial(
        self, number: int, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> DLNClassifier:
        """Fit a classifier with the parameters of one trial, for example one of `pareto_`.

        Parameters
        ----------
        number
            Number of the trial, from 0.
        X, y, sample_weight, groups
            The same as in `fit`.

        Returns
        -------
        DLNClassifier
        """
        final_fit: FinalFit = self._final_fit
        return final_fit(self._unfitted(number), X, y, sample_weight, groups)

    @property
    def measure(self) -> str:
        """Name of the score."""
        return ACCURACY

    def _read(self, X: Any, y: Any, *rows: Any) -> Reading:
        sample_weight, groups = rows
        read, classes = read_problem(self, X, y, sample_weight, self._class_weight(), groups)
        if read.top is not None:
            raise TableError(
                "DLNSearchCV needs one class for each row, but the target has class probabilities; "
                "use DLNClassifier"
            )
        return Reading(read, {"classes_": classes})

    def _find_preset(self, problem: Problem) -> Preset:
        return find_preset(self.space, problem, self._fixed())

    def _plan(self, params: Mapping[str, Any], problem: Problem, scoring: Scoring) -> TaskOfFold:
        model = self._make_model(params)
        parameters = read_parameters(model)
        budget = budget_of(parameters)
        if budget.is_limited:
            budget.check_columns(problem.table.column_names())
            goal = goal_of(parameters, problem.classes)
            plan = ClassBudget(budget, goal, constraints_of(parameters, problem))
            return lambda fold: make_budget_task(plan, fold, self.seed_)
        recipe = plan_fit(model, problem).candidates.usual
        return lambda fold: make_task(recipe, fold, scoring, self.seed_)

    def _draw_sample(self, problem: Problem, n_rows: int) -> NDArray[np.int64]:
        return sample_rows(problem.target, n_rows, self.seed_)

    def _make_folds(self, problem: Problem, scoring: Scoring) -> list[Fold]:
        found = scoring.make_folds(problem.target, self.seed_)
        if problem.groups is None:
            return found
        n_folds = len(found) if 1 < len(found) < N_FOLDS else N_FOLDS
        return group_folds(problem.target, problem.groups, len(found), self.seed_, n_folds)

    def _count_folds(self, problem: Problem, n_folds: int) -> list[Fold]:
        plain = count_folds(problem.target, n_folds, self.seed_)
        if problem.groups is None:
            return plain
        return group_folds(problem.target, problem.groups, n_folds, self.seed_, n_folds)

    def _own_parameters(self) -> dict[str, Any]:
        return {"class_weight": self._class_weight()}

    def _class_weight(self) -> Any:
        return preset_class_weight(self.space, self.class_weight)

    # -- prediction -------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes for each row."""
        classes: NDArray[Any] = self._fitted().predict(X)
        return classes

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row; see `DLNClassifier`."""
        shares: NDArray[np.float64] = self._fitted().predict_proba(X)
        return shares

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the votes, as `DLNClassifier` does."""
        votes: NDArray[np.float64] = self._fitted().decision_function(X)
        return votes

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the balanced accuracy, the score that is also used for trials."""
        predicted = self.predict(X)
        return float(balanced_accuracy_score(y, predicted, sample_weight=sample_weight))
