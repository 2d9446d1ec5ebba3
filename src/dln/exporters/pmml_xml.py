"""PMML expressions, and the characters that XML allows."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from xml.sax.saxutils import quoteattr

from dln.exporters.dialect import Dialect
from dln.exporters.text import comment

DataType = OneOf["boolean", "integer", "double", "string"]
Measure = OneOf["continuous", "categorical"]

_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def fits_xml(text: str) -> bool:
    r"""Return whether XML 1.0 can represent a text; it excludes most control characters.

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
    """Write an expression that reads a field."""
    return f"<FieldRef{attributes(field=name)}/>"


def one_if_equal(field: str, text: str) -> str:
    """Write an expression that is 1 if a field equals this text, and 0 otherwise or if missing."""
    return f'<NormDiscrete{attributes(field=field, value=text)} mapMissingTo="0"/>'


def constant(data_type: OneOf["boolean", "integer", "double"], value: str) -> str:
    """Write a constant number or boolean."""
    return f'<Constant dataType="{data_type}">{value}</Constant>'


def double(value: float) -> str:
    """Write a float64 exactly. Infinities are written as Java requires."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def apply(function: str, *arguments: str, if_missing: str | None = None) -> str:
    """Write a function call; its result is `if_missing` if an argument is missing."""
    default = {} if if_missing is None else {"mapMissingTo": if_missing}
    inner = "".join(arguments)
    return f"<Apply{attributes(function=function, **default)}>{inner}</Apply>"


def typed(name: str, data_type: DataType, measure: Measure | None = None, shown: str = "") -> str:
    """Write the attributes of a field. Without a measure, numbers are continuous."""
    usual = "continuous" if data_type in ("integer", "double") else "categorical"
    words = {"displayName": shown} if shown else {}
    return attributes(name=name, **words, optype=measure or usual, dataType=data_type)


@dataclass(frozen=True)
class Inner:
    """The names of fields that the model computes: a prefix keeps them apart from columns."""

    prefix: str

    def name(self, name: str) -> str:
        """Return the name in the file."""
        return self.prefix + name

    def ref(self, name: str) -> str:
        """Write an expression that reads a computed field."""
        return field_ref(self.name(name))

    def derived(self, name: str, data_type: DataType, value: str, shown: str = "") -> str:
        """Write a computed field."""
        kind = typed(self.name(name), data_type, shown=shown)
        return f"<DerivedField{kind}>{value}</DerivedField>"


def whole(number: int) -> str:
    """Write a constant integer."""
    return constant("integer", str(number))


def output(name: str, data_type: DataType, value: str) -> str:
    """Write a computed output."""
    kind = typed(name, data_type)
    return f'      <OutputField{kind} feature="transformedValue">{value}</OutputField>'


def xml_comment(lines: Sequence[str]) -> str:
    """Write lines as a comment. XML forbids two hyphens in a row inside a comment."""
    return comment([re.sub("-(?=-)", "- ", line) for line in lines], "<!--", "  ", "-->")


LOGIC = Dialect(
    both=apply("and", "{a}", "{b}"),
    either=apply("or", "{a}", "{b}"),
    differ=apply("notEqual", "{a}", "{b}"),
    invert=apply("not", "{a}"),
    never=constant("boolean", "false"),
    always=constant("boolean", "true"),
)
"""Operators on booleans that are never missing."""
