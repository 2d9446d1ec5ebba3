"""The paper's ablations, paired: each variant uses the rows and draws of the original.

For each seed, the training rows are split into 60 % for training, 20 % for selection and 20 % for
evaluation. The test rows are not used. Hyperparameters are drawn at random from the paper's space;
all variants get the same draws. The selection rows choose the best epoch of each draw and the
better half of the draws. The result is the mean accuracy of these draws on the evaluation rows;
a single draw would be too noisy. For freezing and pruning, as in the paper, only their own options
are drawn; the other hyperparameters are those of the original's better half.

Differs from the paper: it runs a separate Optuna search for each variant and uses test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from dln import DLNClassifier, Freezing, Gumbel, Pruning, cost, preset_options
from reproduction.datasets import Dataset
from reproduction.models.outcome import EngineName, percent
from reproduction.protocol import Task, batch_size, first_layers, layer_sizes
from reproduction.published import train_rows_of

Draw = Callable[[np.random.Generator], Mapping[str, Any]]
"""Draws the parameters that a variant changes."""


@dataclass(frozen=True)
class Effort:
    """Draws of hyperparameters and epochs for each split of a table; number of its splits."""

    draws: int
    epochs: int
    seeds: int


Efforts = Sequence[tuple[float, Effort]]
"""Efforts by the number of training rows below which they apply, ascending."""

_FULL: Efforts = (
    (750, Effort(draws=8, epochs=300, seeds=10)),
    (3_000, Effort(draws=8, epochs=300, seeds=4)),
    (inf, Effort(draws=2, epochs=100, seeds=4)),
)
_SHORT: Efforts = (
    (750, Effort(draws=2, epochs=100, seeds=10)),
    (3_000, Effort(draws=2, epochs=100, seeds=4)),
    (inf, Effort(draws=1, epochs=50, seeds=4)),
)
"""For the variants that only PyTorch trains: it is many times slower."""


@dataclass(frozen=True)
class Variant:
    """A column of the paper's ablation table, and the parameters that it changes.

    Attributes
    ----------
    change
        Draws the parameters that it changes.
    original
        Name of the variant that it is compared with; it has the same draws and epochs.
    searched
        Whether only the changed parameters are searched; the others are those of the better half
        of the original's draws.
    engine
        The only engine that can train it; None if every engine can.
    """

    change: Draw
    original: str = "original"
    searched: bool = False
    engine: EngineName | None = None

    def effort(self, dataset: str) -> Effort:
        """Return the effort for a table."""
        n_rows = train_rows_of(dataset)
        efforts = _SHORT if self.original == SHORT else _FULL
        return next(effort for end, effort in efforts if n_rows < end)


def _fixed(**changes: Any) -> Draw:
    return lambda rng: changes


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
        "freezing": Variant(
            lambda rng: {"freezing": Freezing(float(rng.uniform(0.2, 0.8)))}, searched=True
        ),
        "pruning": Variant(lambda rng: {"pruning": _draw_pruning(rng)}, searched=True),
        # Not in the paper: a steeper slope, so that fewer rows move a threshold.
        "slope 20": Variant(_fixed(slope=20.0, threshold_rate=0.1)),
        SHORT: Variant(_fixed(), SHORT),
        "no straight-through": Variant(_fixed(relaxation="soft"), SHORT, engine="torch"),
        "gumbel": Variant(_fixed(relaxation=Gumbel(0.5)), SHORT, engine="torch"),
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


def run_split(dataset: Dataset, name: str, seed: int, engine: EngineName = "native") -> Ablated:
    """Run a variant on one split of a dataset."""
    task, variant = Task(dataset, seed), VARIANTS[name]
    effort = variant.effort(dataset.name)
    hyperparameters = [_draw(task, number, effort.epochs) for number in range(effort.draws)]
    original = [_Run(number, number) for number in range(effort.draws)]

    def fit(runs: Sequence[_Run], change: Draw) -> list[_Fitted]:
        fixed = {"engine": variant.engine or engine, "device": device_of(engine), "n_jobs": 1}
        return [
            _fit(
                task,
                {
                    **hyperparameters[run.hyperparameters],
                    **change(np.random.default_rng([seed, run.options, 1])),
                    **fixed,
                },
                run,
            )
            for run in runs
        ]

    if variant.searched:
        better = _better_half(fit(original, VARIANTS[variant.original].change))
        runs = [
            _Run(better[number % len(better)].run.hyperparameters, number)
            for number in range(effort.draws)
        ]
    else:
        runs = original
    chosen = _better_half(fit(runs, variant.change))
    return Ablated(
        dataset.name,
        name,
        seed,
        accuracy=round(float(np.mean([one.accuracy for one in chosen])), 4),
        gate_operations=round(float(np.mean([one.gate_operations for one in chosen])), 1),
    )


@dataclass(frozen=True)
class _Run:
    """Numbers of a fit's draws: its hyperparameters, and the options that a variant draws."""

    hyperparameters: int
    options: int


@dataclass(frozen=True)
class _Fitted:
    """Accuracy of a fit on the selection rows and, in percent, on the evaluation rows; its size."""

    run: _Run
    selection: float
    accuracy: float
    gate_operations: int


def _better_half(fitted: Sequence[_Fitted]) -> list[_Fitted]:
    """Return the better half by the selection rows, at least one."""
    ordered = sorted(fitted, key=lambda one: -one.selection)
    return ordered[: max(1, len(ordered) // 2)]


def _draw(task: Task, number: int, epochs: int) -> dict[str, Any]:
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
        "epochs": epochs,
        "batch_size": batch_size(task.n_classes),
    }


def _draw_log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _fit(task: Task, params: Mapping[str, Any], run: _Run) -> _Fitted:
    X, y = task.train
    X_fit, X_judge, y_fit, y_judge = train_test_split(
        X, y, test_size=0.2, stratify=y, random_state=task.seed
    )
    model = DLNClassifier(**params, validation_fraction=0.25, random_state=run.hyperparameters)
    model.fit(X_fit, y_fit)
    return _Fitted(
        run,
        selection=float(np.nanmax(model.history_["valid_accuracy"])),
        accuracy=percent(y_judge, model.predict(X_judge)),
        gate_operations=cost(model.circuit_).gate_operations,
    )
