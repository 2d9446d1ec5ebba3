"""The paper's ablations, paired: each variant uses the rows and draws of the original.

For each seed, the training rows are split into 60 % for training, 20 % for selection and 20 % for
evaluation. The test rows are not used. Hyperparameters are drawn at random from the paper's space;
all variants get the same draws. The selection rows choose the best epoch of each draw and the
better half of the draws. The result is the mean accuracy of these draws on the evaluation rows;
a single draw would be too noisy.

Differs from the paper: it runs a separate Optuna search for each variant and uses test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from dln import DLNClassifier, Freezing, Gumbel, Pruning, cost, preset_options
from reproduction.datasets import Dataset
from reproduction.models.outcome import EngineName, percent
from reproduction.protocol import Task, batch_size, first_layers, layer_sizes

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
    """Run a variant on all its splits of a dataset."""
    variant = VARIANTS[name]
    fixed = {"engine": variant.engine or engine, "device": device_of(engine), "n_jobs": 1}
    results = []
    # Threads are enough: training releases Python's lock. A GPU is used by one fit at a time.
    with Parallel(threads if fixed["engine"] == "native" else 1, prefer="threads") as parallel:
        for task in (Task(dataset, seed) for seed in variant.seeds_for(len(dataset.y))):
            draws = [{**_draw(task, variant, number), **fixed} for number in range(variant.draws)]
            runs = parallel(delayed(_fit)(task, draw, n) for n, draw in enumerate(draws))
            results.append(Ablated(dataset.name, name, task.seed, *_summary(runs)))
    return results


def _draw(task: Task, variant: Variant, number: int) -> dict[str, Any]:
    """Draw the hyperparameters of a fit from the paper's space; all variants draw the same."""
    rng = np.random.default_rng([task.seed, number])
    learning_rate = _draw_log(rng, 0.01, 0.3)
    n_layers = int(rng.integers(2, 6))
    ratio = _draw_log(rng, 0.25, 1.0)
    n_cutoffs = (4, 6)[int(rng.integers(2))]
    tau = _draw_log(rng, 1.0, 30.0)
    grad_factor = float(rng.uniform(1.0, 2.0))
    low, high = first_layers(task)
    first = int(rng.integers(low, high + 1))
    # `_fit` chooses the epoch by its own selection rows.
    fixed = {
        name: value
        for name, value in preset_options("paper").items()
        if not name.startswith("validation_")
    }
    return {
        **fixed,
        "layers": layer_sizes(first, ratio, n_layers, task.n_classes),
        "learning_rate": learning_rate,
        "n_cutoffs": n_cutoffs,
        "tau": tau,
        "grad_factor": grad_factor,
        "epochs": variant.epochs,
        "batch_size": batch_size(task.n_classes),
        **variant.change(rng),
    }


def _draw_log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _fit(task: Task, params: Mapping[str, Any], number: int) -> tuple[float, float, int]:
    """Fit one draw; return its accuracy on the selection rows and on the others, and its size."""
    X, y = task.train
    X_fit, X_judge, y_fit, y_judge = train_test_split(
        X, y, test_size=0.2, stratify=y, random_state=task.seed
    )
    model = DLNClassifier(**params, validation_fraction=0.25, random_state=number)
    model.fit(X_fit, y_fit)
    chosen = float(np.nanmax(model.history_["valid_accuracy"]))
    accuracy = percent(y_judge, model.predict(X_judge))
    return chosen, accuracy, cost(model.circuit_).gate_operations


def _summary(runs: Sequence[tuple[float, float, int]]) -> tuple[float, float]:
    """Return the mean accuracy and size of the better half of the draws."""
    order = np.argsort([-chosen for chosen, _, _ in runs], kind="stable")
    better = [runs[place][1:] for place in order[: max(1, len(runs) // 2)]]
    accuracy, size = np.mean(better, axis=0).tolist()
    return round(accuracy, 4), round(size, 1)
