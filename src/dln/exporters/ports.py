"""The ports of a circuit in hardware: fields as signals, and the widths of the outputs."""

from __future__ import annotations

from dataclasses import dataclass

from dln.exporters.fields import Field


@dataclass(frozen=True)
class Ports:
    """The inputs and outputs of the module.

    Attributes
    ----------
    fields
        The columns. Each is a port with a flag for a missing value beside it.
    class_bits, vote_bits
        The width of a class number, and of the votes of one class.
    stages
        Clock cycles from input to output.
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
    """Return the width of a port. Codes have room for one that stands for unknown categories."""
    if field.storage == "boolean":
        return 1
    return len(field.column.categories).bit_length() if field.storage == "code" else field.bits
