"""A program and the widths of its numbers in a target -> notes on cutoffs that do not fit.

If a cutoff is beyond the range of its integer type, the test always has the same result. The export
is right for every value that the type can hold. The note warns users whose values are larger.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dln._util.messages import list_names
from dln.core.literals import Literal
from dln.core.values import cell_text
from dln.exporters.fields import Field, make_fields, signed_range
from dln.exporters.program import Program
from dln.exporters.result import Export


def cutoff_notes(
    program: Program, write: Callable[..., Export], options: Mapping[str, Any]
) -> Iterator[str]:
    """Describe the tests of each column whose cutoffs are out of range, and the range.

    `write` writes the program with these options. The other options have their defaults.
    """
    parameters = inspect.signature(write).parameters
    if "integer_bits" not in parameters:
        return
    integer_bits, fraction_bits = (
        options.get(name, parameters[name].default) for name in ("integer_bits", "fraction_bits")
    )
    for field in make_fields(program, integer_bits, fraction_bits):
        found = _tests_out_of_range(program, field)
        if found:
            tests = list_names([literal.describe(program.logic.columns) for literal in found])
            yield (
                f"these tests always have the same result: {tests}, because {_range_text(field)}; "
                "use more integer bits or fewer fraction bits"
            )


def _tests_out_of_range(program: Program, field: Field) -> list[Literal]:
    """Return the tests whose result is the same for all integers of a field."""
    if field.storage != "integer" or field.column.kind == "date":
        return []
    low, _ = signed_range(field.bits)
    return [
        literal
        for _, literal in program.literals_of(field.index)
        if any(field.cutoff(cutoff) in (None, low - 1) for cutoff in literal.cutoffs)
    ]


def _range_text(field: Field) -> str:
    low, high = (bound / 2**field.fraction_bits for bound in signed_range(field.bits))
    after = f", {field.fraction_bits} after the point," if field.fraction_bits else ""
    return f"{field.bits} bits{after} hold {cell_text(low)} to {cell_text(high)}"
