"""`DLNRegressor`: the scikit-learn interface for a target of numbers. It holds no algorithm."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dln._util.cores import count_threads
from dln._util.option import documented
from dln._util.progress import live_bars
from dln._util.storage import Storage
from dln.core.circuit import Circuit
from dln.data.number_target import read_exposure
from dln.encode.ranges import ranges_of
from dln.errors import OptionError
from dln.estimators.base import CircuitEstimator, stack_histories
from dln.estimators.fit_warnings import warn_of_mixtures, warn_user
from dln.estimators.parameters import NumberParameters
from dln.estimators.plan import (
    budget_of,
    constraints_of,
    plan_number_fit,
    read_number_parameters,
    stated_numbers,
)
from dln.estimators.reading import read_features, read_number_problem
from dln.estimators.storing import check_fit, fit_storage, stored_seed
from dln.estimators.widen import widen, widen_path
from dln.paths.fit import FittedPath
from dln.paths.number_fit import fit_number_path
from dln.paths.progress import search_bar
from dln.shrink.simplify.simplify import Effort
from dln.train.engines import EngineName, find_engine
from dln.train.jobs import NUMBER_HISTORY, OnInterrupt
from dln.train.number_fit import FittedNumber, fit_number
from dln.train.number_loss import LossName
from dln.train.options import (
    Auto,
    Concatenation,
    FitEffort,
    GateGradient,
    Gates,
    LastBatch,
    LinkDrawing,
    NumberEnsemble,
    Phases,
    Relaxation,
    Scaling,
)
from dln.train.settings import Annealing, Freezing, Pruning


@documented(NumberParameters)
class DLNRegressor(RegressorMixin, CircuitEstimator):  # type: ignore[misc]
    """Learn a logic circuit that predicts a number for the rows of a table.

    Each rule adds a number with few decimals, and the prediction is their sum, or its exponential
    for loss="poisson" and loss="gamma". Tables may be of the same kinds as for `DLNClassifier`;
    nothing has to be scaled, encoded or imputed, and neither has the target.

    Parameters
    ----------
    <parameters>

    Attributes
    ----------
    circuit_ : Circuit
        The learned circuit. It prints as rules, predicts, explains, and saves to JSON. With several
        quantile levels, that of the level nearest to one half.
    circuits_ : tuple of Circuit
        One circuit for each quantile level, else `circuit_` alone.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if they are all text.
    history_ : dict of str to ndarray (n_networks, epochs)
        loss, train_score and valid_score (minus the mean loss; NaN where not measured) and gates,
        for each network and epoch.
    traces_ : list of Trace
        The parameters of each network during training; empty unless trace_every is set.
    validated_score_ : float
        Cross-validated R² on the training rows, or D² for another loss than "squared": the share of
        the loss of the best constant that the model removes. NaN if there were too few rows.
    path_ : CircuitPath or None
        Circuits of every size with their cross-validated R², if there is a budget or path=True.

    Warns
    -----
    DlnWarning
        If the model has no rules, or if a column of numbers contains text.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = DLNRegressor(effort="quick", random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.5
    True
    """

    def __init__(
        self,
        *,
        loss: LossName = "squared",
        quantile: float | Sequence[float] = 0.5,
        init: Circuit | None = None,
        effort: FitEffort = "normal",
        layers: Auto | tuple[int, ...] = "auto",
        n_networks: Auto | int = "auto",
        ensemble: NumberEnsemble = "sum",
        n_trees: Auto | int = "auto",
        n_cutoffs: Auto | int = "auto",
        scaling: Scaling = "quantiles",
        screening: bool = True,
        n_links: int | None = 16,
        link_drawing: LinkDrawing = "distinct",
        n_gates: int = 16,
        gates: Gates = "all",
        concatenation: Concatenation = "separate",
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
        temperature: float | Annealing = 1.0,
        freezing: Freezing | None = None,
        pruning: Pruning | None = None,
        grad_factor: float = 1.0,
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
        self.loss = loss
        self.quantile = quantile
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
        self.temperature = temperature
        self.freezing = freezing
        self.pruning = pruning
        self.grad_factor = grad_factor
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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        exposure: Any = None,
    ) -> DLNRegressor:
        """Learn a circuit from a table and the number of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The training rows. Or a table that is read in batches and may be larger than the memory:
            an Arrow dataset, a DuckDB relation, a lazy frame of Polars, or an iterator of frames.
            The other parameters are then names of its columns.
        y : array-like of shape (n_rows,)
            The numbers to predict. Missing and infinite ones are refused.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, not negative. Rows of weight 0 are ignored.
        groups : array-like of shape (n_rows,), optional
            Rows that belong together, for example those of one patient, have the same value.
            Cross-validation inside the fit does not separate them.
        exposure : array-like of shape (n_rows,), optional
            How long or how much of something each row stands for, such as years; above 0. For
            loss="poisson" and loss="gamma". The circuit predicts the target for one unit of it: its
            logarithm is an offset of the score.

        Returns
        -------
        self : DLNRegressor
            The fitted regressor.
        """
        with fit_storage(self) as storage:
            return self._fit(X, y, sample_weight, groups, exposure, storage)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        exposure: Any,
        storage: Storage | None,
    ) -> DLNRegressor:
        parameters = read_number_parameters(self)  # refuses parameters out of range first
        budget = budget_of(parameters)
        engine = find_engine(self.engine, self.device, storage)
        n_threads = count_threads(self.n_jobs)
        seed = stored_seed(self, storage)
        problem = read_number_problem(
            self, X, y, sample_weight, parameters.loss, groups, exposure, storage
        ).counting()
        check_fit(storage, self, problem, seed)
        budget.check_columns(problem.table.column_names())
        constraints = constraints_of(parameters, problem)
        fits: list[FittedNumber] = []
        paths: list[FittedPath] = []
        for loss in parameters.losses:
            rng = np.random.default_rng(seed)
            if not budget.is_limited:
                with live_bars(enabled=bool(self.verbose)) as show:
                    fits.append(
                        fit_number(
                            problem,
                            plan_number_fit(parameters, loss, problem),
                            engine=engine,
                            rng=rng,
                            n_threads=n_threads,
                            show=show,
                            on_interrupt=self.on_interrupt,
                        )
                    )
            if budget.is_limited or (self.path and not fits[-1].interrupted):
                with search_bar(enabled=bool(self.verbose)) as on_search:
                    paths.append(
                        fit_number_path(
                            problem,
                            budget,
                            loss,
                            constraints,
                            stated=stated_numbers(parameters, loss, problem, constraints),
                            rng=rng,
                            n_threads=n_threads,
                            on_progress=on_search,
                            on_interrupt=self.on_interrupt,
                        )
                    )
        circuits = tuple(self._simplified(fitted.circuit) for fitted in fits)
        if budget.is_limited:
            circuits = tuple(found.path.circuit for found in paths)
        middle = int(np.argmin([abs(loss.level - 0.5) for loss in parameters.losses]))
        path = paths[middle].path if middle < len(paths) else None
        if path is not None and fits:
            path = path.continued(circuits[middle], fits[middle].score, np.nan)
        ended = [found.interrupted for found in fits] + [found.interrupted for found in paths]
        interrupted = any(ended)
        with_ranges = ranges_of(problem.table)
        circuits = tuple(widen(with_ranges(circuit), problem.table) for circuit in circuits)
        if path is not None:
            path = widen_path(path.changed(with_ranges), problem.table)
            circuits = (*circuits[:middle], path.circuit, *circuits[middle + 1 :])
        self.circuits_, self.circuit_, self.path_ = circuits, circuits[middle], path
        self.validated_score_ = (
            path.points[path.chosen].accuracy if path is not None else fits[middle].score
        )
        self.history_ = stack_histories(
            [history for fitted in fits for history in fitted.histories], NUMBER_HISTORY
        )
        self.traces_ = [trace for fitted in fits for trace in fitted.traces]
        # Last, so that the model is complete even if warnings are turned into errors.
        warn_of_mixtures(self.circuit_.columns)
        if storage is not None:
            storage.is_kept |= interrupted
        if interrupted:
            warn_user("The fit was interrupted. The model keeps what it had learned so far.")
        elif not self.circuit_.rules and budget.is_limited:
            warn_user(
                "The model has no rules, so it predicts the same number for every row. A larger "
                f"budget than {budget.describe()} may help."
            )
        elif not self.circuit_.rules:
            warn_user(
                "The model has no rules, so it predicts the same number for every row. If the "
                "columns should say something about the target, "
                f"{'' if constraints is None else 'try fewer constraints, and '}"
                "check that numbers and dates were not read as text."
            )
        return self

    # -- prediction -----------------------------------------------------------------------------

    def predict(self, X: Any, exposure: Any = None) -> NDArray[np.float64]:
        """Return the prediction of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows with the columns seen in `fit`.
        exposure : array-like of shape (n_rows,), optional
            Multiplies the predictions. Without it, a model that was fitted with an exposure
            predicts for one unit of it.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        table = read_features(self, X, reset=False)
        predicted = self.circuit_.predict(table)
        if exposure is None:
            return predicted
        return np.asarray(predicted * read_exposure(exposure, table.n_rows, self.loss))

    def predict_interval(self, X: Any) -> NDArray[np.float64]:
        """Return the prediction of every quantile level, in ascending order.

        Each level has its own circuit in `circuits_`. Where their predictions of a row would be out
        of order, they are sorted, so an interval is never reversed.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows with the columns seen in `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_levels)

        Raises
        ------
        OptionError
            If the model was fitted with fewer than two levels.
        """
        check_is_fitted(self)
        if len(self.circuits_) < 2:
            raise OptionError(
                "this model has no interval; fit with loss='quantile' and several levels, such as "
                "quantile=(0.05, 0.95)"
            )
        table = read_features(self, X, reset=False)
        predicted = np.stack([circuit.predict(table) for circuit in self.circuits_], axis=1)
        return np.sort(predicted, axis=1)
