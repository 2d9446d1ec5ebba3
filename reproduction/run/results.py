"""The results of cells, stored by model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dln import TableError
from reproduction.models.outcome import Budget, EngineName, Outcome
from reproduction.models.registry import MODELS, engine_of, epochs_of
from reproduction.run.cells import Cell
from reproduction.run.provenance import provenance
from reproduction.store import Document, Key, Store


@dataclass(frozen=True)
class Result:
    """The result of a cell: accuracies in percent, costs as the paper counts them.

    `parts` holds the seconds of parts of the run; "cpu" is processor time. `epochs` and `engine`
    are those that the model used (`epochs_of`, `engine_of`), or None. Older results have the
    budget's values for every model; if they name no engine, it was "native".
    """

    dataset: str
    model: str
    seed: int
    accuracy: float
    validation: float | None
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
        epochs = epochs_of(self.model, budget)
        return self.trials == budget.trials and epochs in (None, self.epochs)


def make_result(cell: Cell, outcome: Outcome, budget: Budget, seconds: float) -> Result:
    """Convert an outcome to a result."""
    cost = outcome.cost
    return Result(
        **asdict(cell),
        accuracy=round(outcome.accuracy, 4),
        validation=None if outcome.validation is None else round(outcome.validation, 4),
        params={name: _plain(value) for name, value in outcome.params.items()},
        operations=None if cost is None else cost.operations,
        gate_operations=None if cost is None else cost.gate_operations,
        parameters=None if cost is None else cost.parameters,
        bytes=None if cost is None else cost.bytes,
        seconds=round(seconds, 3),
        parts={name: round(value, 3) for name, value in outcome.seconds.items()},
        trials=budget.trials,
        epochs=epochs_of(cell.model, budget),
        engine=engine_of(cell.model, budget),
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


@cache
def store_of(model: str, folder: Path) -> Store:
    """Return the results of a model."""
    return Store(folder, model, partial(_key_of, model))


def _key_of(model: str, document: Document) -> Key:
    result = Result(**document)
    if result.model != model:
        raise ValueError(f"a result of {result.model}")
    return result.dataset, result.seed


def write_result(result: Result, folder: Path) -> None:
    """Write a loose result."""
    store_of(result.model, folder).add(asdict(result))


def has_result(cell: Cell, folder: Path) -> bool:
    """Return whether a cell has a result."""
    return store_of(cell.model, folder).has((cell.dataset, cell.seed))


def read_results(folder: Path, budget: Budget | None = None) -> list[Result]:
    """Read all results of a folder, sorted by dataset, model and seed.

    If a budget is given, results of another budget raise an error: they are not comparable.
    """
    found = [Result(**one) for model in MODELS for one in store_of(model, folder).read()]
    for result in found:
        if budget is not None and not result.is_of(budget):
            raise TableError(
                f"{folder}: {result.cell} has {_effort(result.trials, result.epochs)}, "
                f"expected {_effort(budget.trials, epochs_of(result.model, budget))}; "
                "use another results folder, or delete the results of the other budget"
            )
    return sorted(found, key=lambda result: (result.dataset, result.model, result.seed))


def _effort(trials: int, epochs: int | None) -> str:
    return f"{trials} trials" + ("" if epochs is None else f" of {epochs} epochs at most")


def missing(cells: Iterable[Cell], folder: Path) -> list[Cell]:
    """Return the cells that have no result yet."""
    return [cell for cell in cells if not has_result(cell, folder)]
