"""What running one model on one task gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score

from dln.bench.protocol import TRIALS, Task
from dln.cost.report import Cost
from dln.search.paper import MAX_EPOCHS
from dln.train.engines import EngineName


@dataclass(frozen=True)
class Budget:
    """How much a search may try.

    Attributes
    ----------
    trials
        Sets of hyperparameters.
    epochs
        Passes over the rows at most, for networks.
    threads
        Cores to use.
    engine
        What trains the DLN.
    """

    trials: int = TRIALS
    epochs: int = MAX_EPOCHS
    threads: int = 1
    engine: EngineName = "native"


@dataclass(frozen=True)
class Outcome:
    """Accuracy in percent, what was chosen and what the model costs.

    Attributes
    ----------
    accuracy, validation
        Balanced accuracy on the test rows, and the search's own score of what it chose.
    params
        The chosen hyperparameters.
    cost
        Operations, parameters and bytes; None where the paper has no formula for the model.
    seconds
        Of the search and of the final fit, where they are known apart.
    note
        What was cut or differs, in words; shown beside the tables.
    siblings
        Outcomes of other models that came out of the same search, by their names.
    """

    accuracy: float
    validation: float
    params: Mapping[str, Any]
    cost: Cost | None
    seconds: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    siblings: Mapping[str, Outcome] = field(default_factory=dict)


class Model(Protocol):
    """Searches, fits and tests on a task; every random draw follows from the task's seed."""

    def __call__(self, task: Task, budget: Budget) -> Outcome:
        """Run the model."""


def percent(target: NDArray[np.intp], predicted: NDArray[np.intp]) -> float:
    """Give the balanced accuracy in percent."""
    return 100.0 * float(balanced_accuracy_score(target, predicted))
