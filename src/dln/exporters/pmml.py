"""Program -> PMML 4.4: a rule set over derived fields.

Each literal, gate, rule and sum of votes is one derived field, so that the file grows with the
number of gates and not with the number of paths through them. The rule set returns the first class
with the most votes. It compares integers, so that rounding decides neither ties nor close votes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from dln.core.calibration import Calibration
from dln.core.labels import Label
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.errors import OptionError
from dln.exporters.categories import holds_numbers
from dln.exporters.fields import make_fields
from dln.exporters.names import identifiers
from dln.exporters.pmml_xml import (
    LOGIC,
    DataType,
    Measure,
    apply,
    attributes,
    constant,
    double,
    field_ref,
    fits_xml,
    one_if_equal,
    typed,
    xml_comment,
)
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.text import head, label_words

OUTPUT = "predicted_class"
_NOTES = (
    f"The output {OUTPUT} is the class, probability(CLASS) its probability. A value that is",
    "absent, null or NaN is missing.",
)
_INTEGERS = range(-(2**31), 2**31)
"""Some consumers read integers as 32 bits."""
_OUTPUTS = re.compile(rf"{OUTPUT}|(probability|votes)\(.*\)|rule\(\d+\)", re.DOTALL)
_INNER = re.compile(r"[lgrvbe]\d+|class|most|total")


def export_pmml(program: Program, *, explain: bool = False) -> Export:
    """Write PMML.

    Parameters
    ----------
    explain
        Add the outputs `votes(CLASS)` and `rule(NUMBER)`: whether each rule fired, as a boolean.
    """
    names = _input_names(program.columns)
    writer = _Writer(program, names)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        xml_comment(head(program, "A classifier in PMML", _NOTES)).rstrip(),
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


# -- columns and classes --------------------------------------------------------------------------


def _data_type(column: Column) -> DataType:
    if column.kind == "boolean":
        return "boolean"
    return "string" if column.kind == "category" and not holds_numbers(column) else "double"


def _type_words(column: Column) -> str:
    return f"{_data_type(column)}{' (seconds since 1970)' if column.kind == 'date' else ''}"


def _input_names(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the field name of each column: the user's name if XML allows it."""
    taken = {column.name for column in columns}
    names = []
    for column, name in zip(columns, identifiers([x.name for x in columns]), strict=True):
        if _OUTPUTS.fullmatch(column.name):
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


@dataclass(frozen=True)
class _Labels:
    """The classes: their type, and each of them as text."""

    data_type: DataType
    texts: tuple[str, ...]


_SPELLED: dict[type, tuple[DataType, Callable[[Any], str]]] = {
    bool: ("boolean", lambda label: str(label).lower()),
    int: ("integer", str),
    float: ("double", double),
}


def _write_labels(classes: Sequence[Label]) -> _Labels:
    """Write labels as numbers or booleans if all are, and as text otherwise."""
    types = {type(label) for label in classes}
    too_large = any(type(label) is int and label not in _INTEGERS for label in classes)
    known = str if len(types) > 1 or too_large else types.pop()
    data_type, write = _SPELLED.get(known, ("string", label_words))
    texts = tuple(map(write, classes))
    seen: dict[str, Label] = {}
    for label, text in zip(classes, texts, strict=True):
        if not fits_xml(text):
            raise OptionError(f"XML cannot hold the class {label!r}; rename the class")
        if text in seen:
            raise OptionError(
                f"the classes {seen[text]!r} and {label!r} are the same as text; make them differ"
            )
        seen[text] = label
    return _Labels(data_type, texts)


# -- the model ------------------------------------------------------------------------------------


class _Writer:
    """Writes the elements of one program."""

    def __init__(self, program: Program, names: tuple[str, ...]) -> None:
        self._program = program
        self._circuit = program.circuit
        self._names = names
        self._prefix = _inner_prefix(names)
        self._labels = _write_labels(program.readout.classes)
        self._fields = {field.index: field for field in make_fields(program, 64, None)}

    def data_dictionary(self) -> Iterator[str]:
        """Write the fields that the caller provides."""
        yield "  <DataDictionary>"
        for column, name in zip(self._program.columns, self._names, strict=True):
            data_type = _data_type(column)
            measure: Measure | None = "categorical" if column.kind == "category" else None
            field = f"    <DataField{typed(name, data_type, measure)}"
            # Some consumers treat NaN as greater than all numbers.
            nan = '><Value value="NaN" property="missing"/></DataField>'
            yield field + (nan if data_type == "double" else "/>")
        label = typed(self._inner("class"), self._labels.data_type, "categorical")
        yield f"    <DataField{label}>"
        for text in self._labels.texts:
            yield f"      <Value{attributes(value=text)}/>"
        yield from ("    </DataField>", "  </DataDictionary>")

    def model(self, explain: bool) -> Iterator[str]:
        """Write all computed fields."""
        named = attributes(modelName=self._program.name)
        yield f'  <RuleSetModel{named} functionName="classification">'
        yield from self._mining_schema()
        yield from self._outputs(explain)
        yield "    <LocalTransformations>"
        for line in (*self._literals(), *self._gates(), *self._rules(), *self._votes()):
            yield f"      {line}"
        yield "    </LocalTransformations>"
        yield from self._rule_set()
        yield "  </RuleSetModel>"

    def _mining_schema(self) -> Iterator[str]:
        yield "    <MiningSchema>"
        for name in self._names:
            yield f'      <MiningField{attributes(name=name)} invalidValueTreatment="asIs"/>'
        yield f'      <MiningField{attributes(name=self._inner("class"))} usageType="target"/>'
        yield "    </MiningSchema>"

    def _outputs(self, explain: bool) -> Iterator[str]:
        label = typed(OUTPUT, self._labels.data_type, "categorical")
        yield "    <Output>"
        yield f'      <OutputField{label} feature="predictedValue"/>'
        for place, text in enumerate(self._labels.texts):
            share = apply("/", self._field(f"e{place}"), self._field("total"))
            yield _output(f"probability({text})", "double", share)
        if explain:
            for place, text in enumerate(self._labels.texts):
                yield _output(f"votes({text})", "integer", self._field(f"v{place}"))
            for number in range(len(self._circuit.rules)):
                yield _output(f"rule({number})", "boolean", self._field(f"r{number}"))
        yield "    </Output>"

    def _rule_set(self) -> Iterator[str]:
        yield "    <RuleSet>"
        yield '      <RuleSelectionMethod criterion="firstHit"/>'
        for place, text in enumerate(self._labels.texts):
            test = attributes(field=self._inner(f"b{place}"), operator="equal", value="0")
            rule = f"<SimpleRule{attributes(id=str(place), score=text)}>"
            yield f"      {rule}<SimplePredicate{test}/></SimpleRule>"
        yield "    </RuleSet>"

    # -- derived fields -------------------------------------------------------------------------

    def _inner(self, name: str) -> str:
        return self._prefix + name

    def _field(self, name: str) -> str:
        return field_ref(self._inner(name))

    def _wire(self, wire: int) -> str:
        return self._field(self._program.wire_name(wire))

    def _derived(self, name: str, data_type: DataType, value: str, shown: str = "") -> str:
        kind = typed(self._inner(name), data_type, shown=shown)
        return f"<DerivedField{kind}>{value}</DerivedField>"

    def _literals(self) -> Iterator[str]:
        for wire, literal in enumerate(self._circuit.literals):
            shown = literal.describe(self._circuit.columns)
            value = self._literal(literal)
            yield self._derived(self._program.wire_name(wire), "boolean", value, shown)

    def _literal(self, literal: Literal) -> str:
        cell = field_ref(self._names[self._program.place[literal.column]])
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
        name = self._names[self._program.place[literal.column]]
        matches = [one_if_equal(name, text) for text in texts]
        return apply("greaterThan", apply("sum", *matches), _whole(0)) if texts else LOGIC.never

    def _gates(self) -> Iterator[str]:
        for wire, (gate, a, b) in enumerate(self._circuit.nodes, start=self._circuit.n_literals):
            value = LOGIC.gate(gate, self._wire(a), self._wire(b))
            yield self._derived(self._program.wire_name(wire), "boolean", value)

    def _rules(self) -> Iterator[str]:
        pairs = zip(self._circuit.rules, self._program.rule_texts, strict=True)
        for number, (rule, text) in enumerate(pairs):
            yield self._derived(f"r{number}", "boolean", self._wire(rule.wire), text)

    def _votes(self) -> Iterator[str]:
        """Count the votes, and the difference of each class to the most votes."""
        circuit, texts = self._circuit, self._labels.texts
        places = range(circuit.n_classes)
        for place, text in enumerate(texts):
            terms = [
                apply("if", self._field(f"r{number}"), _whole(rule.votes[place]), _whole(0))
                for number, rule in enumerate(circuit.rules)
                if rule.votes[place]
            ]
            votes = apply("sum", _whole(circuit.base_votes[place]), *terms)
            yield self._derived(f"v{place}", "integer", votes, f"votes of {text}")
        most = apply("max", *(self._field(f"v{place}") for place in places))
        # Not an integer: differences may exceed 32 bits.
        yield self._derived("most", "double", most)
        for place in places:
            behind = apply("-", self._field(f"v{place}"), self._field("most"))
            yield self._derived(f"b{place}", "double", behind)
        yield from self._shares()

    def _shares(self) -> Iterator[str]:
        """Compute the weight of each class, and their sum."""
        circuit = self._circuit
        places = range(circuit.n_classes)
        if circuit.calibration is not None:
            yield from self._looked_up(circuit.calibration)
            return
        temperature = constant("double", double(circuit.temperature))
        for place in places:
            odds = apply("exp", apply("/", self._field(f"b{place}"), temperature))
            yield self._derived(f"e{place}", "double", odds)
        total = apply("sum", *(self._field(f"e{place}") for place in places))
        yield self._derived("total", "double", total)

    def _looked_up(self, calibration: Calibration) -> Iterator[str]:
        """Look up the weights of classes by their leads."""
        n_classes = self._circuit.n_classes
        votes = [self._field(f"v{place}") for place in range(n_classes)]
        if n_classes == 2:
            lead = apply("-", self._field("b1"), self._field("b0"))
            yield self._derived("lead1", "double", lead)
            yield self._derived("e1", "double", self._line_of("lead1", calibration, 0))
            rest = apply("-", constant("double", "1.0"), self._field("e1"))
            yield self._derived("e0", "double", rest)
            yield self._derived("total", "double", constant("double", "1.0"))
            return
        # The most votes of the classes before and after each class.
        for place in range(1, n_classes):
            more = [self._field(f"before{place - 1}")] if place > 1 else []
            yield self._derived(f"before{place}", "double", _most(votes[place - 1], *more))
        for place in range(n_classes - 2, -1, -1):
            more = [self._field(f"after{place + 1}")] if place < n_classes - 2 else []
            yield self._derived(f"after{place}", "double", _most(votes[place + 1], *more))
        for place in range(n_classes):
            others = [self._field(f"before{place}")] if place else []
            others += [self._field(f"after{place}")] if place < n_classes - 1 else []
            lead = apply("-", votes[place], _most(*others))
            yield self._derived(f"lead{place}", "double", lead)
            value = self._line_of(f"lead{place}", calibration, place)
            yield self._derived(f"e{place}", "double", value)
        total = apply("sum", *(self._field(f"e{place}") for place in range(n_classes)))
        yield self._derived("total", "double", total)

    def _line_of(self, lead: str, calibration: Calibration, number: int) -> str:
        leads, values = calibration.leads, calibration.table_of(number)
        if len(leads) == 1:  # PMML needs two lines
            leads, values = (leads[0], leads[0] + 1), values * 2
        lines = "".join(
            f"<LinearNorm{attributes(orig=double(float(known)), norm=double(value))}/>"
            for known, value in zip(leads, values, strict=True)
        )
        given = attributes(field=self._inner(lead), outliers="asExtremeValues")
        return f"<NormContinuous{given}>{lines}</NormContinuous>"


def _most(*values: str) -> str:
    return apply("max", *values) if len(values) > 1 else values[0]


def _whole(number: int) -> str:
    return constant("integer", str(number))


def _output(name: str, data_type: DataType, value: str) -> str:
    kind = typed(name, data_type)
    return f'      <OutputField{kind} feature="transformedValue">{value}</OutputField>'
