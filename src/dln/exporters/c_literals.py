"""The literals of a program in C: tables of cutoffs and sets, and the calls that read them.

With tables instead of statements, compile time hardly grows with the number of cutoffs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from dln.core.literals import Above, Among, Missing
from dln.exporters.fields import Field
from dln.exporters.layout import Layout
from dln.exporters.names import MISSING
from dln.exporters.program import Program

_BITS_OF_A_CODE = 32


@dataclass
class Literals:
    """The tables and statements so far, and the names of the helpers that they call."""

    tables: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    helpers: set[str] = field(default_factory=set)


def has_flag(column: Field) -> bool:
    """Return whether missing values need a flag, because every integer is a possible value."""
    return column.storage == "integer"


def c_double(value: float) -> str:
    """Write a finite number so that C reads the same double."""
    return repr(float(value))


def write_literals(program: Program, fields: Sequence[Field], layout: Layout) -> Literals:
    """Write all literals, column by column."""
    found = Literals()
    for column in fields:
        _Writer(program, column, layout, found).write()
    return found


class _Writer:
    """Writes the literals of one column."""

    def __init__(self, program: Program, column: Field, layout: Layout, found: Literals) -> None:
        self._p = program.name
        self._column = column
        self._found = found
        self._reads_flag = False
        self._cells = f"c->{column.name} + first"
        self._reader = {"float": "double", "code": "code"}.get(column.storage, f"int{column.bits}")
        self._literals = [
            (layout.slots[wire], literal) for wire, literal in program.literals_of(column.index)
        ]

    def write(self) -> None:
        column, p = self._column, self._p
        start = len(self._found.statements)
        above = [(slot, cutoff) for slot, literal in self._literals for cutoff in literal.cutoffs]
        if above:
            self._write_above(above)
        for slot, literal in self._literals:
            match literal:
                case Above():
                    pass  # all cutoffs of a column are written together
                case Among():
                    self._write_set(slot, literal)
                case Missing():
                    self._store(slot, self._missing())
                case _:
                    assert_never(literal)
        if self._reads_flag:
            flags = self._call("flags", f"c->{column.name}{MISSING}, first, n")
            flag = f"const {p}_word m{column.index} = {flags};"
            self._found.statements.insert(start, flag)

    @property
    def _flag(self) -> str:
        """The variable that holds the flags of missing values."""
        self._reads_flag = True
        return f"m{self._column.index}"

    def _write_above(self, above: list[tuple[int, float]]) -> None:
        column = self._column
        rows = []
        for slot, cutoff in above:
            if column.storage == "float":
                rows.append((slot, c_double(cutoff)))
                continue
            integer = column.cutoff(cutoff)
            if integer is None:
                self._store(slot, "0")
            elif has_flag(column) and integer < -(2 ** (column.bits - 1)):
                self._store(slot, f"~{self._flag}")
            else:
                rows.append((slot, _c_integer(integer)))
        if not rows:
            return
        kind = "double" if column.storage == "float" else f"int{column.bits}_t"
        cutoffs = self._table("cutoffs", kind, [cutoff for _, cutoff in rows])
        slots = self._table("slots", "int32_t", [str(slot) for slot, _ in rows])
        present = f"~{self._flag}" if has_flag(column) else f"~({self._p}_word)0"
        arguments = f"{self._cells}, n, {present}, {cutoffs}, {slots}, {len(rows)}, w"
        self._found.statements.append(self._call(f"above_{self._reader}", arguments) + ";")

    def _write_set(self, slot: int, literal: Among) -> None:
        """Write a set of categories: as bits, the first category in the lowest, or as a list.

        The list takes less room where the set has few of many categories.
        """
        size = len(self._column.column.categories)
        if len(literal.categories) < size // _BITS_OF_A_CODE:
            codes = list(map(str, sorted(literal.categories))) or ["-2"]
            name = self._table(f"set{slot}_", "int32_t", codes)
            call = self._call("listed", f"{self._cells}, n, {name}, {len(codes)}")
            self._store(slot, call)
            return
        octets = [0] * (size // 8 + 1)
        for code in literal.categories:
            octets[code // 8] |= 1 << code % 8
        name = self._table(f"set{slot}_", "uint8_t", list(map(str, octets)))
        self._store(slot, self._call("among", f"{self._cells}, n, {name}, {size}"))

    def _missing(self) -> str:
        if has_flag(self._column):
            return self._flag
        return self._call(f"missing_{self._reader}", f"{self._cells}, n")

    def _call(self, helper: str, arguments: str) -> str:
        self._found.helpers.add(helper)
        return f"{self._p}_{helper}({arguments})"

    def _store(self, slot: int, value: str) -> None:
        self._found.statements.append(f"w[{slot}] = {value};")

    def _table(self, what: str, kind: str, values: Sequence[str]) -> str:
        name = f"{self._p}_{what}{self._column.index}"
        listed = ",\n    ".join(", ".join(values[at : at + 8]) for at in range(0, len(values), 8))
        self._found.tables.append(f"static const {kind} {name}[] = {{\n    {listed}\n}};\n")
        return name


def _c_integer(value: int) -> str:
    """Write an integer of up to 64 bits; C has no literal for the least one."""
    if abs(value) < 2**15:
        return str(value)
    return f"INT64_C({value})" if value > -(2**63) else "(-INT64_C(9223372036854775807) - 1)"
