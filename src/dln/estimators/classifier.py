"""`DLNClassifier`: the scikit-learn interface. It connects the stages and holds no algorithm."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dln._util.cores import count_threads
from dln._util.option import documented
from dln._util.storage import Storage
from dln.core.circuit import Circuit
from dln.data.target import ClassWeight
from dln.decisions.calibrate import missed_text
from dln.decisions.goal import Probabilities
from dln.encode.ranges import ranges_of
from dln.estimators.base import CircuitEstimator, stack_histories
from dln.estimators.fit_warnings import warn_of_lost_classes, warn_of_mixtures, warn_user
from dln.estimators.parameters import Parameters
from dln.estimators.plan import (
    budget_of,
    constraints_of,
    goal_of,
    plan_fit,
    read_parameters,
    stated_rules,
)
from dln.estimators.presets import PresetName
from dln.estimators.reading import name_of_accuracy, read_features, read_problem
from dln.estimators.storing import check_fit, fit_storage, stored_seed
from dln.estimators.widen import widen, widen_path
from dln.paths.fit import fit_path
from dln.paths.path import CircuitPath
from dln.paths.progress import search_bar
from dln.shrink.simplify.simplify import Effort
from dln.train.engines import EngineName, find_engine
from dln.train.fit import Fitted, fit_circuit
from dln.train.jobs import OnInterrupt
from dln.train.options import (
    Auto,
    Concatenation,
    Ensemble,
    FitEffort,
    GateGradient,
    Gates,
    LastBatch,
    LinkDrawing,
    Phases,
    Relaxation,
    Scaling,
    ValidationScore,
    VoteGradient,
    VoteStart,
)
from dln.train.progress import progress_bar
from dln.train.settings import Annealing, Freezing, Pruning


@documented(Parameters)
class DLNClassifier(ClassifierMixin, CircuitEstimator):  # type: ignore[misc]
    """Learn a small logic circuit that classifies the rows of a table.

    A table may be a pandas or polars frame, a NumPy array or a list of rows. It may hold numbers,
    booleans, text, categories, dates and missing values; nothing has to be scaled, encoded or
    imputed. The defaults suit tables of any size. Parameters that are "auto" are chosen from the
    data, some by cross-validation on the training rows; `effort` says how much work that may be.

    Parameters
    ----------
    <parameters>

    Attributes
    ----------
    circuit_ : Circuit
        The learned circuit. It prints as rules, predicts, explains, and saves to JSON.
    classes_ : ndarray
        The class labels. If classes tie, the one listed first wins.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if they are all text.
    history_ : dict of str to ndarray (n_networks, epochs)
        loss, train_accuracy and valid_accuracy (both balanced; NaN where not measured) and gates,
        for each network and epoch. loss and train_accuracy are measured on the network as it
        trains, with its relaxation, not on the circuit.
    traces_ : list of Trace
        The parameters of each network during training; empty unless trace_every is set.
    selection_ : list of dict
        The candidates compared by cross-validation, with their accuracy, its standard error and
        the number of networks that were trained; empty if there were none.
    path_ : CircuitPath or None
        Circuits of every size with their validated accuracy, if there is a budget, or path=True.
        With path=True alone, the last circuit is `circuit_`. A fit with a budget trains no network,
        so `history_`, `traces_` and `selection_` are empty.

    Warns
    -----
    DlnWarning
        If the model never predicts a class of the training rows, if it has no rules, or if a
        column of numbers contains text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DLNClassifier(effort="quick", random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        preset: PresetName | None = None,
        init: Circuit | None = None,
        effort: FitEffort = "normal",
        layers: Auto | tuple[int, ...] = "auto",
        n_networks: Auto | int = "auto",
        ensemble: Ensemble = "sum",
        n_trees: Auto | int = "auto",
        n_cutoffs: Auto | int = "auto",
        scaling: Scaling = "quantiles",
        screening: bool = True,
        n_links: int | None = 16,
        link_drawing: LinkDrawing = "distinct",
        n_gates: int = 16,
        gates: Gates = "all",
        concatenation: Concatenation = "separate",
        tau: Auto | float = "auto",
        epochs: Auto | int = "auto",
        batch_size: Auto | int = "auto",
        last_batch: LastBatch = "spread",
        learning_rate: float = 0.05,
        final_rate: float = 0.03,
        threshold_rate: float = 0.1,
        slope: float = 20.0,
        phases: Phases = "batches",
        relaxation: Relaxation = "straight-through",
        gate_gradient: GateGradient = "hard",
        vote_gradient: VoteGradient = "soft",
        temperature: float | Annealing = 1.0,
        freezing: Freezing | None = None,
        pruning: Pruning | None = None,
        grad_factor: float = 1.0,
        vote_threshold: float = 0.8,
        vote_density: Auto | VoteStart | float = "auto",
        validation_fraction: float = 0.0,
        validation_every: int = 1,
        validation_score: ValidationScore = "validation",
        selection_fits: Auto | int = "auto",
        max_rules: int | None = None,
        max_literals: int | None = None,
        max_literals_per_rule: int | None = None,
        max_columns: int | None = None,
        column_costs: Mapping[str, float] | None = None,
        max_cost: float | None = None,
        path: bool = False,
        monotone: Mapping[Any, Any] | None = None,
        interactions: Sequence[Sequence[str]] | None = None,
        forbidden_pairs: Sequence[tuple[str, str]] | None = None,
        unused_columns: Sequence[str] | None = None,
        max_columns_per_rule: int | None = None,
        rules: Any = None,
        soft_rules: Any = None,
        class_weight: ClassWeight | Mapping[Any, float] | None = "balanced",
        probabilities: Probabilities = "rows",
        decision_threshold: float | None = None,
        costs: Any = None,
        sensitivity_at_least: float | Mapping[Any, float] | None = None,
        engine: EngineName = "native",
        device: str = "cpu",
        simplify: Effort | None = "quick",
        trace_every: int = 0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        on_interrupt: OnInterrupt = "raise",
        storage: str | os.PathLike[str] | Storage | None = None,
    ) -> None:
        self.preset = preset
        self.init = init
        self.effort = effort
        self.layers = layers
        self.n_networks = n_networks
        self.ensemble = ensemble
        self.n_trees = n_trees
        self.n_cutoffs = n_cutoffs
        self.scaling = scaling
        self.screening = screening
        self.n_links = n_links
        self.link_drawing = link_drawing
        self.n_gates = n_gates
        self.gates = gates
        self.concatenation = concatenation
        self.tau = tau
        self.epochs = epochs
        self.batch_size = batch_size
        self.last_batch = last_batch
        self.learning_rate = learning_rate
        self.final_rate = final_rate
        self.threshold_rate = threshold_rate
        self.slope = slope
        self.phases = phases
        self.relaxation = relaxation
        self.gate_gradient = gate_gradient
        self.vote_gradient = vote_gradient
        self.temperature = temperature
        self.freezing = freezing
        self.pruning = pruning
        self.grad_factor = grad_factor
        self.vote_threshold = vote_threshold
        self.vote_density = vote_density
        self.validation_fraction = validation_fraction
        self.validation_every = validation_every
        self.validation_score = validation_score
        self.selection_fits = selection_fits
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.max_literals_per_rule = max_literals_per_rule
        self.max_columns = max_columns
        self.column_costs = column_costs
        self.max_cost = max_cost
        self.path = path
        self.monotone = monotone
        self.interactions = interactions
        self.forbidden_pairs = forbidden_pairs
        self.unused_columns = unused_columns
        self.max_columns_per_rule = max_columns_per_rule
        self.rules = rules
        self.soft_rules = soft_rules
        self.class_weight = class_weight
        self.probabilities = probabilities
        self.decision_threshold = decision_threshold
        self.costs = costs
        self.sensitivity_at_least = sensitivity_at_least
        self.engine = engine
        self.device = device
        self.simplify = simplify
        self.trace_every = trace_every
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt
        self.storage = storage

    # -- fitting --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> DLNClassifier:
        """Learn a circuit from a table and the class of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The training rows. Or a table that is read in batches and may be larger than the memory:
            an Arrow dataset, a DuckDB relation, a lazy frame of Polars, or an iterator of frames.
            The other parameters are then names of its columns.
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            The class labels: text, numbers, booleans or dates. Missing labels are refused. Or the
            probability of each class, for example predicted by another model. Rows sum to 1. The
            column names of a frame are the classes; those of an array are 0, 1, and so on.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, not negative. Rows of weight 0 are ignored.
        groups : array-like of shape (n_rows,), optional
            Rows that belong together, for example those of one patient, have the same value.
            Cross-validation inside the fit does not separate them.

        Returns
        -------
        self : DLNClassifier
            The fitted classifier.
        """
        with fit_storage(self) as storage:
            return self._fit(X, y, sample_weight, groups, storage)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, storage: Storage | None
    ) -> DLNClassifier:
        parameters = read_parameters(self)  # refuses parameters out of range first
        budget = budget_of(parameters)
        class_weight = parameters.class_weight
        engine = find_engine(self.engine, self.device, storage)
        n_threads = count_threads(self.n_jobs)
        seed = stored_seed(self, storage)
        rng = np.random.default_rng(seed)
        read, classes = read_problem(self, X, y, sample_weight, class_weight, groups, storage)
        check_fit(storage, self, read, seed)
        problem = read.counting()
        budget.check_columns(problem.table.column_names())
        constraints = constraints_of(parameters, problem)
        stated = stated_rules(parameters, problem, constraints)
        searches = budget.is_limited
        path: CircuitPath | None = None
        fitted: Fitted | None = None
        interrupted = False
        if not searches:
            with progress_bar(enabled=bool(self.verbose)) as on_progress:
                fitted = fit_circuit(
                    problem,
                    plan_fit(self, problem),
                    engine=engine,
                    rng=rng,
                    n_threads=n_threads,
                    on_progress=on_progress,
                    on_interrupt=self.on_interrupt,
                )
            interrupted = fitted.interrupted
            circuit = self._simplified(fitted.circuit)
        if searches or (self.path and not interrupted):
            with search_bar(enabled=bool(self.verbose)) as on_search:
                searched = fit_path(
                    problem,
                    budget,
                    goal_of(parameters, problem.classes),
                    constraints,
                    stated=stated,
                    rng=rng,
                    measure=name_of_accuracy(class_weight),
                    n_threads=n_threads,
                    on_progress=on_search,
                    on_interrupt=self.on_interrupt,
                )
            interrupted |= searched.interrupted
            missed = searched.missed
            path = searched.path
            if fitted is not None:
                path = path.continued(circuit, *_validated(fitted))
            circuit = path.circuit
        with_ranges = ranges_of(problem.table)
        if path is None:
            circuit = widen(with_ranges(circuit), read.table)
        else:
            path = widen_path(path.changed(with_ranges), read.table)
            circuit = path.circuit
        # Assigned together, so that an interrupted second fit leaves a circuit with its labels.
        self.circuit_, self.classes_, self.path_ = circuit, classes, path
        self.history_ = stack_histories([] if fitted is None else fitted.histories)
        self.traces_ = [] if fitted is None else fitted.traces
        self.selection_ = [] if fitted is None else _selection(fitted)
        # Last, so that the model is complete even if warnings are turned into errors.
        warn_of_mixtures(self.circuit_.columns)
        if storage is not None:
            storage.is_kept |= interrupted
        if interrupted:
            warn_user("The fit was interrupted. The model keeps what it had learned so far.")
        else:
            warn_of_lost_classes(self.circuit_, problem, class_weight, budget.describe())
        if fitted is not None:
            missed = fitted.missed
        if missed:
            warn_user(missed_text(self.circuit_, missed))
        return self

    # -- prediction -----------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes for each row.

        If classes tie, the one listed first in `classes_` wins.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows with the columns seen in `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        table = read_features(self, X, reset=False)
        winners: NDArray[Any] = self.classes_[self.circuit_.winners(table)]
        return winners

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        The probabilities are those of rows like the training rows; with probabilities="balanced"
        they assume that all classes are equally frequent. `predict` follows the votes: with
        class_weight="balanced" it may choose a rare class whose probability is below one half.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows with the columns seen in `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self)
        return self.circuit_.predict_proba(read_features(self, X, reset=False))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the votes of each class, or for two classes the vote margin of the second.

        For two classes, the second one wins where the margin is positive.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows with the columns seen in `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
        """
        check_is_fitted(self)
        votes = self.circuit_.votes(read_features(self, X, reset=False)).astype(np.float64)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes


def _selection(fitted: Fitted) -> list[dict[str, Any]]:
    """Describe the candidates that were compared."""
    return [
        {
            "layers": score.recipe.shape.layers,
            "n_cutoffs": score.recipe.encode.n_cutoffs,
            "tau": score.recipe.options.tau,
            "accuracy": score.mean,
            "standard_error": score.standard_error,
            "n_fits": score.n_fits,
            "chosen": score.recipe is fitted.recipe,
        }
        for score in fitted.scores
    ]


def _validated(fitted: Fitted) -> tuple[float, float]:
    """Return the cross-validated accuracy of the chosen recipe and its standard error."""
    chosen = [score for score in fitted.scores if score.recipe is fitted.recipe]
    return (chosen[0].mean, chosen[0].standard_error) if chosen else (np.nan, np.nan)
