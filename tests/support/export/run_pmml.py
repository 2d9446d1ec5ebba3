"""Run exported PMML with PMML4S and with the JPMML evaluator, each in one Java machine."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import dln
from tests.support.export.nasty import Answers, Case
from tests.support.export.run_sql import _sqlite_cell as as_cell
from tests.support.export.run_sql import expected_labels
from tests.support.tools import find_module, find_tool

Row = dict[str, Any]
Load = Callable[[dln.Export], Callable[[Row], Row]]
"""Loads a model and returns a function that predicts one row."""


def run_pmml4s(cases: Sequence[Case], folder: Path) -> list[Answers]:
    return [answer(case, load_pmml4s()) for case in cases]


def run_jpmml(cases: Sequence[Case], folder: Path) -> list[Answers]:
    return [answer(case, load_jpmml()) for case in cases]


@cache
def load_pmml4s() -> Load:
    """Start PMML4S."""
    find_tool("java", package="default-jdk-headless")
    find_module("pypmml")
    from pypmml import Model, PMMLContext

    atexit.register(PMMLContext.shutdown)

    def load(export: dln.Export) -> Callable[[Row], Row]:
        model = Model.fromString(export.text)
        return lambda row: dict(model.predict(row))

    return load


@cache
def load_jpmml() -> Load:
    """Start the JPMML evaluator."""
    backend = _jpmml()
    from jpmml_evaluator import make_evaluator

    def load(export: dln.Export) -> Callable[[Row], Row]:
        evaluator = make_evaluator(export.data, backend=backend)
        return lambda row: evaluator.evaluate(row, nan_as_missing=False)

    return load


@cache
def _jpmml() -> Any:
    """Start the Java virtual machine with the JPMML evaluator and the schema of PMML."""
    find_tool("java", package="default-jdk-headless")
    find_module("jpmml_evaluator")
    from jpmml_evaluator import _classpath
    from jpmml_evaluator.py4j import Py4JBackend
    from py4j.java_gateway import JavaGateway

    # jpmml_evaluator's own way to start Java would leave it running if the tests are interrupted.
    jars = os.pathsep.join(_classpath([]))
    gateway = JavaGateway.launch_gateway(classpath=jars, die_on_exit=True)
    atexit.register(gateway.shutdown)
    return Py4JBackend(gateway)


@cache
def _validator() -> Any:
    jvm = _jpmml().gateway.jvm
    schema = jvm.ClassLoader.getSystemResource("pmml.xsd")
    factory = jvm.javax.xml.validation.SchemaFactory
    return factory.newInstance("http://www.w3.org/2001/XMLSchema").newSchema(schema).newValidator()


def find_schema_errors(export: dln.Export) -> str:
    """Validate a file against the schema of PMML; return the first error, or an empty text."""
    jvm = _jpmml().gateway.jvm
    source = jvm.javax.xml.transform.stream.StreamSource(
        jvm.java.io.ByteArrayInputStream(export.data)
    )
    try:
        _validator().validate(source)
    except Exception as error:  # whatever Java says
        return str(error)
    return ""


def answer(case: Case, load: Load) -> Answers:
    """Predict row by row."""
    export = dln.export(case.circuit, to="pmml", explain=True)
    ask = load(export)
    said = [ask(row) for row in given_rows(case, export)]
    bits = [
        [row[f"rule({number + 1})"] for number in range(len(case.circuit.rules))] for row in said
    ]
    fired = [[number for number, bit in enumerate(row) if bit] for row in bits]
    if case.predicts_number:
        numbers = [row["prediction"] for row in said]
        return Answers(numbers, [[row["points"]] for row in said], fired)
    labels, words = label_values(case), label_texts(export)
    return Answers(
        [labels.index(row["predicted_class"]) for row in said],
        [[row[f"votes({text})"] for text in words] for row in said],
        fired,
        [[row[f"probability({text})"] for text in words] for row in said],
    )


def given_rows(case: Case, export: dln.Export) -> list[Row]:
    """Return the values of each row by name, as Python values."""
    columns = case.circuit.columns
    index_of = {column.name: index for index, column in enumerate(columns)}
    places = [(x.name, index_of[x.column]) for x in export.inputs]
    return [{name: as_cell(row[at], columns[at]) for name, at in places} for row in case.rows]


def label_texts(export: dln.Export) -> list[str]:
    """Return the classes, read from the names of the outputs."""
    root = ElementTree.fromstring(export.data)
    names = [x.attrib["name"] for x in root.iter("{http://www.dmg.org/PMML-4_4}OutputField")]
    return [name[12:-1] for name in names if name.startswith("probability(")]


def label_values(case: Case) -> list[Any]:
    """Return the classes as a consumer does: integers of 32 bits, or text if types differ."""
    classes = case.circuit.classes
    kinds = {type(label) for label in classes}
    if kinds == {int} and any(not -(2**31) <= label < 2**31 for label in classes):
        return [str(label) for label in classes]
    return expected_labels(case)
