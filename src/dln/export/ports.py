"""The ports of a circuit in hardware: fields as signals, and the widths of the outputs."""

from __future__ import annotations

from dataclasses import dataclass

from dln.export.fields import Field


@dataclass(frozen=True)
class Ports:
    """What goes in and out of the module.

    Attributes
    ----------
    fields
        The columns, each a port with a flag that says that the cell is missing.
    class_bits, vote_bits
        How wide the number of a class is, and the votes of one class.
    stages
        Clocks from input to output.
    explain
        Whether the rules that fire are an output.
    """

    fields: tuple[Field, ...]
    class_bits: int
    vote_bits: int
    n_classes: int
    n_rules: int
    stages: int
    explain: bool

    @property
    def outputs(self) -> dict[str, int]:
        """The names of the outputs and their widths."""
        found = {"class_number": self.class_bits, "votes": self.n_classes * self.vote_bits}
        return found | ({"rules": max(1, self.n_rules)} if self.explain else {})


def port_bits(field: Field) -> int:
    """Give the width of a port; codes have room for one that stands for all other categories."""
    if field.storage == "boolean":
        return 1
    return len(field.column.categories).bit_length() if field.storage == "code" else field.bits
