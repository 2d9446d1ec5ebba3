"""The ports of a circuit in hardware: fields as signals, and the widths of the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from dln.core.readout import Votes
from dln.core.score import Score
from dln.exporters.fields import Field
from dln.exporters.program import Program


@dataclass(frozen=True)
class Ports:
    """The inputs and outputs of the module.

    Attributes
    ----------
    fields
        The columns. Each is a port with a flag for a missing value beside it.
    vote_bits
        The width of the votes of one class, or of the points of a number.
    outputs
        The names of the outputs and their widths.
    stages
        Clock cycles from input to output.
    """

    fields: tuple[Field, ...]
    vote_bits: int
    outputs: Mapping[str, int]
    stages: int


def make_ports(program: Program, fields: tuple[Field, ...], stages: int, explain: bool) -> Ports:
    """Choose the outputs and their widths; with `explain`, the rules that fire are one of them."""
    readout = program.readout
    bits = program.most_votes.bit_length() + 1
    match readout:
        case Votes():
            n_classes = len(readout.classes)
            class_bits = max(1, (n_classes - 1).bit_length())
            outputs = {"class_number": class_bits, "votes": n_classes * bits}
        case Score():
            outputs = {"points": bits}
        case _:
            assert_never(readout)
    rules = {"rules": max(1, len(readout.rules))} if explain else {}
    return Ports(fields, bits, outputs | rules, stages)


def port_bits(field: Field) -> int:
    """Return the width of a port. Codes have room for one that stands for unknown categories."""
    if field.storage == "boolean":
        return 1
    return len(field.column.categories).bit_length() if field.storage == "code" else field.bits
