"""An evaluation and the classes of its rows -> how often each rule fires, and on which classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.errors import TableError
from dln.evaluate.evaluation import Evaluation
from dln.evaluate.packed import pack


@dataclass(frozen=True)
class Rows:
    """Number of rows of a table, in total and by class."""

    n_rows: int
    class_rows: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Evidence:
    """Statistics of a rule on a table.

    Attributes
    ----------
    rows
        The table.
    support
        Number of rows where the rule fires.
    class_counts
        Number of rows where it fires, by class; None if no classes were given.
    """

    rows: Rows
    support: int
    class_counts: tuple[int, ...] | None = None

    @property
    def share(self) -> float:
        """Fraction of the rows where the rule fires."""
        return self.support / self.rows.n_rows

    @property
    def precision(self) -> tuple[float | None, ...] | None:
        """For each class, its fraction of the rows where the rule fires; None if it never fires."""
        if self.class_counts is None:
            return None
        return tuple(n / self.support if self.support else None for n in self.class_counts)

    @property
    def lift(self) -> tuple[float | None, ...] | None:
        """For each class, the precision divided by the class's fraction of all rows.

        None if the rule never fires or no row is of the class.
        """
        if self.precision is None or self.rows.class_rows is None:
            return None
        return tuple(
            None if precision is None or not n_class else precision * self.rows.n_rows / n_class
            for precision, n_class in zip(self.precision, self.rows.class_rows, strict=True)
        )


def measure_rules(
    evaluation: Evaluation, target: NDArray[np.int64] | None = None
) -> tuple[Rows, tuple[Evidence, ...]]:
    """Count the rows, and for each rule the rows where it fires; by class if `target` is given."""
    if evaluation.n_rows == 0:
        raise TableError("the table has 0 rows; at least one is needed to count where rules fire")
    fires = [evaluation.bits(rule.wire) for rule in evaluation.circuit.rules]
    if target is None:
        rows = Rows(evaluation.n_rows)
        return rows, tuple(Evidence(rows, bits.bit_count()) for bits in fires)
    members = [pack(target == number) for number in range(evaluation.circuit.n_classes)]
    rows = Rows(evaluation.n_rows, tuple(bits.bit_count() for bits in members))
    return rows, tuple(
        Evidence(rows, bits.bit_count(), tuple((bits & own).bit_count() for own in members))
        for bits in fires
    )
