"""Cells of the experiment and their result files: one small JSON file each.

A result is written at once and whole: a run that is killed loses the cells in progress only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dln.bench.files import write_whole
from dln.bench.known import KNOWN
from dln.bench.models import MODELS, find_model
from dln.bench.outcome import Budget, Outcome
from dln.bench.provenance import provenance
from dln.errors import TableError
from dln.train.engines import EngineName


@dataclass(frozen=True)
class Cell:
    """One model on one split of one dataset."""

    dataset: str
    model: str
    seed: int

    def path(self, folder: Path) -> Path:
        """Say where its result is."""
        return folder / self.dataset / f"{self.model}-{self.seed}.json"

    def __str__(self) -> str:
        return f"{self.dataset} {self.model} {self.seed}"


@dataclass(frozen=True)
class Result:
    """What a result file holds; accuracies in percent, costs as the paper counts them.

    `parts` are seconds of parts of the run; "cpu" is its time on the processor. `epochs` and
    `engine` are what the model made of its budget (`dln.bench.models.Training`), None where it has
    none. Older files have those of the budget for every model, and native's where they name none.
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
        """The cell that it is of."""
        return Cell(self.dataset, self.model, self.seed)

    def is_of(self, budget: Budget) -> bool:
        """Say whether the model would be searched like this under a budget, on any engine."""
        epochs = find_model(self.model).training.epochs(budget)
        return self.trials == budget.trials and epochs in (None, self.epochs)


def make_result(cell: Cell, outcome: Outcome, budget: Budget, seconds: float) -> Result:
    """Put an outcome into the form of a result file."""
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
    """Turn NumPy's numbers into Python's, and what JSON does not know into text."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def write_result(result: Result, folder: Path) -> None:
    """Write a result file, whole or not at all."""
    write_whole(result.cell.path(folder), asdict(result))


def read_results(folder: Path, budget: Budget | None = None) -> list[Result]:
    """Read all results of a folder, in the order of their names; other files are left alone.

    With a budget a folder that has results of another one is refused: they are not comparable.
    """
    results = [_read(path) for path in sorted(folder.glob("*/*.json")) if _is_named_so(path)]
    for result in results:
        if budget is not None and not result.is_of(budget):
            epochs = find_model(result.model).training.epochs(budget)
            raise TableError(
                f"{result.cell.path(folder)} has {_effort(result.trials, result.epochs)}, "
                f"expected {_effort(budget.trials, epochs)}; give another folder of results, "
                "or delete those of another budget"
            )
    return results


def _effort(trials: int, epochs: int | None) -> str:
    return f"{trials} trials" + ("" if epochs is None else f" of {epochs} epochs at most")


def _is_named_so(path: Path) -> bool:
    """Say whether a file has the name of a result: a table's folder, a model and a seed."""
    model, _, seed = path.stem.rpartition("-")
    return path.parent.name in KNOWN and model in MODELS and seed.isdecimal()


def _read(path: Path) -> Result:
    try:
        return Result(**json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        raise TableError(f"{path} is not a result of dln bench; delete it and run again") from error


def missing(cells: Iterable[Cell], folder: Path) -> list[Cell]:
    """Leave out the cells that have a result."""
    return [cell for cell in cells if not cell.path(folder).exists()]
