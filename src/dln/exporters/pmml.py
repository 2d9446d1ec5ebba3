"""Program -> PMML 4.4: a rule set or a regression over derived fields.

Each literal, gate, rule and sum of votes is one derived field, so that the file grows with the
number of gates and not with the number of paths through them. The rule set returns the first class
with the most votes. It compares integers, so that rounding decides neither ties nor close votes.
The regression has one predictor, the score, and the link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import assert_never

from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.errors import OptionError
from dln.exporters.categories import holds_numbers
from dln.exporters.fields import make_fields
from dln.exporters.names import identifiers
from dln.exporters.pmml_answers import TARGET, make_answer
from dln.exporters.pmml_xml import (
    LOGIC,
    DataType,
    Inner,
    Measure,
    apply,
    attributes,
    constant,
    double,
    field_ref,
    fits_xml,
    one_if_equal,
    output,
    typed,
    whole,
    xml_comment,
)
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.text import head

_INNER = re.compile(r"([lgrvbe]|lead|before|after)\d+|class|most|total|score")


def export_pmml(program: Program, *, explain: bool = False) -> Export:
    """Write PMML.

    Parameters
    ----------
    explain
        Add the outputs `votes(CLASS)`, or `points`, and `rule(NUMBER)`: whether each rule fired,
        as a boolean.
    """
    writer = _Writer(program)
    names = writer.names
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        xml_comment(head(program, "PMML", writer.notes)).rstrip(),
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">',
        f"  <Header{attributes(modelVersion=program.model_id)}>",
        '    <Application name="dln"/>',
        "  </Header>",
        *writer.data_dictionary(),
        *writer.model(explain),
        "</PMML>",
    ]
    inputs = tuple(
        Input(column.name, name, _type_words(column))
        for column, name in zip(program.columns, names, strict=True)
    )
    files = {f"{program.name}.pmml": ("\n".join(lines) + "\n").encode("utf-8")}
    return Export("pmml", program.name, program.model_id, files, inputs)


# -- columns -------------------------------------------------------------------------------------


def _data_type(column: Column) -> DataType:
    if column.kind == "boolean":
        return "boolean"
    return "string" if column.kind == "category" and not holds_numbers(column) else "double"


def _type_words(column: Column) -> str:
    return f"{_data_type(column)}{' (seconds since 1970)' if column.kind == 'date' else ''}"


def _input_names(columns: Sequence[Column], reserved: re.Pattern[str]) -> tuple[str, ...]:
    """Return the field name of each column: the user's name if XML allows it."""
    taken = {column.name for column in columns}
    names = []
    for column, name in zip(columns, identifiers([x.name for x in columns]), strict=True):
        if reserved.fullmatch(column.name):
            raise OptionError(
                f"the circuit reads the column {column.name!r}, which is the name of an output; "
                "rename it"
            )
        if column.name and fits_xml(column.name):
            name = column.name
        else:
            while name in taken:
                name = f"_{name}"
            taken.add(name)
        names.append(name)
    return tuple(names)


def _inner_prefix(names: Sequence[str]) -> str:
    """Return a prefix for derived fields: empty, unless a column is named like one."""
    prefix = ""
    while any(x.startswith(prefix) and _INNER.fullmatch(x.removeprefix(prefix)) for x in names):
        prefix += "_"
    return prefix


# -- the model ------------------------------------------------------------------------------------


class _Writer:
    """Writes the elements of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._circuit = program.circuit
        self._answer = make_answer(program.readout)
        self.names = _input_names(program.columns, self._answer.reserved)
        self._inner = Inner(_inner_prefix(self.names))
        self._fields = {field.index: field for field in make_fields(program, 64, None)}

    @property
    def notes(self) -> tuple[str, ...]:
        """How to use the file."""
        return self._answer.notes

    def data_dictionary(self) -> Iterator[str]:
        """Write the fields that the caller provides."""
        yield "  <DataDictionary>"
        for column, name in zip(self._program.columns, self.names, strict=True):
            data_type = _data_type(column)
            measure: Measure | None = "categorical" if column.kind == "category" else None
            field = f"    <DataField{typed(name, data_type, measure)}"
            # Some consumers treat NaN as greater than all numbers.
            nan = '><Value value="NaN" property="missing"/></DataField>'
            yield field + (nan if data_type == "double" else "/>")
        yield self._answer.target(self._inner)
        yield "  </DataDictionary>"

    def model(self, explain: bool) -> Iterator[str]:
        """Write all computed fields."""
        named = attributes(modelName=self._program.name)
        yield f"  <{self._answer.element}{named}{self._answer.settings}>"
        yield from self._mining_schema()
        yield from self._outputs(explain)
        yield "    <LocalTransformations>"
        for line in (
            *self._literals(),
            *self._gates(),
            *self._rules(),
            *self._answer.derived(self._inner),
        ):
            yield f"      {line}"
        yield "    </LocalTransformations>"
        yield from self._answer.body(self._inner)
        yield f"  </{self._answer.element}>"

    def _mining_schema(self) -> Iterator[str]:
        yield "    <MiningSchema>"
        for name in self.names:
            yield f'      <MiningField{attributes(name=name)} invalidValueTreatment="asIs"/>'
        yield f'      <MiningField{attributes(name=self._inner.name(TARGET))} usageType="target"/>'
        yield "    </MiningSchema>"

    def _outputs(self, explain: bool) -> Iterator[str]:
        yield "    <Output>"
        yield from self._answer.outputs(self._inner, explain)
        if explain:
            for number in range(len(self._circuit.rules)):
                yield output(f"rule({number + 1})", "boolean", self._inner.ref(f"r{number}"))
        yield "    </Output>"

    # -- derived fields -------------------------------------------------------------------------

    def _wire(self, wire: int) -> str:
        return self._inner.ref(self._program.wire_name(wire))

    def _literals(self) -> Iterator[str]:
        for wire, literal in enumerate(self._circuit.literals):
            shown = literal.describe(self._circuit.columns)
            value = self._literal(literal)
            yield self._inner.derived(self._program.wire_name(wire), "boolean", value, shown)

    def _literal(self, literal: Literal) -> str:
        cell = field_ref(self.names[self._program.place[literal.column]])
        match literal:
            case Above():
                return self._above(literal, cell)
            case Among():
                return self._among(literal, cell)
            case Missing():
                return apply("isMissing", cell)
            case _:
                assert_never(literal)

    def _above(self, literal: Above, cell: str) -> str:
        field = self._fields[literal.column]
        if field.storage != "boolean":
            cutoff = constant("double", double(literal.cutoff))
            return apply("greaterThan", cell, cutoff, if_missing="false")
        least = field.cutoff(literal.cutoff)
        if least is None:
            return LOGIC.never
        if least < 0:
            return apply("isNotMissing", cell)
        return apply("equal", cell, LOGIC.always, if_missing="false")

    def _among(self, literal: Among, cell: str) -> str:
        field = self._fields[literal.column]
        if field.holds_numbers:
            chosen = [constant("double", double(number)) for number in field.numbers(literal)]
            return apply("isIn", cell, *chosen, if_missing="false")
        texts = field.texts(literal)
        for text in texts:
            if not fits_xml(text):
                raise OptionError(
                    f"XML cannot hold the category {text!r} of column {field.column.name!r}; "
                    "rename it"
                )
        # Text is an attribute: some consumers lose the text before &lt; or &#13; in a Constant.
        name = self.names[self._program.place[literal.column]]
        matches = [one_if_equal(name, text) for text in texts]
        return apply("greaterThan", apply("sum", *matches), whole(0)) if texts else LOGIC.never

    def _gates(self) -> Iterator[str]:
        for wire, (gate, a, b) in enumerate(self._circuit.nodes, start=self._circuit.n_literals):
            value = LOGIC.gate(gate, self._wire(a), self._wire(b))
            yield self._inner.derived(self._program.wire_name(wire), "boolean", value)

    def _rules(self) -> Iterator[str]:
        pairs = zip(self._circuit.rules, self._program.rule_texts, strict=True)
        for number, (rule, text) in enumerate(pairs):
            yield self._inner.derived(f"r{number}", "boolean", self._wire(rule.wire), text)
