"""The inputs of the stored LGNs, from which their cost before simplification follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from reproduction.datasets import load
from reproduction.protocol import Task
from reproduction.run.results import Result


@dataclass(frozen=True)
class LgnInputs:
    """The tests of an LGN before simplification: comparisons, and tests of single bits."""

    dataset: str
    seed: int
    comparisons: int
    bits: int


def count_lgn_inputs(results: Sequence[Result]) -> Iterator[LgnInputs]:
    """Encode the table of each stored LGN again, without training, and count its tests."""
    from reproduction.models.gate_network import count_tests  # needs Optuna, the tables do not

    lgns = [result for result in results if result.model == "lgn"]
    for name, group in groupby(lgns, key=lambda result: result.dataset):
        dataset = load(name)
        for result in group:
            counts = count_tests(Task(dataset, result.seed), result.params)
            yield LgnInputs(name, result.seed, *counts)
