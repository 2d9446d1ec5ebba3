"""CircuitPath: circuits of rising size, each with its validated accuracy, to choose from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any
from typing import Literal as OneOf

from dln._util.messages import percent
from dln.core.circuit import Circuit
from dln.errors import OptionError
from dln.paths.budget import Budget
from dln.paths.size import Size, measure_size
from dln.shrink.prune.curve import PruneCurve

Validation = OneOf["cross-validated", "on the rows of pruning"]
"""How the accuracies of a path were found."""

NUMBER_MEASURES = ("R²", "D²")
"""Measures of circuits that predict a number: the share of the squared error, or of another loss,
that they remove. At most 1, and negative for a circuit that is worse than a constant."""


@dataclass(frozen=True)
class PathPoint:
    """One circuit of a path.

    Parameters
    ----------
    circuit
        The circuit, trained on all training rows.
    accuracy
        Cross-validated accuracy of circuits of this size, with the weights of training: balanced
        accuracy by default, R² for numbers. NaN if there were too few rows for cross-validation.
    standard_error
        Standard error of the accuracy over the folds.
    """

    circuit: Circuit = field(repr=False)
    accuracy: float
    standard_error: float
    size: Size = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", measure_size(self.circuit))


@dataclass(frozen=True)
class CircuitPath:
    """Circuits from one rule to the most accurate; prints as a table.

    Parameters
    ----------
    points
        The circuits, smallest first.
    chosen
        The index of the point that the fit chose: the one with the highest accuracy, averaged with
        its neighbours.
    measure
        Name of the accuracy: it depends on the weights of training.
    validation
        How the accuracy was found: by cross-validation, or on the rows of `dln.prune`, which the
        circuits may have been trained on.

    Examples
    --------
    >>> from dln import DLNClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DLNClassifier(max_literals=6, random_state=0).fit(X, y)
    >>> model.path_.at(max_rules=2).size.n_rules
    2
    """

    points: tuple[PathPoint, ...]
    chosen: int
    measure: str = "balanced accuracy"
    validation: Validation = "cross-validated"

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple(self.points))
        if not 0 <= self.chosen < len(self.points):
            raise OptionError(
                f"chosen is {self.chosen}, expected the index of one of {len(self.points)} points"
            )

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[PathPoint]:
        return iter(self.points)

    def __getitem__(self, index: int) -> PathPoint:
        return self.points[index]

    @property
    def circuit(self) -> Circuit:
        """The circuit that the fit chose."""
        return self.points[self.chosen].circuit

    def at(
        self,
        *,
        max_rules: int | None = None,
        max_literals: int | None = None,
        max_literals_per_rule: int | None = None,
        max_columns: int | None = None,
        column_costs: Mapping[str, float] | None = None,
        max_cost: float | None = None,
    ) -> PathPoint:
        """Choose the most accurate point within a budget.

        Parameters
        ----------
        max_rules, max_literals, max_literals_per_rule, max_columns, column_costs, max_cost
            Limits, counted as in training. A fit with the same limits searches for them and may
            find a better circuit.

        Returns
        -------
        PathPoint

        Raises
        ------
        OptionError
            If no point is within the limits.
        """
        budget = Budget(
            max_rules,
            max_literals,
            max_literals_per_rule,
            max_columns,
            column_costs or {},
            max_cost,
        )
        if not budget.is_limited:
            raise OptionError("no limit is given; expected one such as max_rules=10")
        return self.within(budget)

    def within(self, budget: Budget) -> PathPoint:
        """Choose the most accurate point within a budget."""
        within = [place for place, point in enumerate(self.points) if budget.allows(point.size)]
        if not within:
            smallest = self.points[0].size
            raise OptionError(
                f"no circuit of the path has {budget.describe()}; the smallest has "
                f"{smallest.n_rules} rules, {smallest.n_literals} literals and "
                f"{smallest.n_columns} columns. Fit with this budget instead"
            )
        return self.points[best_place(self.points, within)]

    def save(self, path: str | PathLike[str]) -> None:
        """Save all circuits in one JSON file, which `dln.load_path` loads."""
        from dln.paths.path_file import save_path

        save_path(self, path)

    def continued(self, circuit: Circuit, accuracy: float, standard_error: float) -> CircuitPath:
        """Return the path with another circuit at its end, which is chosen."""
        points = (*self.points, PathPoint(circuit, accuracy, standard_error))
        return replace(self, points=points, chosen=len(points) - 1)

    @classmethod
    def from_pruning(cls, curve: PruneCurve) -> CircuitPath:
        """Return the steps of `dln.prune` as a path, the smallest first.

        The path can be searched by `at(max_rules=…)`, drawn, saved and shown in a report. Steps
        with as many literals as a smaller one are left out. The largest circuit and the one that
        `prune` chose are always kept.
        """
        points: list[PathPoint] = []
        chosen = 0
        for step in reversed(curve.steps):
            point = PathPoint(step.circuit, step.accuracy, math.nan)
            if points and point.size.n_literals <= points[-1].size.n_literals:
                if step is not curve.chosen:
                    continue
                points.pop()
            if step is curve.chosen:
                chosen = len(points)
            points.append(point)
        return cls(tuple(points), chosen, curve.measure, "on the rows of pruning")

    def changed(self, change: Callable[[Circuit], Circuit]) -> CircuitPath:
        """Return the path with every circuit changed, for example its origin or its names."""
        points = [replace(point, circuit=change(point.circuit)) for point in self.points]
        return replace(self, points=tuple(points))

    @property
    def accuracy_name(self) -> str:
        """What the accuracies are: "balanced accuracy, cross-validated"."""
        return self.measure + _JOINED[self.validation]

    def describe(self, point: PathPoint) -> str:
        """Write the accuracy of a point."""
        name = self.accuracy_name
        return f"{name[0].upper()}{name[1:]}: {_accuracy(point, self.measure)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the sizes and accuracies as plain values."""
        return {
            "measure": self.measure,
            "validation": self.validation,
            "points": [
                {
                    "rules": point.size.n_rules,
                    "literals": point.size.n_literals,
                    "columns": point.size.n_columns,
                    "accuracy": None if math.isnan(point.accuracy) else point.accuracy,
                    "standard_error": (
                        None if math.isnan(point.standard_error) else point.standard_error
                    ),
                    "chosen": place == self.chosen,
                }
                for place, point in enumerate(self.points)
            ],
        }

    def __str__(self) -> str:
        rows = [
            (*_HEADINGS, self.accuracy_name),
            *(_figures(point, self.measure) for point in self.points),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
            for row in rows
        ]
        lines[1 + self.chosen] += "  <- chosen"
        return "\n".join(lines)


_NEAR = (2, 2, 3, 2, 2)
"""Weights with which the accuracies of a point and of its neighbours are averaged."""


def best_place(points: tuple[PathPoint, ...], among: list[int] | None = None) -> int:
    """Return the place of the most accurate point; accuracies are averaged with their neighbours.

    The accuracy of one size alone is noisy on small tables. Equal accuracies: the smaller point.
    Without accuracies: the largest point.
    """
    places = list(range(len(points))) if among is None else among

    def smooth(place: int) -> float:
        near = [
            (weight, points[place + step].accuracy)
            for step, weight in enumerate(_NEAR, -(len(_NEAR) // 2))
            if 0 <= place + step < len(points)
        ]
        mean = sum(weight * own for weight, own in near) / sum(weight for weight, _ in near)
        return place * 1e-9 if math.isnan(mean) else round(mean, 6)

    return max(places, key=lambda place: (smooth(place), -place))


_JOINED: dict[Validation, str] = {
    "cross-validated": ", cross-validated",
    "on the rows of pruning": " on the rows of pruning",
}
_HEADINGS = ("rules", "literals", "columns")


def _figures(point: PathPoint, measure: str) -> tuple[str, ...]:
    size = point.size
    counts = size.n_rules, size.n_literals, size.n_columns
    return (*(f"{count:,}" for count in counts), _accuracy(point, measure))


def _accuracy(point: PathPoint, measure: str) -> str:
    if math.isnan(point.accuracy):
        return "unknown"
    if math.isnan(point.standard_error):
        return f"{point.accuracy:.3f}" if measure in NUMBER_MEASURES else percent(point.accuracy)
    if measure in NUMBER_MEASURES:
        return f"{point.accuracy:.3f} ± {point.standard_error:.3f}"
    return f"{percent(point.accuracy)} ± {percent(point.standard_error)}"
