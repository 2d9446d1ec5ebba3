"""Program -> one C99 header that allocates no memory and links to no library.

A literal is a word with one bit for each row, and a gate is one instruction for all rows of a word.
A single row is a word with one row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal as OneOf
from typing import get_args

from dln.core.literals import Category
from dln.errors import OptionError
from dln.exporters.c_answers import write_answer
from dln.exporters.c_gates import write_gates
from dln.exporters.c_literals import c_double, has_flag, write_literals
from dln.exporters.c_runtime import HEADER, HELPERS, LOOKUP, LOOKUP_NUMBER, RUNTIME
from dln.exporters.fields import Field, IntegerBits, make_fields
from dln.exporters.names import MISSING
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.text import c_string, comment, fill, has_utf8, head

WordBits = OneOf[32, 64]


def export_c(
    program: Program,
    *,
    integer_bits: IntegerBits = 64,
    fraction_bits: int | None = None,
    word_bits: WordBits = 64,
) -> Export:
    """Write C99.

    Parameters
    ----------
    integer_bits
        The width of integer columns, and of numbers in fixed point.
    fraction_bits
        Numbers are integers: the value times 2 to this power. Without it, they are `double`.
    word_bits
        How many rows `predict_batch` computes at a time: 64, or 32 for microcontrollers.
    """
    if word_bits not in get_args(WordBits):
        raise OptionError(f"word_bits is {word_bits!r}, expected 32 or 64")
    fields = make_fields(program, integer_bits, fraction_bits)
    text = _write(program, fields, word_bits)
    inputs = tuple(Input(x.column.name, x.name, _c_type(x)) for x in fields)
    files = {f"{program.name}.h": text.encode("utf-8")}
    return Export("c", program.name, program.model_id, files, inputs)


def _c_type(field: Field) -> str:
    return "double" if field.storage == "float" else f"int{field.bits}_t"


def _write(program: Program, fields: tuple[Field, ...], word_bits: int) -> str:
    circuit, p = program.circuit, program.name
    answer = write_answer(program)
    layout, gates = write_gates(program)
    literals = write_literals(program, fields, layout)
    return "".join(
        [
            comment(head(program, "C99", answer.notes), "/*", " * ", " */"),
            fill(
                HEADER,
                p=p,
                P=p.upper(),
                id=program.model_id,
                n_rules=len(circuit.rules),
                word_bits=word_bits,
                tables=answer.tables,
                members="\n".join(_members(fields)) or "    char unused;",
                pointers="\n".join(_pointers(fields)) or "    const char *unused;",
            ),
            *_lookups(fields, p),
            *(
                fill(text, p=p, P=p.upper())
                for name, text in HELPERS.items()
                if name in literals.helpers
            ),
            *literals.tables,
            *gates.tables,
            fill(
                RUNTIME,
                p=p,
                P=p.upper(),
                n_slots=max(1, layout.n_slots),
                slots=", ".join(map(str, layout.rule_slots(program))) or "0",
                literals="\n".join(f"    {line}" for line in literals.statements),
                gates="\n".join(f"    {line}" for line in gates.statements),
                pointers="\n".join(_row_pointers(fields)) or "    (void)row;\n    c.unused = 0;",
                functions=answer.functions,
            ),
        ]
    )


# -- inputs -----------------------------------------------------------------------------------


def _members(fields: tuple[Field, ...]) -> Iterator[str]:
    for field in fields:
        note = comment([f"{field.column.name!r}: {_describe(field)}"], "", "    /* ", "").rstrip()
        yield f"{note} */"
        yield f"    {_c_type(field)} {field.name};"
        if has_flag(field):
            yield f"    uint8_t {field.name}{MISSING}; /* 1 if missing */"


def _describe(field: Field) -> str:
    if field.storage == "code":
        known = [f"{code} is {category!r}" for code, category in enumerate(field.column.categories)]
        return f"{', '.join([*known, '-1 is missing'])}; other numbers are unknown categories"
    missing = ", negative if missing" if field.storage == "boolean" else ""
    return field.describe() + missing


def _pointers(fields: tuple[Field, ...]) -> Iterator[str]:
    for field in fields:
        yield f"    const {_c_type(field)} *{field.name};"
        if has_flag(field):
            yield f"    const uint8_t *{field.name}{MISSING}; /* null if no value is missing */"


def _row_pointers(fields: tuple[Field, ...]) -> Iterator[str]:
    for field in fields:
        yield f"    c.{field.name} = &row->{field.name};"
        if has_flag(field):
            yield f"    c.{field.name}{MISSING} = &row->{field.name}{MISSING};"


def _lookups(fields: tuple[Field, ...], p: str) -> Iterator[str]:
    for field in fields:
        if field.storage != "code":
            continue
        texts, numbers = split_categories(field.column.categories)
        known = [(code, text) for code, text in texts if has_utf8(text)]
        yield fill(
            LOOKUP,
            p=p,
            P=p.upper(),
            name=field.name,
            texts=",\n        ".join(c_string(text) for _, text in known) or "0",
            lengths=", ".join(str(len(text.encode())) for _, text in known) or "0",
            codes=", ".join(str(code) for code, _ in known) or "0",
            count=len(known),
        )
        if numbers:
            tests = [f"    if ({_equals(number)}) return {code};" for code, number in numbers]
            yield fill(LOOKUP_NUMBER, p=p, P=p.upper(), name=field.name, known="\n".join(tests))


def _equals(number: float) -> str:
    """Compare with a number. Only infinities are beyond the largest finite number."""
    if math.isinf(number):
        return "number > DBL_MAX" if number > 0 else "number < -DBL_MAX"
    return f"number == {c_double(number)}"


def split_categories(
    categories: tuple[Category, ...],
) -> tuple[list[tuple[int, str]], list[tuple[int, float]]]:
    """Separate texts from numbers, each with its code. Only float64 numbers can match a number."""
    texts, numbers = [], []
    for code, category in enumerate(categories):
        if isinstance(category, str):
            texts.append((code, category))
        elif abs(category) < 2**1023 and float(category) == category:
            numbers.append((code, float(category)))
        elif isinstance(category, float):  # an infinity
            numbers.append((code, category))
    return texts, numbers
