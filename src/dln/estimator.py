"""The scikit-learn face: composes the stages, holds no algorithm of its own."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Mapping
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from dln.encode.encoder import EncodeOptions
from dln.errors import OptionError, TableError
from dln.labels import plain_labels
from dln.progress import progress_bar
from dln.table import Table, read_table
from dln.train.fit import FitPlan, Problem, fit_circuit
from dln.train.network import Concatenation
from dln.train.options import Phases
from dln.train.recipe import Wishes, make_recipes

_log = logging.getLogger("dln")


class DLNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a small logic circuit that classifies the rows of a table.

    Tables may be pandas or polars frames, NumPy arrays or lists of rows, with numbers, booleans,
    text, categories, dates and missing cells as they come: nothing has to be scaled, encoded or
    imputed. The defaults suit a table of any size; what is "auto" is chosen from the data, where
    need be by cross-validation on the training rows.

    Parameters
    ----------
    layers : "auto" or tuple of int
        Gates in each layer, the voting layer last.
    n_networks : "auto" or int
        Networks trained from different starts; all of them vote in the circuit. More are somewhat
        more accurate, fewer are smaller.
    n_cutoffs : int
        Thresholds that a numeric column starts with, at most.
    n_links : int or None
        Candidate wires for each input of a gate (the paper's link subspace); None means all.
    n_gates : int
        Gate functions to choose from: the first so many (1 to 16) of the paper's order.
    concatenation : {"separate", "shared", "none"}
        Thresholds that later layers see beside the layer before: their own, the first layer's,
        or none.
    tau : "auto" or float
        Divides the votes before the softmax. On small tables it is the regulariser that matters:
        the larger, the smoother.
    epochs, batch_size : "auto" or int
        Passes over the rows, and rows of a step.
    learning_rate, final_rate : float
        Adam's first rate, and the last as a part of it (cosine decay; 1 keeps it constant).
    threshold_rate : float
        Rate of cutoffs and slopes as a part of the learning rate; 0 keeps the cutoffs fixed.
    slope : float
        First slope of the thresholds, on columns scaled to [0, 1].
    phases : {"unified", "epochs", "batches"}
        Train gates and links together, or in turn by epochs (the paper) or by batches.
    grad_factor : float
        Multiplies the gradient behind every layer.
    vote_threshold : float
        A vote link is on when the sigmoid of its logit reaches this.
    vote_density : "auto" or float
        Part of the vote links that are on at the start (the paper: 0).
    validation_fraction : float
        Part of the rows held back to keep the best epoch; 0 trains on all rows to the end.
    selection_fits : "auto" or int
        Networks trained for each candidate when "auto" is decided by cross-validation; 0 decides
        by the size of the table alone.
    class_weight : "balanced", None or dict
        Weights of the classes; "balanced" makes all classes count the same.
    random_state : int, RandomState or None
        Decides every random draw.
    n_jobs : int or None
        Threads; None or -1 means all cores. The result does not depend on it.
    verbose : int
        1 shows a live progress bar on standard error.
    on_interrupt : {"raise", "keep"}
        On Ctrl-C, raise KeyboardInterrupt or keep what was learned so far, with a warning.

    Attributes
    ----------
    circuit_ : Circuit
        The learned circuit: prints as rules, predicts, saves to JSON.
    classes_ : ndarray
        Class labels; ties go to the first.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    history_ : dict of str to ndarray (n_networks, epochs)
        loss, train_accuracy, valid_accuracy (balanced; NaN where not looked at) and gates.
    selection_ : list of dict
        The candidates compared by cross-validation, with their accuracy; empty if none were.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DLNClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        layers: OneOf["auto"] | tuple[int, ...] = "auto",
        n_networks: OneOf["auto"] | int = "auto",
        n_cutoffs: int = 6,
        n_links: int | None = 16,
        n_gates: int = 8,
        concatenation: Concatenation = "separate",
        tau: OneOf["auto"] | float = "auto",
        epochs: OneOf["auto"] | int = "auto",
        batch_size: OneOf["auto"] | int = "auto",
        learning_rate: float = 0.05,
        final_rate: float = 0.03,
        threshold_rate: float = 0.1,
        slope: float = 20.0,
        phases: Phases = "batches",
        grad_factor: float = 1.0,
        vote_threshold: float = 0.8,
        vote_density: OneOf["auto"] | float = "auto",
        validation_fraction: float = 0.0,
        selection_fits: OneOf["auto"] | int = "auto",
        class_weight: OneOf["balanced"] | Mapping[Any, float] | None = "balanced",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        on_interrupt: OneOf["raise", "keep"] = "raise",
    ) -> None:
        self.layers = layers
        self.n_networks = n_networks
        self.n_cutoffs = n_cutoffs
        self.n_links = n_links
        self.n_gates = n_gates
        self.concatenation = concatenation
        self.tau = tau
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.final_rate = final_rate
        self.threshold_rate = threshold_rate
        self.slope = slope
        self.phases = phases
        self.grad_factor = grad_factor
        self.vote_threshold = vote_threshold
        self.vote_density = vote_density
        self.validation_fraction = validation_fraction
        self.selection_fits = selection_fits
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    # -- fitting --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DLNClassifier:
        """Learn a circuit from a table and the class of each row.

        Parameters
        ----------
        X
            Table (n_rows, n_columns).
        y
            Class labels (n_rows,): text, numbers, booleans or dates, none missing.
        sample_weight
            Weights of the rows (n_rows,), not negative.
        """
        wishes = self._wishes()
        table = self._read(X, reset=True)
        target, self.classes_ = _read_target(y, table.n_rows)
        weight = self._row_weights(X, target, sample_weight)
        problem = Problem(table, target, weight, plain_labels(self.classes_))
        recipes, n_fits, n_networks = make_recipes(wishes, table.n_rows, len(self.classes_))
        plan = FitPlan(
            recipes,
            EncodeOptions(n_cutoffs=self.n_cutoffs),
            n_fits,
            n_networks,
            self.validation_fraction,
        )
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        with progress_bar(enabled=bool(self.verbose)) as on_progress:
            fitted = fit_circuit(
                problem,
                plan,
                rng=np.random.default_rng(seed),
                n_threads=_n_threads(self.n_jobs),
                on_progress=on_progress,
                on_interrupt=self.on_interrupt,
            )
        if fitted.interrupted:
            warnings.warn("the fit was interrupted; kept what was learned so far", stacklevel=2)
        self.circuit_ = fitted.circuit
        self.history_ = _history(fitted.histories)
        self.selection_ = [
            {
                "layers": score.recipe.shape.layers,
                "tau": score.recipe.options.tau,
                "accuracy": score.mean,
                "standard_error": score.standard_error,
                "chosen": score.recipe is fitted.recipe,
            }
            for score in fitted.scores
        ]
        _log.info("fitted %r", self.circuit_)
        return self

    def _wishes(self) -> Wishes:
        if self.on_interrupt not in ("raise", "keep"):
            raise OptionError(f'on_interrupt is {self.on_interrupt!r}, expected "raise" or "keep"')
        if not 0 <= self.validation_fraction < 1:
            raise OptionError(
                f"validation_fraction is {self.validation_fraction!r}, expected 0 up to below 1"
            )
        if not (isinstance(self.n_cutoffs, (int, np.integer)) and self.n_cutoffs >= 1):
            raise OptionError(f"n_cutoffs is {self.n_cutoffs!r}, expected an integer of at least 1")
        return Wishes(
            layers=self.layers,
            n_networks=self.n_networks,
            n_links=self.n_links,
            n_gates=self.n_gates,
            concatenation=self.concatenation,
            tau=self.tau,
            epochs=self.epochs,
            batch_size=self.batch_size,
            rate=self.learning_rate,
            final_rate=self.final_rate,
            threshold_rate=self.threshold_rate,
            slope=self.slope,
            phases=self.phases,
            grad_factor=self.grad_factor,
            vote_threshold=self.vote_threshold,
            vote_density=self.vote_density,
            selection_fits=self.selection_fits,
        )

    def _row_weights(
        self, X: Any, target: NDArray[np.int32], sample_weight: Any
    ) -> NDArray[np.float32]:
        """Multiply the weights of rows and classes; their mean is 1."""
        rows = np.zeros((len(target), 1))
        weight = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        if not weight.sum() > 0:
            raise TableError("all sample weights are zero; at least one row must count")
        n_classes = len(self.classes_)
        if self.class_weight == "balanced":
            mass = np.bincount(target, weights=weight, minlength=n_classes)
            by_class = np.divide(1.0, mass, out=np.zeros(n_classes), where=mass > 0)
        elif self.class_weight is None:
            by_class = np.ones(n_classes)
        elif isinstance(self.class_weight, Mapping):
            by_class = np.array([self.class_weight.get(label, 1.0) for label in self.classes_])
        else:
            raise OptionError(
                f"class_weight is {self.class_weight!r}, expected 'balanced', None or a dict"
            )
        weight = weight * by_class[target]
        return (weight / weight.mean()).astype(np.float32)

    # -- prediction -----------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class with the most votes for each row; ties go to the first class."""
        check_is_fitted(self)
        winners: NDArray[Any] = self.classes_[self.circuit_.winners(self._read(X, reset=False))]
        return winners

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the softmax of votes / temperature: (n_rows, n_classes), monotone in the margin.

        With class_weight="balanced" these are probabilities for classes of equal frequency.
        """
        check_is_fitted(self)
        return self.circuit_.predict_proba(self._read(X, reset=False))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the votes: (n_rows, n_classes), or for two classes the lead of the second (n_rows,).

        For two classes, the second wins where the lead is positive.
        """
        check_is_fitted(self)
        votes = self.circuit_.votes(self._read(X, reset=False)).astype(np.float64)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def _read(self, X: Any, *, reset: bool) -> Table:
        table = read_table(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if table.n_rows == 0 and reset:
            raise TableError("the table has 0 rows (0 sample(s)); a minimum of 1 is required")
        if table.n_columns == 0:
            raise TableError(
                f"the table has 0 columns: 0 feature(s) (shape=({table.n_rows}, 0)) while a "
                "minimum of 1 is required."
            )
        named = reset or hasattr(self, "feature_names_in_")
        return table if named else table.without_names()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _read_target(y: Any, n_rows: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Number the classes; refuse a target with missing or unusable values."""
    if y is None:
        raise TableError("requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        raise TableError(f"the table has {n_rows} rows, but the target has {len(labels)}")
    missing = np.array([label is None or label != label for label in labels.tolist()], dtype=bool)
    if missing.any():
        raise TableError(
            f"Input y contains NaN or None: the target is missing in {missing.sum()} of {n_rows} "
            f"rows, first in row {int(np.argmax(missing))}; drop those rows"
        )
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise TableError("Input y contains infinity; class labels must be finite")
    check_classification_targets(labels)
    classes, target = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise TableError(
            f"the target has only one class ({classes[0]!r}); a classifier needs at least two"
        )
    return target.astype(np.int32), classes


def _history(histories: list[NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """Stack the histories of the networks, padded with NaN where one stopped earlier."""
    longest = max(len(history) for history in histories)
    stack = np.full((len(histories), longest, 4), np.nan, dtype=np.float32)
    for index, history in enumerate(histories):
        stack[index, : len(history)] = history
    names = ("loss", "train_accuracy", "valid_accuracy", "gates")
    return {name: stack[:, :, place] for place, name in enumerate(names)}


def _n_threads(n_jobs: int | None) -> int:
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if n_jobs is None or n_jobs == -1:
        return available or 1
    if isinstance(n_jobs, (int, np.integer)) and n_jobs >= 1:
        return int(n_jobs)
    raise OptionError(f"n_jobs is {n_jobs!r}, expected a positive integer, -1 or None")
