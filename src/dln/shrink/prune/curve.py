"""PruneCurve: circuits of decreasing size, with their changes and accuracy on the given rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from dln._util.messages import percent
from dln.core.circuit import Circuit
from dln.errors import OptionError


@dataclass(frozen=True)
class PruneStep:
    """One circuit of the curve.

    Parameters
    ----------
    circuit
        The circuit, folded.
    gate_operations
        Its cost, `dln.cost(circuit).gate_operations`.
    n_changed
        Number of rows that it predicts differently from the circuit given to `prune`.
    accuracy
        Weighted accuracy on the rows given to `prune`; balanced accuracy by default. R² for a
        circuit that predicts a number.
    """

    circuit: Circuit = field(repr=False)
    gate_operations: int
    n_changed: int
    accuracy: float

    @property
    def n_literals(self) -> int:
        """Number of literals."""
        return self.circuit.n_literals

    @property
    def n_gates(self) -> int:
        """Number of gates."""
        return self.circuit.n_gates


@dataclass(frozen=True)
class PruneCurve:
    """Circuits to choose from, by size and accuracy; prints as a table.

    Parameters
    ----------
    steps
        From the given circuit, which is only folded, to an almost empty one; every step is smaller
        than the one before.
    chosen
        The last step within the tolerance.
    n_rows
        Number of rows on which changes and accuracy were measured.
    measure
        Name of the accuracy: it depends on the weights.
    """

    steps: tuple[PruneStep, ...]
    chosen: PruneStep
    n_rows: int
    measure: str = "balanced accuracy"

    @property
    def circuit(self) -> Circuit:
        """The smallest circuit within the tolerance."""
        return self.chosen.circuit

    def at(
        self,
        *,
        max_changed: int | None = None,
        min_accuracy: float | None = None,
        max_gate_operations: int | None = None,
    ) -> PruneStep:
        """Choose another step.

        Parameters
        ----------
        max_changed, min_accuracy
            Bounds on the loss. The smallest circuit within them is chosen.
        max_gate_operations
            Bound on the size. If given, the most accurate circuit within all bounds is chosen.

        Returns
        -------
        PruneStep

        Raises
        ------
        OptionError
            If no step is within the bounds.
        """
        bounds = {
            "max_changed": max_changed,
            "min_accuracy": min_accuracy,
            "max_gate_operations": max_gate_operations,
        }
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        if not given:
            raise OptionError(f"no bound is given; expected one of {', '.join(bounds)}")
        within = [
            step
            for step in self.steps
            if (max_changed is None or step.n_changed <= max_changed)
            and (min_accuracy is None or step.accuracy >= min_accuracy)
            and (max_gate_operations is None or step.gate_operations <= max_gate_operations)
        ]
        if not within:
            found = ", ".join(f"{name}={bound!r}" for name, bound in given.items())
            raise OptionError(f"no step of the curve has {found}; see print(curve) for its steps")
        if max_gate_operations is None:
            return within[-1]
        return max(within, key=lambda step: (step.accuracy, -step.n_changed, -step.gate_operations))

    def __str__(self) -> str:
        rows = [
            (*_HEADINGS, self.measure),
            *(_figures(step, self.n_rows, self.measure) for step in self.steps),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
            for row in rows
        ]
        place = 1 + self.steps.index(self.chosen)
        lines[place] += "  <- chosen"
        what = "R²" if self.measure == "R²" else "accuracy"
        measured = f"Changes and {what} are measured on the {self.n_rows:,} rows given."
        return "\n".join([*lines, measured])


_HEADINGS = ("gate operations", "literals", "gates", "rules", "changed")


def _figures(step: PruneStep, n_rows: int, measure: str) -> tuple[str, ...]:
    """Write the figures of a step in the order of the headings, with the accuracy last."""
    return (
        f"{step.gate_operations:,}",
        f"{step.n_literals:,}",
        f"{step.n_gates:,}",
        f"{len(step.circuit.rules):,}",
        f"{step.n_changed:,} ({percent(step.n_changed / n_rows)})",
        f"{step.accuracy:z.3f}" if measure == "R²" else percent(step.accuracy),
    )
