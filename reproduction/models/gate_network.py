"""The paper's LGN: a logic gate network with fixed random links, learned gates and grouped sums.

It is a `dln.train` network with one candidate per link and fixed thresholds from decision trees
(the paper's "tree-initialised"). Each class counts the gates of its own group in the last layer.
Only the gate functions are trained.

Differs from the paper: gates are trained with straight-through estimators, so that the native
engine can train them. The original mixes the soft functions and discretises at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dln import Circuit, DLNClassifier, cost, simplify
from dln.encode.encoder import EncodeOptions, Encoder
from dln.estimators.reading import read_problem
from dln.search.folds import Fold
from dln.search.scores import fold_scores
from dln.search.tasks import FoldRows, encode_fold
from dln.search.tasks import Outcome as Looks
from dln.train.discretise import discretise
from dln.train.fit import Problem
from dln.train.jobs import Job, Trained
from dln.train.native import train_population
from dln.train.network import Network, Shape, build_network
from dln.train.options import Alternating, TrainOptions
from reproduction.models.optuna_batches import propose_in_batches
from reproduction.models.outcome import Budget, Outcome, percent
from reproduction.protocol import (
    EVAL_EVERY,
    FINAL_EVAL_EVERY,
    PATIENCE,
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


def gate_network(task: Task, budget: Budget) -> Outcome:
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
        partial(_evaluate, task, budget),
        n_trials=budget.trials,
        batch=_BATCH_OF_TRIALS,
        seed=task.seed,
    )
    circuit = simplify(_fit(task, best, budget), "normal", prove=True)
    return Outcome(
        accuracy=percent(task.arrays.test_target, circuit.winners(task.test_table)),
        validation=100.0 * score,
        params=best,
        cost=cost(circuit),
    )


def _evaluate(task: Task, budget: Budget, batch: list[Params]) -> list[float]:
    """Score trials on the folds; all networks train in parallel."""
    encoded: dict[tuple[int, int], FoldRows] = {}
    jobs = []
    for params in batch:
        for number, (train, valid) in enumerate(task.folds):
            key = number, params["cutoffs"]
            if key not in encoded:
                encoded[key] = _encode(task, Fold(train, valid), params["cutoffs"])
            jobs.append(_job(task, encoded[key], params, budget, EVAL_EVERY, PATIENCE))
    trained = train_population(jobs, n_threads=budget.threads)
    n_folds = len(task.folds)
    by_trial = [trained[start : start + n_folds] for start in range(0, len(trained), n_folds)]
    return [_score(runs) for runs in by_trial]


def _score(runs: Sequence[Trained]) -> float:
    """Score a trial by the evaluations of its folds, as the paper does."""
    scores = fold_scores([Looks(tuple(run.looks.tolist())) for run in runs], 0.1)
    return float(score_trials(scores))


def _encode(task: Task, fold: Fold, n_cutoffs: int) -> FoldRows:
    """Fit min-max scaling and tree thresholds on the training part of a fold; encode all rows."""
    return encode_fold(_problem(task), fold, EncodeOptions(n_cutoffs=n_cutoffs, n_knots=2))


@lru_cache(maxsize=1)
def _problem(task: Task) -> Problem:
    """Read the training rows as a DLN does, with balanced class weights."""
    return read_problem(DLNClassifier(), *task.train, None, "balanced")[0].kept()


def _job(
    task: Task, rows: FoldRows, params: Params, budget: Budget, eval_every: int, patience: int
) -> Job:
    n_classes = task.n_classes
    layers = layer_sizes(params["first"], params["ratio"], params["layers"], n_classes)
    options = TrainOptions(
        epochs=budget.epochs,
        batch_size=batch_size(n_classes),
        rate=params["rate"],
        final_rate=1.0,
        threshold_rate=0.0,
        tau=params["tau"],
        vote_threshold=_VOTE_THRESHOLD,
        phases=_GATES_ONLY,
        eval_every=min(eval_every, budget.epochs),
        patience=patience,
        keep_best=True,
        seed=task.seed,
    )
    rng = np.random.default_rng(task.seed)
    network = draw_gate_network(rows.encoder, layers, n_classes, rng)
    return Job(network, rows.data, rows.fold.train, options, rows.fold.valid)


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


def _fit(task: Task, params: Params, budget: Budget) -> Circuit:
    train, valid = hold_back(task.arrays.train_target, task.seed)
    # The thresholds are placed with the validation rows too.
    everything = np.arange(len(task.rows[0]))
    rows = _encode(task, Fold(everything, valid), params["cutoffs"])
    held = replace(rows, fold=Fold(train, valid))
    job = _job(task, held, params, budget, FINAL_EVAL_EVERY, 0)
    (trained,) = train_population([job], n_threads=1)
    return discretise(
        [trained.network],
        rows.encoder,
        rows.table,
        rows.data.cells,
        classes=rows.classes,
        vote_threshold=_VOTE_THRESHOLD,
        temperature=params["tau"],
    )
