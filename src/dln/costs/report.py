"""The cost of one prediction and of storing the model: by part and in total."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class PartCost:
    """The cost of one part of a model, or of the whole.

    Parameters
    ----------
    operations
        High-level operations of one prediction: tests, gates, sums, products and so on.
    gate_operations
        The same operations in two-input gates: AND, OR, NAND, NOR and implications count one, XOR
        and XNOR three, NOT nothing.
    values, indices
        Stored numbers (thresholds, categories, weights, kinds of gates) and stored links (columns,
        wires, children).
    bytes
        The bytes that store the values and indices.

    Examples
    --------
    >>> (PartCost(1, 183, values=1, indices=1, bytes=4) + PartCost(1, 3)).gate_operations
    186
    """

    operations: int = 0
    gate_operations: int = 0
    values: int = 0
    indices: int = 0
    bytes: int = 0

    @property
    def parameters(self) -> int:
        """The number of stored values and indices."""
        return self.values + self.indices

    def __add__(self, other: PartCost) -> PartCost:
        return PartCost(
            self.operations + other.operations,
            self.gate_operations + other.gate_operations,
            self.values + other.values,
            self.indices + other.indices,
            self.bytes + other.bytes,
        )


@dataclass(frozen=True)
class Cost:
    """The cost of a circuit or another model; prints as a table.

    Parameters
    ----------
    feature_tests
        Comparisons with thresholds and categories.
    logic
        Two-input gates.
    class_sums
        Adding up votes of one bit.
    arithmetic
        Floating-point arithmetic: none in a circuit, most of the cost of other models.
    sum_of_points
        Adding up the points of a number.

    Examples
    --------
    >>> stump = Cost(feature_tests=PartCost(1, 183, values=3, indices=3, bytes=12))
    >>> (stump + stump).parameters
    12
    """

    feature_tests: PartCost = PartCost()
    logic: PartCost = PartCost()
    class_sums: PartCost = PartCost()
    arithmetic: PartCost = PartCost()
    sum_of_points: PartCost = PartCost()

    @property
    def parts(self) -> dict[str, PartCost]:
        """The parts by their displayed names."""
        return {field.name.replace("_", " "): getattr(self, field.name) for field in fields(self)}

    @property
    def total(self) -> PartCost:
        """All parts together."""
        return sum(self.parts.values(), start=PartCost())

    @property
    def operations(self) -> int:
        """High-level operations of one prediction."""
        return self.total.operations

    @property
    def gate_operations(self) -> int:
        """Operations of one prediction, in two-input gates."""
        return self.total.gate_operations

    @property
    def values(self) -> int:
        """The number of stored values."""
        return self.total.values

    @property
    def indices(self) -> int:
        """The number of stored indices."""
        return self.total.indices

    @property
    def parameters(self) -> int:
        """The number of stored values and indices."""
        return self.total.parameters

    @property
    def bytes(self) -> int:
        """The bytes that store the values and indices."""
        return self.total.bytes

    def __add__(self, other: Cost) -> Cost:
        mine, others = self.parts.values(), other.parts.values()
        return Cost(*(x + y for x, y in zip(mine, others, strict=True)))

    def __str__(self) -> str:
        shown = {name: part for name, part in self.parts.items() if part != PartCost()}
        figures = [(name, _figures(part)) for name, part in shown.items()]
        return _layout([("", _HEADINGS), *figures, ("total", _figures(self.total))])


_HEADINGS = ("operations", "gate operations", "parameters", "bytes")


def _figures(part: PartCost) -> tuple[str, ...]:
    """Format the figures of one part, in the order of the headings."""
    named = (getattr(part, heading.replace(" ", "_")) for heading in _HEADINGS)
    return tuple(f"{figure:,}" for figure in named)


def _layout(rows: list[tuple[str, tuple[str, ...]]]) -> str:
    """Align names to the left and figures to the right."""
    name_width = max(len(name) for name, _ in rows)
    widths = [max(map(len, column)) for column in zip(*(row for _, row in rows), strict=True)]
    return "\n".join(
        "  ".join(
            [
                name.ljust(name_width),
                *(text.rjust(width) for text, width in zip(texts, widths, strict=True)),
            ]
        )
        for name, texts in rows
    )
