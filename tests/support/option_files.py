"""What is generated from the tables of options: the header in C++ and the table in the docs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from inspect import signature

import numpy as np

from dln import DLNClassifier
from dln._util.option import Option, options_of
from dln.estimators.parameters import NumberParameters, Parameters
from dln.train.compiled import FIELDS, RECORD, Field

TYPES = {np.int32: "int", np.float32: "float", np.uint64: "unsigned long long"}
HEADER = """\
// The options of a training run, as native code and CUDA read them. Generated from
// src/dln/train/options.py by DLN_WRITE_DOCS=1 pytest tests/train/test_options.py
#pragma once

#include "losses.h"

namespace dln {{

{enums}
struct Options {{
{members}
}};
static_assert(sizeof(Options) == {size}, "compiled.py must have the same record");

// The smallest and the largest value of each option.
#define DLN_LIMITS(LIMIT) \\
{limits}

}}  // namespace dln
"""


def header() -> str:
    """Return the text of src/dln/train/headers/options.h."""
    limited = [own for own in FIELDS if own.high < 2**63]  # the others are not limited
    return HEADER.format(
        enums="".join(map(_enum, (own for own in FIELDS if own.names))),
        members="\n".join(map(_member, FIELDS)),
        size=RECORD.itemsize,
        limits=" \\\n".join(
            f"  LIMIT({own.name}, {own.low:.16g}, {own.high:.16g})" for own in limited
        ),
    )


def _enum(own: Field) -> str:
    return f"enum class {own.enum} : int {{ {', '.join(own.names)} }};\n"


def _member(own: Field) -> str:
    comment = textwrap.indent(textwrap.fill(own.doc, 93, break_on_hyphens=False), "  // ")
    return f"{comment}\n  {own.enum or TYPES[own.dtype]} {own.name};"


def docs_table() -> str:
    """Return the table of all parameters in docs/reference/parameters.md."""
    return _table(options_of(Parameters), tuple(signature(DLNClassifier).parameters))


def regressor_docs() -> str:
    """Return what docs/reference/parameters.md says of the parameters of `DLNRegressor`."""
    own, shared = options_of(NumberParameters), options_of(Parameters)
    absent = ", ".join(f"`{name}`" for name in shared if name not in own)
    text = f"`DLNRegressor` has the parameters above, except {absent}. It also has:"
    lines = textwrap.fill(text, 100, break_on_hyphens=False)
    return f"{lines}\n\n{_table(own, tuple(name for name in own if name not in shared))}"


def _table(known: Mapping[str, Option], names: Iterable[str]) -> str:
    rows = [_row(known[name]) for name in names]
    return "\n".join(
        ["| parameter | values | default | what it does |", "| --- | --- | --- | --- |", *rows]
    )


def _row(own: Option) -> str:
    values = own.expected if own.facts.checked else own.type_text
    default = f'"{own.default}"' if isinstance(own.default, str) else repr(own.default)
    text = f"{own.facts.doc} {own.facts.more}".strip()
    return f"| `{own.name}` | {values} | `{default}` | {text} |"
