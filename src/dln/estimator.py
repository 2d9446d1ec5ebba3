"""The scikit-learn face: composes the stages, holds no algorithm of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dln.circuit import Circuit
from dln.cores import count_threads
from dln.manners import (
    draw_seed,
    read_features,
    read_problem,
    warn_of_lost_classes,
    warn_of_mixtures,
    warn_user,
)
from dln.planning import plan_fit, read_wishes
from dln.progress import progress_bar
from dln.simplify.simplify import Effort, choose_effort, simplify
from dln.train.engines import EngineName, find_engine
from dln.train.fit import fit_circuit
from dln.train.jobs import HISTORY, OnInterrupt
from dln.train.network import Concatenation
from dln.train.options import Annealing, Freezing, GateGradient, Phases, Pruning, Relaxation


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
    scaling : {"quantiles", "range"}
        How numeric columns come to [0, 1] for training: evenly filled, or linearly (the paper).
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
        Passes over the rows, and rows of a step. A class weighs what it should only in steps that
        see it, so that "auto" takes larger steps where one is rare.
    learning_rate, final_rate : float
        Adam's first rate, and the last as a part of it (cosine decay; 1 keeps it constant).
    threshold_rate : float
        Rate of cutoffs and slopes as a part of the learning rate; 0 keeps the cutoffs fixed.
    slope : float
        First slope of the thresholds, on columns scaled to [0, 1].
    phases : {"unified", "epochs", "batches"} or Alternating
        Train gates and links together, or in turn by epochs (the paper) or by batches.
        `Alternating(5)` takes five epochs of each (the paper's E; its T rounds are epochs / 2E).
    relaxation : {"straight-through", "soft", "gumbel"} or Gumbel
        What stands for a discrete choice while it is trained: the choice itself with the gradient
        of its mixture, the mixture, or the choice under noise (`Gumbel(noise=0.5)`). The last two
        need engine="torch".
    gate_gradient : {"hard", "mixture"}
        The gradient that passes a gate under training: that of its first choice, or (the paper)
        of the mixture of its functions.
    temperature : float or Annealing
        Divides the logits of gates and links before their softmax; `Annealing(1, 0.1)` lets it
        fall from epoch to epoch.
    freezing : Freezing or None
        Fix one layer after another as the training goes on.
    pruning : Pruning or None
        Take out gates that settle on no function as the training goes on.
    grad_factor : float
        Multiplies the gradient behind every layer. Adam evens out a common factor, so this matters
        only where layers share wires (concatenation="shared").
    vote_threshold : float
        A vote link is on when the sigmoid of its logit reaches this.
    vote_density : "auto" or float
        Part of the vote links that are on at the start (the paper: 0).
    validation_fraction : float
        Part of the rows held back to keep the best epoch; 0 trains on all rows to the end.
    selection_fits : "auto" or int
        Networks trained for each candidate when "auto" is decided by cross-validation; 0 decides
        by the size of the table alone, and so does "auto" with engine="torch".
    class_weight : "balanced", None or dict
        Weights of the classes; "balanced" makes all classes count the same.
    engine : {"native", "torch", "cuda"}
        Compiled code on all cores, PyTorch on any device, or all
        networks at once on an NVIDIA GPU with CuPy.
    device : str
        Where PyTorch trains: "cpu", "cuda", "cuda:1"; with engine="cuda" the card, "cuda:1" for
        the second.
    simplify : {"auto", "quick", "normal", "high"} or None
        How hard to try to make the circuit smaller without changing a prediction, see
        `dln.simplify`. "normal" and "high" require aigverse and python-sat, and leave a proof in
        `circuit_.proof`. "auto" is "normal" if these are installed, else "quick".
    trace_every : int
        Record all parameters every so many epochs, in `traces_`; 0 does not.
    random_state : int, RandomState or None
        Decides every random draw.
    n_jobs : int or None
        Threads; None or -1 means all cores, -2 all but one. With the native engine the result does
        not depend on it; with PyTorch large networks may differ in their last bits.
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
        loss, train_accuracy, valid_accuracy (balanced; NaN where not looked at) and gates. The
        first two are those of the network as it is trained, with its relaxation.
    traces_ : list of Trace
        Parameters of each network as its training went on; empty unless trace_every is set.
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
        scaling: OneOf["quantiles", "range"] = "quantiles",
        n_links: int | None = 16,
        n_gates: int = 16,
        concatenation: Concatenation = "separate",
        tau: OneOf["auto"] | float = "auto",
        epochs: OneOf["auto"] | int = "auto",
        batch_size: OneOf["auto"] | int = "auto",
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
        vote_threshold: float = 0.8,
        vote_density: OneOf["auto"] | float = "auto",
        validation_fraction: float = 0.0,
        selection_fits: OneOf["auto"] | int = "auto",
        class_weight: OneOf["balanced"] | Mapping[Any, float] | None = "balanced",
        engine: EngineName = "native",
        device: str = "cpu",
        simplify: Effort | None = "quick",
        trace_every: int = 0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.layers = layers
        self.n_networks = n_networks
        self.n_cutoffs = n_cutoffs
        self.scaling = scaling
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
        self.relaxation = relaxation
        self.gate_gradient = gate_gradient
        self.temperature = temperature
        self.freezing = freezing
        self.pruning = pruning
        self.grad_factor = grad_factor
        self.vote_threshold = vote_threshold
        self.vote_density = vote_density
        self.validation_fraction = validation_fraction
        self.selection_fits = selection_fits
        self.class_weight = class_weight
        self.engine = engine
        self.device = device
        self.simplify = simplify
        self.trace_every = trace_every
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
            Weights of the rows (n_rows,), not negative. A row of weight 0 is left out.
        """
        read_wishes(self)  # refuses what is out of range, before the table is read
        engine = find_engine(self.engine, self.device)
        n_threads = count_threads(self.n_jobs)
        rng = np.random.default_rng(draw_seed(self.random_state))
        read, classes = read_problem(self, X, y, sample_weight, self.class_weight)
        problem = read.counting()
        plan = plan_fit(self, problem)
        with progress_bar(enabled=bool(self.verbose)) as on_progress:
            fitted = fit_circuit(
                problem,
                plan,
                engine=engine,
                rng=rng,
                n_threads=n_threads,
                on_progress=on_progress,
                on_interrupt=self.on_interrupt,
            )
        # Together: the labels of a circuit stay its own where a later fit is broken off.
        self.circuit_, self.classes_ = self._simplified(fitted.circuit), classes
        self.history_ = _history(fitted.histories)
        self.traces_ = fitted.traces
        self.selection_ = [
            {
                "layers": score.recipe.shape.layers,
                "tau": score.recipe.options.tau,
                "accuracy": score.mean,
                "standard_error": score.standard_error,
                "chosen": score.recipe is fitted.recipe,
            }
            for row in fitted.scores
            for score in row
        ]
        # Last: the model is complete where warnings are turned into errors.
        warn_of_mixtures(self.circuit_.columns)
        if fitted.interrupted:
            warn_user("The fit was interrupted. The model keeps what it had learned so far.")
        else:
            warn_of_lost_classes(self.circuit_, problem, self.class_weight)
        return self

    def _simplified(self, circuit: Circuit) -> Circuit:
        if self.simplify is None:
            return circuit
        effort = choose_effort(self.simplify)
        return simplify(circuit, effort, prove=effort != "quick")

    # -- prediction -----------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class with the most votes for each row; ties go to the first class."""
        check_is_fitted(self)
        table = read_features(self, X, reset=False)
        winners: NDArray[Any] = self.classes_[self.circuit_.winners(table)]
        return winners

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the softmax of votes / temperature: (n_rows, n_classes), monotone in the margin.

        With class_weight="balanced" these are probabilities for classes of equal frequency.
        """
        check_is_fitted(self)
        return self.circuit_.predict_proba(read_features(self, X, reset=False))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the votes: (n_rows, n_classes), or for two classes the lead of the second (n_rows,).

        For two classes, the second wins where the lead is positive.
        """
        check_is_fitted(self)
        votes = self.circuit_.votes(read_features(self, X, reset=False)).astype(np.float64)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def __sklearn_is_fitted__(self) -> bool:
        # A fit that was broken off leaves the columns' names behind, but no circuit.
        return hasattr(self, "circuit_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _history(histories: list[NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """Stack the histories of the networks, padded with NaN where one stopped earlier."""
    longest = max(len(history) for history in histories)
    stack = np.full((len(histories), longest, len(HISTORY)), np.nan, dtype=np.float32)
    for index, history in enumerate(histories):
        stack[index, : len(history)] = history
    return {name: stack[:, :, place] for place, name in enumerate(HISTORY)}
