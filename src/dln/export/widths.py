"""A program and the widths that a target gives its numbers -> notes on cutoffs that do not fit.

A cutoff that no integer of its type reaches makes a test that always comes out the same. The export
is right for every cell that the type holds; the note is for users whose cells are larger.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dln.cells import cell_text
from dln.export.fields import Field, make_fields, signed_range
from dln.export.program import Program
from dln.export.value import Export
from dln.literals import Above
from dln.wording import some


def cutoff_notes(
    program: Program, write: Callable[..., Export], options: Mapping[str, Any]
) -> Iterator[str]:
    """Name the tests of each column that its integers do not reach, and what they do reach.

    `write` writes the program with these options; the others are its defaults.
    """
    parameters = inspect.signature(write).parameters
    if "integer_bits" not in parameters:
        return
    integer_bits, fraction_bits = (
        options.get(name, parameters[name].default) for name in ("integer_bits", "fraction_bits")
    )
    for field in make_fields(program, integer_bits, fraction_bits):
        beyond = _beyond(program, field)
        if beyond:
            tests = some([literal.describe(program.circuit.columns) for literal in beyond])
            yield (
                f"always the same there: {tests}, since {_reach(field)}; "
                "use more integer bits or fewer fraction bits"
            )


def _beyond(program: Program, field: Field) -> list[Above]:
    """Find the tests that every integer of a field passes, or none does."""
    if field.storage != "integer" or field.column.kind == "date":
        return []
    low, _ = signed_range(field.bits)
    return [
        literal
        for _, literal in program.literals_of(field.index)
        if isinstance(literal, Above) and field.cutoff(literal.cutoff) in (None, low - 1)
    ]


def _reach(field: Field) -> str:
    low, high = (bound / 2**field.fraction_bits for bound in signed_range(field.bits))
    after = f", {field.fraction_bits} after the point," if field.fraction_bits else ""
    return f"{field.bits} bits{after} hold {cell_text(low)} to {cell_text(high)}"
