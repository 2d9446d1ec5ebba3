"""How PMML spells expressions, and what XML can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal as OneOf
from xml.sax.saxutils import quoteattr

from dln.export.dialect import Dialect
from dln.export.text import comment

DataType = OneOf["boolean", "integer", "double", "string"]
Measure = OneOf["continuous", "categorical"]

_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def fits_xml(text: str) -> bool:
    r"""Tell whether XML 1.0 can hold a text; most control characters it cannot.

    >>> fits_xml("a\nb"), fits_xml("a\0b")
    (True, False)
    """
    return _NOT_XML.search(text) is None


def attributes(**values: str) -> str:
    """Write attributes, each with a space before it.

    >>> print(attributes(field="a < b", value='"'))
     field="a &lt; b" value='"'
    """
    return "".join(f" {name}={quoteattr(value)}" for name, value in values.items())


def field_ref(name: str) -> str:
    """Read a field."""
    return f"<FieldRef{attributes(field=name)}/>"


def one_if_equal(field: str, text: str) -> str:
    """Give 1 where a field is this text, and 0 where it is another or missing."""
    return f'<NormDiscrete{attributes(field=field, value=text)} mapMissingTo="0"/>'


def constant(data_type: OneOf["boolean", "integer", "double"], value: str) -> str:
    """Write a number or a boolean."""
    return f'<Constant dataType="{data_type}">{value}</Constant>'


def double(value: float) -> str:
    """Write a float64 exactly; infinities in the one spelling that Java reads."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def apply(function: str, *arguments: str, if_missing: str | None = None) -> str:
    """Call a function; `if_missing` is what it gives where an argument is missing."""
    given = {} if if_missing is None else {"mapMissingTo": if_missing}
    inner = "".join(arguments)
    return f"<Apply{attributes(function=function, **given)}>{inner}</Apply>"


def typed(name: str, data_type: DataType, measure: Measure | None = None, shown: str = "") -> str:
    """Write the attributes of a field; numbers are continuous, unless the measure is given."""
    usual = "continuous" if data_type in ("integer", "double") else "categorical"
    words = {"displayName": shown} if shown else {}
    return attributes(name=name, **words, optype=measure or usual, dataType=data_type)


def xml_comment(lines: Sequence[str]) -> str:
    """Write lines as a comment; two hyphens in a row may not stand in it."""
    return comment([re.sub("-(?=-)", "- ", line) for line in lines], "<!--", "  ", "-->")


LOGIC = Dialect(
    both=apply("and", "{a}", "{b}"),
    either=apply("or", "{a}", "{b}"),
    differ=apply("notEqual", "{a}", "{b}"),
    invert=apply("not", "{a}"),
    never=constant("boolean", "false"),
    always=constant("boolean", "true"),
)
"""Booleans that are never missing."""
