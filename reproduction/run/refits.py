"""Fit stored cells of DLN (paper) again: how far their networks converge, and their diagrams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score

from dln import Circuit, DLNClassifier, preset_options, simplify
from dln.core.literals import LiteralKind
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.data.table import read_table
from dln.estimators.plan import plan_fit
from dln.estimators.reading import draw_seed, read_problem
from dln.search.final import find_best_epoch, fit_best_epoch
from dln.search.folds import Fold, hold_out
from dln.search.paper import FINAL_EVAL_EVERY, HELD_BACK
from dln.search.tasks import encode_fold
from dln.train.engines import find_engine
from dln.train.jobs import Job
from dln.train.network import Network
from dln.train.trace import softmax
from reproduction.datasets import load
from reproduction.files import write_atomically
from reproduction.protocol import Task
from reproduction.run.results import Result

DECIDED = 0.9
"""A choice is decided if its most likely candidate has at least this probability."""

DRAWN = ("Cirrhosis", "HeartFailure", "Liver")
"""The tables whose diagrams the paper shows."""

SOFT_EPOCHS = 200
"""Epochs without straight-through estimators, which only PyTorch trains."""


@dataclass(frozen=True)
class Convergence:
    """One network at the end of its training.

    Attributes
    ----------
    training
        "straight-through" or "soft".
    gates, links
        Fraction of gates, and of inputs of gates, whose choice is decided.
    outside
        Fraction of the thresholds that ended outside [0, 1], where they are constant.
    soft, hard
        Balanced accuracy on the test rows, in percent: of the soft network, and of the circuit.
    """

    dataset: str
    seed: int
    training: str
    gates: float
    links: float
    outside: float
    soft: float
    hard: float


def measure_convergence(
    results: Sequence[Result], datasets: Sequence[str]
) -> Iterator[Convergence]:
    """Fit the cells of some tables again; the first seed also without straight-through."""
    for result in results:
        if result.model != "paper" or result.dataset not in datasets:
            continue
        task = Task(load(result.dataset), result.seed)
        yield _measure(task, result, "straight-through")
        if result.seed == 0:
            yield _measure(task, result, "soft")


def _classifier(result: Result, **change: Any) -> DLNClassifier:
    """Return the classifier that the search of a cell fitted at the end.

    Results do not name options that are younger than they are; the preset has them.
    """
    preset = {
        name: value
        for name, value in preset_options("paper").items()
        if not name.startswith("validation_")  # `find_best_epoch` chooses the epoch
    }
    params = {**preset, **result.params, "layers": tuple(result.params["layers"])}
    return DLNClassifier(**{**params, "random_state": draw_seed(result.seed), **change})


def _measure(task: Task, result: Result, training: str) -> Convergence:
    is_soft = training == "soft"
    change = {"relaxation": "soft", "epochs": SOFT_EPOCHS, "engine": "torch"} if is_soft else {}
    model = _classifier(result, **change)
    X, y = task.train
    read, _ = read_problem(model, X, y, None, model.class_weight)
    rows = hold_out(read.target, HELD_BACK, draw_seed(result.seed))
    weight = np.ones(len(read.target))
    weight[rows.valid] = 0.0
    problem, _ = read_problem(model, X, y, weight, model.class_weight)
    plan = plan_fit(model, problem.counting())
    engine, seed = find_engine(model.engine, model.device), draw_seed(draw_seed(result.seed))
    fold = Fold(rows.train, rows.valid)
    epochs = find_best_epoch(
        problem, fold, plan, engine=engine, seed=seed, n_threads=1, eval_every=FINAL_EVAL_EVERY
    )
    recipe = plan.candidates.usual
    encoded = encode_fold(problem, fold, recipe.encode)
    start = int(np.random.default_rng(seed).integers(2**63))
    options = replace(recipe.options, seed=start, epochs=epochs)
    network = recipe.draw_network(encoded.encoder.literals, encoded.n_classes, start)
    (trained,) = engine([Job(network, encoded.data, fold.train, options)], n_threads=1)
    cells = encoded.encoder.encode(read_table(task.test_table))
    soft, hard = _points(trained.network, cells)
    thresholds = trained.network.cutoffs[trained.network.literal_kind == LiteralKind.ABOVE]
    target = task.arrays.test_target
    return Convergence(
        dataset=result.dataset,
        seed=result.seed,
        training=training,
        gates=_decided(trained.network.gate_logits),
        links=_decided(trained.network.link_logits),
        outside=round(float(((thresholds < 0) | (thresholds > 1)).mean()), 4)
        if len(thresholds)
        else 0.0,
        soft=_percent(target, soft),
        hard=_percent(target, hard),
    )


def _decided(logits: NDArray[np.float32]) -> float:
    top = softmax(logits[None], np.ones(1, dtype=np.float32)).max(axis=-1)
    return round(float((top >= DECIDED).mean()), 4)


def _percent(target: NDArray[np.intp], points: NDArray[np.float64]) -> float:
    return round(100.0 * float(balanced_accuracy_score(target, points.argmax(axis=1))), 4)


def _points(
    network: Network, cells: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points of the soft network and of the circuit (rows, classes)."""
    import torch

    from dln.train.torch import LogicNetwork, Mode, Phase, set_mode

    model = LogicNetwork(network)
    set_mode(model, Mode(Phase.BOTH, relaxation="soft"))
    with torch.no_grad():
        soft = model.train()(torch.as_tensor(cells)).numpy()
        hard = model.eval()(torch.as_tensor(cells)).numpy()
    return soft.astype(np.float64), hard.astype(np.float64)


# -- diagrams -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A circuit that is drawn: its cell, and its balanced accuracy on test rows in percent."""

    dataset: str
    seed: int
    accuracy: float
    circuit: dict[str, Any]


def fit_drawn(results: Sequence[Result], folder: Path) -> Iterator[Path]:
    """Fit the circuits of the diagrams, those with the best validation score; write them."""
    for name in DRAWN:
        own = [one for one in results if (one.dataset, one.model) == (name, "paper")]
        if not own:
            continue
        best = max(own, key=lambda one: (one.validation or 0.0, -one.seed))
        task = Task(load(name), best.seed)
        X, y = task.train
        model = fit_best_epoch(
            _classifier(best), X, y, None, held_back=HELD_BACK, eval_every=FINAL_EVAL_EVERY
        )
        circuit = simplify(model.circuit_, "normal", prove=True)
        found = task.arrays.test_target
        winners = circuit.winners(task.test_table)
        record = {
            "dataset": name,
            "seed": best.seed,
            "accuracy": round(100.0 * float(balanced_accuracy_score(found, winners)), 4),
            "circuit": json.loads(circuit_to_json(circuit)),
        }
        path = folder / f"{name}.json"
        write_atomically(path, json.dumps(record) + "\n")
        yield path


def read_drawn(folder: Path) -> list[tuple[Drawn, Circuit]]:
    """Read the circuits of the diagrams; empty if there are none."""
    found = []
    for name in DRAWN:
        path = folder / f"{name}.json"
        if path.exists():
            record = Drawn(**json.loads(path.read_text("utf-8")))
            found.append((record, circuit_from_json(json.dumps(record.circuit))))
    return found
