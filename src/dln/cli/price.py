"""What constraints cost in accuracy or R²: the same training without them, and the same test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from dln._util.messages import percent
from dln.cli.fit_results import Split, measure_test_rows
from dln.cli.fitting import fit_with_messages
from dln.cli.measure import AnyMeasure, Measure
from dln.cli.output import print_message
from dln.errors import OptionError
from dln.estimators.parameters import CONSTRAINTS


def check_price(model: Any, test: float) -> None:
    """Refuse to measure a price without constraints or without test rows."""
    if all(getattr(model, name, None) is None for name in CONSTRAINTS):
        raise OptionError(
            "--price compares with and without constraints, but there are none; state one, or "
            "leave out --price"
        )
    if test == 0:
        raise OptionError(
            "--price compares scores on test rows, but --test 0 keeps none; leave out one of "
            "the two"
        )


@dataclass(frozen=True)
class Price:
    """The score on the test rows, with and without the constraints.

    It is the balanced accuracy, or R² for a number; None if all targets are equal.
    """

    task: OneOf["classes", "number"]
    with_them: float | None
    without: float | None

    def text(self) -> str:
        """Write the score without the constraints, and the difference."""
        if self.with_them is None or self.without is None:
            return "Without the constraints: R² -"
        lost = self.without - self.with_them
        verb = "gain" if lost < 0 else "cost"
        score, difference = percent(self.without), f"{100 * abs(lost):.1f} points"
        if self.task == "number":
            score, difference = f"R² {self.without:.3f}", f"{abs(lost):.3f}"
        return f"Without the constraints: {score} (the constraints {verb} {difference})"


def measure_price(model: Any, split: Split, total: AnyMeasure | None, *, quiet: bool) -> Price:
    """Train without the constraints and score both models on the test rows.

    `total` is the measure of the model with them.
    """
    from sklearn.base import clone  # slow to load

    free = clone(model).set_params(**dict.fromkeys(CONSTRAINTS), path=False)
    prepared, rows = split.prepared, split.rows
    if not quiet:
        print_message("training again without the constraints")
    X, y = prepared.X.take(rows), prepared.y[rows]
    fit_with_messages(free, X, y, groups=prepared.groups_of(rows), quiet=quiet)
    measured = measure_test_rows(free.circuit_, split)
    return Price(free.circuit_.task, _score(total), _score(measured))


def _score(measured: AnyMeasure | None) -> float | None:
    assert measured is not None  # `check_price` refuses a price without test rows
    if isinstance(measured, Measure):
        return float(measured.tally.balanced_accuracy)
    return None if measured.tally.r2 is None else float(measured.tally.r2.value)
