"""The paper's LGN: a logic gate network with fixed random links, learned gates and grouped sums.

It is a network of `dln.train` with one candidate per link and fixed thresholds from decision trees
(the paper's "tree-initialised"). Each class counts the gates of its own group in the last layer.
Only the gate functions are trained. `DLNClassifier` cannot express that, so this module, alone in
the reproduction, uses internals of dln. `uniform_gate_network` has thresholds at equal distances
instead, to measure what the trees contribute (paper, Sec. IV-B).

Differs from the paper: gates are trained with straight-through estimators, so that the native
engine can train them. The original mixes the soft functions and discretises at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from typing import Literal as OneOf

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from dln import Alternating, Circuit, cost, simplify
from dln.core.literals import LiteralKind
from dln.data.table import Table, read_table
from dln.encode.bits import LiteralSet
from dln.encode.encoder import EncodeOptions, Encoder, fit_encoder
from dln.train.discretise import discretise
from dln.train.jobs import Job, Trained, TrainingRows
from dln.train.native import train_population
from dln.train.network import Network, Shape, build_network
from dln.train.options import TrainOptions
from reproduction.models.optuna_batches import propose_in_batches
from reproduction.models.outcome import Budget, Outcome, percent
from reproduction.protocol import (
    EVAL_EVERY,
    FINAL_EVAL_EVERY,
    PATIENCE,
    Fold,
    Rows,
    Task,
    batch_size,
    first_layers,
    hold_back,
    layer_sizes,
    score_trials,
)

_BATCH_OF_TRIALS = 8
_GATES_ONLY = Alternating(epochs=10**6)
_VOTE_THRESHOLD = 0.8
_SURE = 100.0

Params = Mapping[str, Any]
Binning = OneOf["tree", "uniform"]


def gate_network(task: Task, budget: Budget) -> Outcome:
    """Run the LGN with thresholds from decision trees."""
    return _run(task, budget, "tree")


def uniform_gate_network(task: Task, budget: Budget) -> Outcome:
    """Run the LGN with thresholds at equal distances."""
    return _run(task, budget, "uniform")


def _run(task: Task, budget: Budget, binning: Binning) -> Outcome:
    """Search with Optuna, fit on 80 % of the training rows, simplify and test."""
    low, high = first_layers(task)

    def suggest(trial: Any) -> None:
        trial.suggest_float("rate", 0.01, 0.3, log=True)
        trial.suggest_int("layers", 2, 5)
        trial.suggest_float("ratio", 0.25, 1.0, log=True)
        trial.suggest_categorical("cutoffs", [4, 6])
        trial.suggest_float("tau", 1.0, 30.0, log=True)
        trial.suggest_int("first", low, high)

    best, score = propose_in_batches(
        suggest,
        partial(_evaluate, task, budget, binning),
        n_trials=budget.trials,
        batch=_BATCH_OF_TRIALS,
        seed=task.seed,
    )
    circuit = simplify(_fit(task, best, budget, binning), "normal", prove=True)
    return Outcome(
        accuracy=percent(task.arrays.test_target, circuit.winners(task.test_table)),
        validation=100.0 * score,
        params=best,
        cost=cost(circuit),
    )


@dataclass(frozen=True, eq=False)
class _Encoded:
    """All training rows, encoded by an encoder that was fitted on some of them."""

    encoder: Encoder
    fitted: Table
    data: TrainingRows


def _encode(task: Task, fitted: Rows, n_cutoffs: int, binning: Binning) -> _Encoded:
    """Fit min-max scaling and thresholds on some of the training rows; encode all."""
    table = read_table(task.train[0])
    target = task.arrays.train_target.astype(np.int32)
    weight = compute_sample_weight("balanced", target).astype(np.float32)
    some, options = table.take(fitted).kept(), EncodeOptions(n_cutoffs, n_knots=2, screening=False)
    encoder, _ = fit_encoder(some, target[fitted], weight[fitted], options)
    if binning == "uniform":
        encoder = replace(encoder, literals=_spread(encoder.literals, n_cutoffs))
    return _Encoded(encoder, some, TrainingRows(encoder.encode(table), target, weight))


def _spread(literals: LiteralSet, n_cutoffs: int) -> LiteralSet:
    """Replace the thresholds of each column by `n_cutoffs` at equal distances in [0, 1]."""
    is_threshold = literals.kind == LiteralKind.ABOVE
    cutoffs = np.linspace(0, 1, n_cutoffs + 2, dtype=np.float32)[1:-1]
    columns = np.unique(literals.column[is_threshold]).tolist()
    spread = [LiteralSet.on_column(column, LiteralKind.ABOVE, cutoffs) for column in columns]
    return LiteralSet.join([literals.take(~is_threshold), *spread])


def count_tests(task: Task, params: Params) -> tuple[int, int]:
    """Count the inputs of a network before simplification: comparisons, and tests of one bit."""
    rows = np.arange(len(task.rows[0]))
    kinds = _encode(task, rows, params["cutoffs"], "tree").encoder.literals.kind
    n_comparisons = int(np.count_nonzero(kinds == LiteralKind.ABOVE))
    return n_comparisons, len(kinds) - n_comparisons


def _evaluate(task: Task, budget: Budget, binning: Binning, batch: list[Params]) -> list[float]:
    """Score trials on the folds; all networks train in parallel."""
    encoded = {
        (place, n_cutoffs): _encode(task, train, n_cutoffs, binning)
        for place, (train, _) in enumerate(task.folds)
        for n_cutoffs in {params["cutoffs"] for params in batch}
    }
    jobs = [
        _job(task, encoded[place, params["cutoffs"]], fold, params, budget)
        for params in batch
        for place, fold in enumerate(task.folds)
    ]
    trained = train_population(jobs, n_threads=budget.threads)
    n_folds = len(task.folds)
    return [_score(trained[start : start + n_folds]) for start in range(0, len(jobs), n_folds)]


def _score(runs: Sequence[Trained]) -> float:
    """Score a trial at its best epoch; folds that stopped early keep their last accuracy."""
    longest = max(len(run.evaluations) for run in runs)
    accuracies = [
        np.pad(run.evaluations, (0, longest - len(run.evaluations)), mode="edge") for run in runs
    ]
    return max(float(score_trials(epoch)) for epoch in np.array(accuracies).T)


def _job(
    task: Task, rows: _Encoded, fold: Fold, params: Params, budget: Budget, *, final: bool = False
) -> Job:
    n_classes = task.n_classes
    layers = layer_sizes(params["first"], params["ratio"], params["layers"], n_classes)
    options = TrainOptions(
        epochs=budget.epochs,
        batch_size=batch_size(n_classes),
        learning_rate=params["rate"],
        final_rate=1.0,
        threshold_rate=0.0,
        tau=params["tau"],
        phases=_GATES_ONLY,
        eval_every=min(FINAL_EVAL_EVERY if final else EVAL_EVERY, budget.epochs),
        patience=0 if final else PATIENCE,
        keep_best=True,
        seed=task.seed,
    )
    rng = np.random.default_rng(task.seed)
    network = draw_gate_network(rows.encoder, layers, n_classes, rng)
    return Job(network, rows.data, fold[0], options, fold[1])


def draw_gate_network(
    encoder: Encoder, layers: tuple[int, ...], n_classes: int, rng: np.random.Generator
) -> Network:
    """Draw fixed links with all 16 gates; the last layer has one group of gates per class."""
    network = build_network(
        encoder.literals,
        Shape(layers, n_links=1, n_gates=16, concatenation="none"),
        n_classes=n_classes,
        slope=1.0,
        vote_threshold=_VOTE_THRESHOLD,
        vote_density=0.0,
        rng=rng,
    )
    group = np.arange(layers[-1]) // (layers[-1] // n_classes)
    votes = np.where(group == np.arange(n_classes)[:, None], _SURE, -_SURE)
    return replace(network, vote_logits=np.ascontiguousarray(votes, dtype=np.float32))


def _fit(task: Task, params: Params, budget: Budget, binning: Binning) -> Circuit:
    fold = hold_back(task.arrays.train_target, task.seed)
    # The thresholds are placed with the validation rows too.
    rows = _encode(task, np.arange(len(task.rows[0])), params["cutoffs"], binning)
    (trained,) = train_population([_job(task, rows, fold, params, budget, final=True)], n_threads=1)
    return discretise(
        [trained.network],
        rows.encoder,
        rows.fitted,
        classes=tuple(range(task.n_classes)),
        temperature=params["tau"],
    )
