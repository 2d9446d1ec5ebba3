"""`DLNSearchCV`: hyperparameter search as a scikit-learn estimator."""

from __future__ import annotations

import numbers
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.validation import check_is_fitted

from dln._util.cores import count_threads
from dln._util.option import check_choice, check_integer, check_number
from dln.core.circuit import Circuit
from dln.data.target import ClassWeight
from dln.errors import OptionError, TableError
from dln.estimators.classifier import DLNClassifier
from dln.estimators.fit_warnings import warn_user
from dln.estimators.plan import (
    CONSTRAINTS,
    budget_of,
    constraints_of,
    goal_of,
    plan_fit,
    read_parameters,
)
from dln.estimators.reading import draw_seed, read_problem
from dln.search.backend import BackendName, TaskContext, open_backend
from dln.search.budget_tasks import BudgetPlan
from dln.search.final import FinalFit
from dln.search.fingerprint import fingerprint, fingerprint_folds, fingerprint_values, versions
from dln.search.folds import Fold, count_folds, group_folds, sample_rows, user_folds
from dln.search.paper import preset_class_weight
from dln.search.preset import Preset, Scoring
from dln.search.presets import SpaceName, find_preset
from dln.search.progress import search_bar
from dln.search.results import make_results
from dln.search.run import DIRECTIONS, Objective, Search, SearchState
from dln.search.smooth import smooth
from dln.search.space import Between, check_space, describe, import_optuna
from dln.search.storage import Storage, StudyStorage
from dln.search.trial import CHOICES, Choice, Trial, find_front
from dln.shrink.simplify.simplify import Effort
from dln.train.engines import EngineName
from dln.train.fit import FitPlan
from dln.train.folds import N_FOLDS
from dln.train.jobs import OnInterrupt
from dln.train.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class DLNSearchCV(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        self.space = space
        self.fixed = fixed
        self.n_trials = n_trials
        self.objective = objective
        self.refit = refit
        self.cv = cv
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.engine = engine
        self.device = device
        self.simplify = simplify
        self.backend = backend
        self.storage = storage
        self.time_limit = time_limit
        self.callback = callback
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

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
        self._check()
        read, classes = read_problem(self, X, y, sample_weight, self._class_weight(), groups)
        if read.top is not None:
            raise TableError(
                "DLNSearchCV needs one class for each row, but the target has class probabilities; "
                "use DLNClassifier"
            )
        problem = read.counting().kept()
        preset = find_preset(self.space, problem, self._fixed())
        self.space_ = dict(preset.space)
        self._final_fit = preset.final
        storage = self._open_storage()
        known = storage.seed if self.random_state is None else None
        self.seed_ = draw_seed(self.random_state) if known is None else known
        sample = self._sample(problem, preset.scoring)
        folds = self._folds(read, sample, preset.scoring, groups)
        storage.check_settings(self._settings(problem, preset, folds))
        started = time.monotonic()
        trials, interrupted = self._search(sample, folds, preset, storage)
        self.search_time_ = time.monotonic() - started
        self.trials_ = smooth(trials, preset.space) if preset.scoring.smoothed else tuple(trials)
        self.n_splits_ = len(folds)
        self.cv_results_ = make_results(self.trials_, self.n_splits_)
        self.pareto_ = find_front(self.trials_)
        chosen = CHOICES["best" if isinstance(self.refit, bool) else self.refit](self.trials_)
        self.small_index_ = CHOICES["small"](self.trials_).number
        self.best_index_, self.best_score_ = chosen.number, chosen.score
        self.best_params_ = dict(chosen.params)
        if self.refit:
            started = time.monotonic()
            self.best_estimator_ = self.fit_trial(chosen.number, X, y, sample_weight, groups)
            self.refit_time_ = time.monotonic() - started
        # Set last: if a later fit is stopped, the labels still belong to the fitted classifier.
        self.classes_ = classes
        if interrupted:
            warn_user("The search was interrupted. The trials that had finished are kept.")
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
        check_is_fitted(self, "trials_")
        check_integer("number", number, 0, len(self.trials_) - 1)
        model = self._classifier(self.trials_[number].params)
        final_fit: FinalFit = self._final_fit
        return final_fit(model, X, y, sample_weight, groups)

    def draw(self, *, axes: Any = None) -> Figure:
        """Plot accuracy against size, and the importance of parameters; see `draw_search`.

        Parameters
        ----------
        axes
            Two matplotlib axes to draw on. By default a new figure is created.
        """
        from dln.search.picture import draw_search  # imports matplotlib

        return draw_search(self, axes=axes)

    def _search(
        self, problem: Problem, folds: Sequence[Fold], preset: Preset, storage: Storage
    ) -> tuple[list[Trial], bool]:
        """Run the search. Return the trials and whether it was interrupted."""
        context = TaskContext(
            problem, tuple(folds), self.engine, self.device, count_threads(self.n_jobs)
        )
        backend = open_backend(self.backend, context)
        with search_bar(enabled=bool(self.verbose)) as show:
            search = Search(
                preset=preset,
                plan_of=lambda params: self._plan(params, problem),
                n_folds=len(folds),
                objective=self.objective,
                seed=self.seed_,
                n_trials=min(self.n_trials, preset.most_trials),
                batch_size=self.batch_size,
                backend=backend,
                storage=storage,
                report=lambda state: _report(state, show, self.callback),
            )
            try:
                search.run(self.time_limit)
            except KeyboardInterrupt:
                if self.on_interrupt == "raise" or not search.trials:
                    raise
                return search.trials, True
            finally:
                backend.close()
        return search.trials, False

    def _plan(self, params: Mapping[str, Any], problem: Problem) -> FitPlan | BudgetPlan:
        model = self._classifier(params)
        parameters = read_parameters(model)
        budget = budget_of(parameters)
        if not budget.is_limited:
            return plan_fit(model, problem)
        budget.check_columns(problem.table.column_names())
        goal = goal_of(parameters, problem.classes)
        return BudgetPlan(budget, goal, constraints_of(parameters, problem))

    def _classifier(self, params: Mapping[str, Any]) -> DLNClassifier:
        return DLNClassifier(
            **{"simplify": self.simplify, **params},
            class_weight=self._class_weight(),
            engine=self.engine,
            device=self.device,
            random_state=self.seed_,
            n_jobs=self.n_jobs,
            on_interrupt=self.on_interrupt,
        )

    def _fixed(self) -> dict[str, Any]:
        fixed = {} if self.fixed is None else dict(self.fixed)
        for name, value in fixed.items():
            if name in (*CONSTRAINTS, "column_costs", "max_cost"):
                # A list of columns is one value here, not a choice. The plan checks it.
                fixed[name] = tuple(value) if isinstance(value, list) else value
                continue
            if isinstance(value, (list, Between)):
                raise OptionError(f"fixed has {value!r} for {name!r}, expected one value")
            check_space({name: value})
        return fixed

    def _class_weight(self) -> Any:
        return preset_class_weight(self.space, self.class_weight)

    def _open_storage(self) -> Storage:
        if self.storage is None:
            return Storage()
        return StudyStorage(os.fspath(self.storage), DIRECTIONS[self.objective])

    def _settings(self, problem: Problem, preset: Preset, folds: Sequence[Fold]) -> dict[str, Any]:
        """Return the settings that must be equal to resume a stored search."""
        return {
            "seed": self.seed_,
            "batch_size": int(self.batch_size),
            "objective": self.objective,
            "space": describe(preset.space),
            "starts": fingerprint_values(preset.first),
            **preset.scoring.settings(),
            "engine": self.engine,
            "data": fingerprint(problem),
            "folds": fingerprint_folds(folds),
            "versions": versions(),
        }

    def _sample(self, problem: Problem, scoring: Scoring) -> Problem:
        """Draw the rows that trials are trained and scored on."""
        if len(problem.target) <= scoring.max_rows or not self._is_auto_cv():
            return problem
        return problem.take(sample_rows(problem.target, scoring.max_rows, self.seed_))

    def _folds(self, read: Problem, sample: Problem, scoring: Scoring, groups: Any) -> list[Fold]:
        counted = isinstance(self.cv, numbers.Integral) and not isinstance(self.cv, bool)
        if self._is_auto_cv():
            found = scoring.make_folds(sample.target, self.seed_)
            if sample.groups is None:
                return found
            n_folds = len(found) if 1 < len(found) < N_FOLDS else N_FOLDS
            return group_folds(sample.target, sample.groups, len(found), self.seed_, n_folds)
        if counted:
            n_folds = int(self.cv)
            plain = count_folds(sample.target, n_folds, self.seed_)
            if sample.groups is None:
                return plain
            return group_folds(sample.target, sample.groups, n_folds, self.seed_, n_folds)
        return user_folds(read.target, read.weight > 0, self.cv, groups)

    def _is_auto_cv(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "auto"

    def _check(self) -> None:
        check_integer("n_trials", self.n_trials, 1, 10**6)
        check_integer("batch_size", self.batch_size, 1, 10**6)
        check_choice("objective", self.objective, get_args(Objective))
        check_choice("backend", self.backend, get_args(BackendName))
        check_choice("on_interrupt", self.on_interrupt, get_args(OnInterrupt))
        check_choice("refit", self.refit, tuple(CHOICES), bool)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, 0.0, 1e9)
        if self.callback is not None and not callable(self.callback):
            raise OptionError(f"callback is {self.callback!r}, expected a function or None")
        import_optuna()

    # -- prediction -------------------------------------------------------------------------------

    @property
    def circuit_(self) -> Circuit:
        """The circuit of the fitted classifier."""
        return self._fitted().circuit_

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes for each row."""
        return self._fitted().predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row; see `DLNClassifier`."""
        return self._fitted().predict_proba(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the votes, as `DLNClassifier` does."""
        return self._fitted().decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the balanced accuracy, the score that is also used for trials."""
        predicted = self.predict(X)
        return float(balanced_accuracy_score(y, predicted, sample_weight=sample_weight))

    def _fitted(self) -> DLNClassifier:
        check_is_fitted(self, "trials_")
        if not self.refit:
            raise AttributeError(
                "refit is False, so that no classifier was fitted; "
                'use fit_trial(best_index_, X, y), or refit="best"'
            )
        model: DLNClassifier = self.best_estimator_
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _report(
    state: SearchState,
    show: Callable[[SearchState], None] | None,
    callback: Callable[[SearchState], None] | None,
) -> None:
    for tell in (show, callback):
        if tell is not None:
            tell(state)
