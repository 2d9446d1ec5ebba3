"""What the searches for classes and for numbers share: batches of trials, folds, final fit."""

from __future__ import annotations

import numbers
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dln._util.cores import count_threads
from dln._util.option import check_choice, check_integer, check_number
from dln.core.circuit import Circuit
from dln.errors import OptionError
from dln.estimators.fit_warnings import warn_user
from dln.estimators.parameters import CONSTRAINTS
from dln.estimators.reading import draw_seed
from dln.search.backend import BackendName, TaskContext, open_backend
from dln.search.fingerprint import fingerprint_folds, fingerprint_values, versions
from dln.search.folds import Fold, user_folds
from dln.search.preset import Preset
from dln.search.progress import search_bar
from dln.search.results import make_results
from dln.search.run import DIRECTIONS, Objective, Search, SearchState, TaskOfFold
from dln.search.scoring import Scoring
from dln.search.smooth import smooth
from dln.search.space import COSTS, Between, check_space, describe, import_optuna
from dln.search.storage import Storage, StudyStorage
from dln.search.trial import CHOICES, Choice, Trial, find_front
from dln.shrink.simplify.simplify import Effort
from dln.train.engines import EngineName
from dln.train.fingerprint import fingerprint
from dln.train.jobs import OnInterrupt
from dln.train.problem import NumberProblem, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AnyProblem = Problem | NumberProblem


class Reading(NamedTuple):
    """The rows of a search, including those of weight 0, and attributes to set after the fit."""

    problem: AnyProblem
    attributes: Mapping[str, Any]


class CircuitSearch(BaseEstimator):  # type: ignore[misc]
    """A search for the parameters of an estimator; see `DLNSearchCV`.

    A subclass says how the target is read, which space is searched, and what a trial trains.
    """

    parameters: ClassVar[type]
    """The parameters that a space may have."""
    model_class: ClassVar[type]
    """The estimator of a trial."""

    space: Any
    fixed: Mapping[str, Any] | None
    n_trials: int
    objective: Objective
    refit: Choice | bool
    cv: Any
    batch_size: int
    engine: EngineName
    device: str
    simplify: Effort | None
    backend: BackendName
    storage: str | os.PathLike[str] | None
    time_limit: float | None
    callback: Callable[[SearchState], None] | None
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    verbose: int
    on_interrupt: OnInterrupt

    def _store(self, given: Mapping[str, Any]) -> None:
        """Store the parameters of the constructor, given its local variables."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    # -- what differs -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def measure(self) -> str:
        """Name of the score."""

    @abstractmethod
    def _read(self, X: Any, y: Any, *rows: Any) -> Reading:
        """Read the training data."""

    @abstractmethod
    def fit_trial(self, number: int, X: Any, y: Any, *rows: Any) -> Any:
        """Fit an estimator with the parameters of one trial."""

    @abstractmethod
    def _find_preset(self, problem: Any) -> Preset:
        """Return the space and the scoring for a table."""

    @abstractmethod
    def _own_parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator that only this kind of search sets."""

    @abstractmethod
    def _plan(self, params: Mapping[str, Any], problem: Any, scoring: Scoring) -> TaskOfFold:
        """Return what a trial trains on a fold, given the number of the fold."""

    @abstractmethod
    def _draw_sample(self, problem: Any, n_rows: int) -> NDArray[np.int64]:
        """Choose rows of a large table."""

    @abstractmethod
    def _count_folds(self, problem: Any, n_folds: int) -> list[Fold]:
        """Split into a number of folds that keep groups together."""

    @abstractmethod
    def _make_folds(self, problem: Any, scoring: Scoring) -> list[Fold]:
        """Split into the folds of a preset, which keep groups together."""

    # -- searching --------------------------------------------------------------------------------

    def _run(self, X: Any, y: Any, *rows: Any) -> None:
        """Search, and fit the chosen trial on all rows; `rows` are weights, groups and so on."""
        self._check()
        read, attributes = self._read(X, y, *rows)
        problem = read.counting().kept()
        preset = self._find_preset(problem).with_fixed(self._fixed())
        self.space_ = dict(preset.space)
        self._final_fit = preset.final
        storage = self._open_storage()
        known = storage.seed if self.random_state is None else None
        self.seed_ = draw_seed(self.random_state) if known is None else known
        sample = self._sample(problem, preset.scoring)
        folds = self._folds(read, sample, preset.scoring, rows[1])
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
            self.best_estimator_ = self.fit_trial(chosen.number, X, y, *rows)
            self.refit_time_ = time.monotonic() - started
        # Set last: if a later fit is stopped, the labels still belong to the fitted classifier.
        for name, value in attributes.items():
            setattr(self, name, value)
        if interrupted:
            warn_user("The search was interrupted. The trials that had finished are kept.")

    def _make_model(self, params: Mapping[str, Any]) -> Any:
        """Return an unfitted estimator with the parameters of a trial."""
        return self.model_class(
            **{"simplify": self.simplify, **params},
            **self._own_parameters(),
            engine=self.engine,
            device=self.device,
            random_state=self.seed_,
            n_jobs=self.n_jobs,
            on_interrupt=self.on_interrupt,
        )

    def _unfitted(self, number: int) -> Any:
        """Return an estimator with the parameters of one trial."""
        check_is_fitted(self, "trials_")
        check_integer("number", number, 0, len(self.trials_) - 1)
        return self._make_model(self.trials_[number].params)

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
        self, problem: AnyProblem, folds: Sequence[Fold], preset: Preset, storage: Storage
    ) -> tuple[list[Trial], bool]:
        """Run the search. Return the trials and whether it was interrupted."""
        context = TaskContext(
            problem, tuple(folds), self.engine, self.device, count_threads(self.n_jobs)
        )
        backend = open_backend(self.backend, context)
        with search_bar(enabled=bool(self.verbose), measure=self.measure) as show:
            search = Search(
                preset=preset,
                plan_of=lambda params: self._plan(params, problem, preset.scoring),
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

    def _fixed(self) -> dict[str, Any]:
        fixed = {} if self.fixed is None else dict(self.fixed)
        for name, value in fixed.items():
            if name in (*CONSTRAINTS, *COSTS):
                # A list of columns is one value here, not a choice. The plan checks it.
                fixed[name] = tuple(value) if isinstance(value, list) else value
                continue
            if isinstance(value, (list, Between)):
                raise OptionError(f"fixed has {value!r} for {name!r}, expected one value")
            check_space({name: value}, self.parameters)
        return fixed

    def _open_storage(self) -> Storage:
        if self.storage is None:
            return Storage()
        return StudyStorage(os.fspath(self.storage), DIRECTIONS[self.objective])

    def _settings(
        self, problem: AnyProblem, preset: Preset, folds: Sequence[Fold]
    ) -> dict[str, Any]:
        """Return the settings that must be equal to resume a stored search."""
        return {
            "seed": self.seed_,
            "batch_size": int(self.batch_size),
            "objective": self.objective,
            "space": describe(preset.space),
            "starts": fingerprint_values(preset.first),
            **preset.scoring.settings(),
            **self._own_settings(),
            "engine": self.engine,
            "data": fingerprint(problem),
            "folds": fingerprint_folds(folds),
            "versions": versions(),
        }

    def _own_settings(self) -> dict[str, Any]:
        """Return settings that only this kind of search has."""
        return {}

    def _sample(self, problem: AnyProblem, scoring: Scoring) -> AnyProblem:
        """Draw the rows that trials are trained and scored on."""
        if len(problem.target) <= scoring.max_rows or not self._is_auto_cv():
            return problem
        return problem.take(self._draw_sample(problem, scoring.max_rows))

    def _folds(
        self, read: AnyProblem, sample: AnyProblem, scoring: Scoring, groups: Any
    ) -> list[Fold]:
        counted = isinstance(self.cv, numbers.Integral) and not isinstance(self.cv, bool)
        if self._is_auto_cv():
            return self._make_folds(sample, scoring)
        if counted:
            return self._count_folds(sample, int(self.cv))
        strata = read.target if isinstance(read, Problem) else None
        return user_folds(len(read.target), strata, read.weight > 0, self.cv, groups)

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
        """The circuit of the fitted estimator."""
        circuit: Circuit = self._fitted().circuit_
        return circuit

    def _fitted(self) -> Any:
        check_is_fitted(self, "trials_")
        if not self.refit:
            raise AttributeError(
                "refit is False, so no model was fitted; "
                'use fit_trial(best_index_, X, y), or refit="best"'
            )
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
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
