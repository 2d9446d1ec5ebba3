"""The paper's ablations, paired: each variant uses the rows, draws and seeds of the original.

For each seed, the training rows are split into 60 % for training, 20 % for selection and 20 % for
evaluation. The test rows are not used. Hyperparameters are drawn at random from the paper's space;
all variants get the same draws. The selection rows choose the best epoch of each draw and the
better half of the draws. The result is the mean accuracy of these draws on the evaluation rows;
a single draw would be too noisy.

Differs from the paper: it runs a separate Optuna search for each variant and uses test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from dln.bench.protocol import Task
from dln.cost.circuit import cost
from dln.datasets import Dataset
from dln.encode.encoder import EncodeOptions
from dln.estimator import DLNClassifier
from dln.planning import plan_fit
from dln.search.folds import Fold
from dln.search.presets import find_preset
from dln.search.space import Between, Space
from dln.search.tasks import FoldRows, encode_fold
from dln.search.votes import balanced_accuracy, count_votes
from dln.simplify.simplify import simplify
from dln.train.discretise import discretise
from dln.train.engines import EngineName, find_engine
from dln.train.fit import Problem
from dln.train.jobs import Job, Trained
from dln.train.options import Freezing, Gumbel, Pruning
from dln.train.recipe import Recipe

_LOOK_EVERY = 10
_MANY_ROWS = 4_000
"""Number of rows from which a table counts as large."""

Draw = Callable[[np.random.Generator], Mapping[str, Any]]
"""Draws the parameters that a variant changes."""


@dataclass(frozen=True)
class Variant:
    """A column of the paper's ablation table, and the parameters that it changes.

    Attributes
    ----------
    original
        Name of the variant that it is compared with; it has the same draws and epochs.
    engine
        The only engine that can train it; None if every engine can.
    draws, epochs, seeds
        Number of hyperparameter draws, maximal number of epochs, number of splits.
    seeds_of_many_rows
        Number of splits for large tables; None for the same number as other tables.
    """

    change: Draw
    original: str = "original"
    engine: EngineName | None = None
    draws: int = 8
    epochs: int = 300
    seeds: int = 20
    seeds_of_many_rows: int | None = None

    def seeds_for(self, n_rows: int) -> range:
        """Return the seeds of the splits for a table."""
        fewer = self.seeds_of_many_rows if n_rows >= _MANY_ROWS else None
        return range(self.seeds if fewer is None else fewer)


def _fixed(**changes: Any) -> Draw:
    return lambda rng: changes


def _relaxed(relaxation: Any) -> Variant:
    """Make a variant that only PyTorch trains; it is 200 times slower, so it runs less."""
    return Variant(
        _fixed(relaxation=relaxation),
        SHORT,
        "torch",
        draws=2,
        epochs=100,
        seeds=10,
        seeds_of_many_rows=4,
    )


ORIGINAL, SHORT = "original", "original, short"
VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        ORIGINAL: Variant(_fixed()),
        "all links and gates": Variant(_fixed(n_links=None, n_gates=16)),
        "16 links": Variant(_fixed(n_links=16)),
        "4 links and gates": Variant(_fixed(n_links=4, n_gates=4)),
        "no concatenation": Variant(_fixed(concatenation="none")),
        "shared thresholds": Variant(_fixed(concatenation="shared")),
        "unified phases": Variant(_fixed(phases="unified")),
        "fixed thresholds": Variant(_fixed(threshold_rate=0.0)),
        "freezing": Variant(lambda rng: {"freezing": Freezing(float(rng.uniform(0.2, 0.8)))}),
        "pruning": Variant(lambda rng: {"pruning": _draw_pruning(rng)}),
        # Not in the paper: a steeper slope, so that fewer rows move a threshold.
        "slope 20": Variant(_fixed(slope=20.0, threshold_rate=0.1)),
        SHORT: Variant(_fixed(), SHORT, draws=2, epochs=100, seeds=10),
        "no straight-through": _relaxed("soft"),
        "gumbel": _relaxed(Gumbel(0.5)),
    }
)
"""The paper's columns by the names of its figures, and one of ours."""


def _draw_pruning(rng: np.random.Generator) -> Pruning:
    start, end = np.sort(rng.uniform(0.2, 0.9, 2)).tolist()
    return Pruning(start, end, convergence=float(rng.uniform(0.3, 0.7)))


@dataclass(frozen=True)
class Ablated:
    """One variant on one seed: mean balanced accuracy in percent and gate-level operations."""

    dataset: str
    variant: str
    seed: int
    accuracy: float
    gate_operations: float


def device_of(engine: EngineName) -> str:
    """Return the device; engine "cuda" means the GPU, even if a variant needs another engine."""
    return "cuda" if engine == "cuda" else "cpu"


def run_variant(
    dataset: Dataset, name: str, *, threads: int = 1, engine: EngineName = "native"
) -> list[Ablated]:
    """Run a variant on all its splits of a dataset; all networks train in parallel."""
    variant = VARIANTS[name]
    device, engine = device_of(engine), variant.engine or engine
    seeds = variant.seeds_for(len(dataset.y))
    attempts = [_attempt(Task(dataset, seed), variant, engine) for seed in seeds]
    jobs = [job for attempt in attempts for job in attempt.jobs]
    trained = iter(find_engine(engine, device)(jobs, n_threads=threads))
    return [_judge(dataset.name, name, attempt, trained) for attempt in attempts]


@dataclass(frozen=True, eq=False)
class _Attempt:
    """One split: its hyperparameter draws, and the rows that evaluate them."""

    seed: int
    jobs: list[Job]
    recipes: list[Recipe]
    rows: list[FoldRows]
    judge: NDArray[np.int64]


def _attempt(task: Task, variant: Variant, engine: EngineName) -> _Attempt:
    """Split the training rows into three parts and draw the hyperparameters."""
    problem = task.problem
    fold, judge = _parts(problem, task.seed)
    preset = find_preset("paper", problem)
    encoded: dict[EncodeOptions, FoldRows] = {}
    attempt = _Attempt(task.seed, [], [], [], judge)
    for number in range(variant.draws):
        rng = np.random.default_rng([task.seed, number])
        values = _draw(preset.space, rng)
        changes = {"epochs": variant.epochs, **variant.change(rng), "engine": engine}
        model = DLNClassifier(**{**preset.parameters(values), **changes})
        plan = plan_fit(model, problem)
        if plan.encode not in encoded:
            encoded[plan.encode] = encode_fold(problem, fold, plan.encode)
        attempt.recipes.append(plan.candidates.usual)
        attempt.rows.append(encoded[plan.encode])
        attempt.jobs.append(_job(attempt.recipes[-1], attempt.rows[-1], seed=number))
    return attempt


def _parts(problem: Problem, seed: int) -> tuple[Fold, NDArray[np.int64]]:
    """Split rows into rows for training and selection, and rows for evaluation."""
    target = problem.target
    rows, judge = train_test_split(
        np.arange(len(target)), test_size=0.2, stratify=target, random_state=seed
    )
    train, choose = train_test_split(rows, test_size=0.25, stratify=target[rows], random_state=seed)
    return Fold(train.astype(np.int64), choose.astype(np.int64)), judge.astype(np.int64)


def _draw(space: Space, rng: np.random.Generator) -> dict[str, Any]:
    """Draw one set of hyperparameters at random."""
    return {name: _draw_one(wish, rng) for name, wish in space.items()}


def _draw_one(wish: Any, rng: np.random.Generator) -> Any:
    if isinstance(wish, list):
        return wish[int(rng.integers(len(wish)))]
    if not isinstance(wish, Between):
        return wish
    if wish.whole:
        return int(rng.integers(int(wish.low), int(wish.high) + 1))
    if wish.log:
        return float(np.exp(rng.uniform(np.log(wish.low), np.log(wish.high))))
    return float(rng.uniform(wish.low, wish.high))


def _job(recipe: Recipe, rows: FoldRows, seed: int) -> Job:
    options = replace(recipe.options, seed=seed, eval_every=_LOOK_EVERY, keep_best=True)
    network = recipe.draw_network(rows.encoder.literals, rows.n_classes, seed)
    return Job(network, rows.data, rows.fold.train, options, rows.fold.valid)


def _judge(dataset: str, name: str, attempt: _Attempt, trained: Iterator[Trained]) -> Ablated:
    """Choose the better half of the draws and evaluate them on unseen rows."""
    runs = list(islice(trained, len(attempt.jobs)))
    looks = np.array([run.looks.max() for run in runs])
    chosen = np.argsort(-looks, kind="stable")[: max(1, len(looks) // 2)].tolist()
    judged = [
        _measure(runs[draw], attempt.recipes[draw], attempt.rows[draw], attempt.judge)
        for draw in chosen
    ]
    accuracy, size = np.mean(judged, axis=0).tolist()
    return Ablated(dataset, name, attempt.seed, round(accuracy, 4), round(size, 1))


def _measure(
    run: Trained, recipe: Recipe, rows: FoldRows, judge: NDArray[np.int64]
) -> tuple[float, int]:
    """Return the balanced accuracy in percent and the gate-level operations of a network."""
    threshold = recipe.options.vote_threshold
    votes = count_votes([run.network], rows.data.cells[judge], threshold)
    circuit = discretise(
        [run.network],
        rows.encoder,
        rows.table,
        rows.data.cells[rows.fold.train],
        classes=rows.classes,
        vote_threshold=threshold,
        temperature=recipe.options.tau,
    )
    accuracy = balanced_accuracy(rows.data.target[judge], votes.argmax(axis=1))
    return 100 * accuracy, cost(simplify(circuit, "quick", prove=False)).gate_operations
