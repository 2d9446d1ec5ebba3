"""Circuit + rows and their classes -> how often each rule fires, and on which classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln.data.target import class_numbers
from dln.errors import TableError
from dln.explain.fires import wire_values

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


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


def measure_rules(circuit: Circuit, X: Any, y: Any = None) -> tuple[Rows, tuple[Evidence, ...]]:
    """Evaluate every rule on a table; return the size of the table and one record for each rule."""
    fires = wire_values(circuit, [rule.wire for rule in circuit.rules], X)
    n_rows = len(fires)
    if n_rows == 0:
        raise TableError("the table has 0 rows; at least one is needed to count where rules fire")
    support = fires.sum(axis=0).tolist()
    if y is None:
        rows = Rows(n_rows)
        return rows, tuple(Evidence(rows, count) for count in support)
    target = class_numbers(y, circuit.classes, n_rows)
    rows = Rows(n_rows, _count_classes(target, circuit.n_classes))
    return rows, tuple(
        Evidence(rows, n_fired, _count_classes(target[fired], circuit.n_classes))
        for n_fired, fired in zip(support, fires.T, strict=True)
    )


def _count_classes(target: NDArray[np.int64], n_classes: int) -> tuple[int, ...]:
    """Count the rows of each class."""
    return tuple(np.bincount(target, minlength=n_classes).tolist())
