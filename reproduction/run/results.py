"""Cells of the experiment and their result files: one small JSON file per cell.

Each result is written in one atomic step. A killed run loses only the cells in progress.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dln import TableError
from reproduction.datasets.known import KNOWN
from reproduction.files import write_atomically
from reproduction.models.outcome import Budget, EngineName, Outcome
from reproduction.models.registry import MODELS, find_model
from reproduction.run.provenance import provenance


@dataclass(frozen=True)
class Cell:
    """One model on one split of one dataset."""

    dataset: str
    model: str
    seed: int

    def path(self, folder: Path) -> Path:
        """Return the path of its result file."""
        return folder / self.dataset / f"{self.model}-{self.seed}.json"

    def __str__(self) -> str:
        return f"{self.dataset} {self.model} {self.seed}"


@dataclass(frozen=True)
class Result:
    """The content of a result file: accuracies in percent, costs as the paper counts them.

    `parts` holds the seconds of parts of the run; "cpu" is processor time. `epochs` and `engine`
    are those that the model used (`Training`), or None if it has none. Older results have the
    budget's values for every model; if they name no engine, it was "native".
    """

    dataset: str
    model: str
    seed: int
    accuracy: float
    validation: float
    params: Mapping[str, Any]
    operations: int | None
    gate_operations: int | None
    parameters: int | None
    bytes: int | None
    seconds: float
    parts: Mapping[str, float]
    trials: int
    epochs: int | None
    note: str
    version: str
    commit: str
    processor: str
    cores: int
    engine: EngineName | None = "native"

    @property
    def cell(self) -> Cell:
        """The cell that this is the result of."""
        return Cell(self.dataset, self.model, self.seed)

    def is_of(self, budget: Budget) -> bool:
        """Return whether a budget would lead to the same search, on any engine."""
        epochs = find_model(self.model).training.epochs(budget)
        return self.trials == budget.trials and epochs in (None, self.epochs)


def make_result(cell: Cell, outcome: Outcome, budget: Budget, seconds: float) -> Result:
    """Convert an outcome to the content of a result file."""
    cost, training = outcome.cost, find_model(cell.model).training
    return Result(
        **asdict(cell),
        accuracy=round(outcome.accuracy, 4),
        validation=round(outcome.validation, 4),
        params={name: _plain(value) for name, value in outcome.params.items()},
        operations=None if cost is None else cost.operations,
        gate_operations=None if cost is None else cost.gate_operations,
        parameters=None if cost is None else cost.parameters,
        bytes=None if cost is None else cost.bytes,
        seconds=round(seconds, 3),
        parts={name: round(value, 3) for name, value in outcome.seconds.items()},
        trials=budget.trials,
        epochs=training.epochs(budget),
        engine=training.engine(budget),
        note=outcome.note,
        **provenance(),  # type: ignore[arg-type]
    )


def _plain(value: Any) -> Any:
    """Convert NumPy numbers to Python numbers, and values that JSON lacks to text."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def write_result(result: Result, folder: Path) -> None:
    """Write a result file in one atomic step."""
    write_atomically(result.cell.path(folder), json.dumps(asdict(result), indent=1) + "\n")


def read_results(folder: Path, budget: Budget | None = None) -> list[Result]:
    """Read all results of a folder, sorted by name; ignore other files.

    If a budget is given, results of another budget raise an error: they are not comparable.
    """
    results = [_read(path) for path in sorted(folder.glob("*/*.json")) if _is_named_so(path)]
    for result in results:
        if budget is not None and not result.is_of(budget):
            epochs = find_model(result.model).training.epochs(budget)
            raise TableError(
                f"{result.cell.path(folder)} has {_effort(result.trials, result.epochs)}, "
                f"expected {_effort(budget.trials, epochs)}; use another results folder, "
                "or delete the results of the other budget"
            )
    return results


def _effort(trials: int, epochs: int | None) -> str:
    return f"{trials} trials" + ("" if epochs is None else f" of {epochs} epochs at most")


def _is_named_so(path: Path) -> bool:
    """Return whether a path is that of a result: dataset folder, model and seed."""
    model, _, seed = path.stem.rpartition("-")
    return path.parent.name in KNOWN and model in MODELS and seed.isdecimal()


def _read(path: Path) -> Result:
    try:
        return Result(**json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        raise TableError(f"{path} is not a result file; delete it and run again") from error


def missing(cells: Iterable[Cell], folder: Path) -> list[Cell]:
    """Return the cells that have no result yet."""
    return [cell for cell in cells if not cell.path(folder).exists()]
