"""The outcome of one model on one task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score

from dln import Cost
from reproduction.protocol import MAX_EPOCHS, TRIALS, Task

EngineName = OneOf["native", "torch", "cuda"]
"""What trains a DLN; see `DLNClassifier`."""


@dataclass(frozen=True)
class Budget:
    """The limits of a search.

    Attributes
    ----------
    trials
        Number of hyperparameter sets.
    epochs
        Maximal number of epochs, for networks.
    threads
        Number of cores.
    engine
        The engine that trains the DLN.
    """

    trials: int = TRIALS
    epochs: int = MAX_EPOCHS
    threads: int = 1
    engine: EngineName = "native"


@dataclass(frozen=True)
class Outcome:
    """Accuracy in percent, the chosen hyperparameters and the cost of the model.

    Attributes
    ----------
    accuracy, validation
        Balanced accuracy on the test rows, and the validation score of the chosen trial; None if
        nothing was chosen.
    params
        The chosen hyperparameters.
    cost
        Operations, parameters and bytes; None if the paper has no formula for the model.
    seconds
        Seconds of the search and of the final fit, if measured separately.
    note
        Remark on what was left out or differs; shown below the tables.
    siblings
        Outcomes of other models that share the search, by name.
    """

    accuracy: float
    validation: float | None
    params: Mapping[str, Any]
    cost: Cost | None
    seconds: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    siblings: Mapping[str, Outcome] = field(default_factory=dict)


class Model(Protocol):
    """Searches, fits and tests on a task; all randomness comes from the task's seed."""

    def __call__(self, task: Task, budget: Budget) -> Outcome:
        """Run the model."""


def percent(target: NDArray[np.intp], predicted: NDArray[np.intp]) -> float:
    """Return the balanced accuracy in percent."""
    return 100.0 * float(balanced_accuracy_score(target, predicted))
