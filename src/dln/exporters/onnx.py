"""Program -> an ONNX model of standard operators: raw columns in, class or number out.

All cutoffs of a column are one comparison. All gates of one depth are one polynomial,
y = c0 + c1·a + c2·b + c3·a·b, over all rows and gates at once. A deep circuit with few gates of
each depth gets one Boolean operator for each gate instead: onnxruntime takes minutes to load 10,000
depths of polynomials, and seconds to load 10,000 Boolean operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from dln.core.gates import Gate, Operators
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import Node
from dln.errors import OptionError
from dln.exporters.categories import holds_numbers, spelled_categories
from dln.exporters.layout import Chunks, by_depth
from dln.exporters.names import identifiers
from dln.exporters.onnx_answers import make_answer
from dln.exporters.onnx_nodes import PREFIX, Nodes
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.text import has_utf8, head

OPSET, IR_VERSION = 19, 9
"""Equal compares text since opset 19."""

_SPARSE = 200
"""Sets are looked up one by one if on average they hold less than 1/200 of the categories."""
_DEEP, _FEW = 30, 8
"""Each gate is an operator if the circuit is at least this deep, with fewer gates per depth."""


def export_onnx(program: Program, *, explain: bool = False) -> Export:
    """Write ONNX; requires the package onnx.

    Parameters
    ----------
    explain
        Add the outputs `votes` (or `points`) and `rules`: whether each rule fired, as booleans.
    """
    if not program.columns:
        raise OptionError(
            "the circuit reads no column, so an ONNX model could not know how many rows there are; "
            "it always predicts the same"
        )
    graph = _Graph(program)
    graph.write(explain)
    inputs = tuple(
        Input(column.name, name, _type(column))
        for column, name in zip(program.columns, graph.names, strict=True)
    )
    files = {f"{program.name}.onnx": graph.model(explain).SerializeToString()}
    return Export("onnx", program.name, program.model_id, files, inputs)


def _type(column: Column) -> str:
    if is_text(column):
        return f"string [rows, 1], {missing_text(column)!r} if missing"
    seconds = " (seconds since 1970)" if column.kind == "date" else ""
    return f"double [rows, 1]{seconds}, NaN if missing"


def is_text(column: Column) -> bool:
    """Return whether a column is text; all others are doubles."""
    return column.kind == "category" and not holds_numbers(column)


def missing_text(column: Column) -> str:
    """Return the text that stands for a missing value: empty, unless that is a category."""
    known = spelled_categories(column)
    text = ""
    while text in known:
        text = f"<{text or 'missing'}>"
    return text


def _input_names(columns: Sequence[Column], outputs: Sequence[str]) -> list[str]:
    """Return the input name of each column: the user's name if ONNX allows it."""
    plain = identifiers([column.name for column in columns])
    taken = {*outputs, *(column.name for column in columns)}
    names: list[str] = []
    for column, identifier in zip(columns, plain, strict=True):
        name = column.name
        fits = name.isprintable() and name != "" and has_utf8(name)
        if not fits or name in outputs or name.startswith(PREFIX):
            name = name if fits else identifier
            while name in taken or name.startswith(PREFIX):
                name = f"_{name}"
            taken.add(name)
        names.append(name)
    return names


class _Graph:
    """A graph under construction: nodes and constants."""

    def __init__(self, program: Program) -> None:
        self._nodes = Nodes()
        self._program = program
        self._answer = make_answer(program.readout, self._nodes)
        self.names = _input_names(program.columns, (*self._answer.outputs(explain=True), "rules"))

    def write(self, explain: bool) -> None:
        """Add all nodes between inputs and outputs."""
        circuit = self._program.circuit
        wires, place = self._literals()
        depth = max(self._program.depths, default=0)
        is_deep = depth >= _DEEP and circuit.n_gates < _FEW * depth
        wires, place = (self._boolean_gates if is_deep else self._gates)(wires, place)
        fired = self._nodes.columns(wires, [place[rule.wire] for rule in circuit.rules])
        weights = np.array([rule.votes for rule in circuit.rules], dtype=np.float64)
        base = np.array([circuit.base_votes], dtype=np.float64)
        counted = self._nodes.add(
            "MatMul", self._nodes.cast(fired, "DOUBLE"), self._nodes.constant(weights)
        )
        votes = self._nodes.add("Add", counted, self._nodes.constant(base))
        self._answer.write(votes, explain)
        if explain:
            self._nodes.cast(fired, "BOOL", named="rules")

    def model(self, explain: bool) -> Any:
        """Make the model."""
        helper, kinds = self._nodes.onnx.helper, self._nodes.onnx.TensorProto
        columns = zip(self._program.columns, self.names, strict=True)
        inputs = [
            helper.make_tensor_value_info(
                name, kinds.STRING if is_text(column) else kinds.DOUBLE, ["rows", 1]
            )
            for column, name in columns
        ]
        shapes = self._answer.outputs(explain)
        if explain:
            shapes["rules"] = (kinds.BOOL, ["rows", len(self._program.readout.rules)])
        outputs = [helper.make_tensor_value_info(name, *shape) for name, shape in shapes.items()]
        lines = head(self._program, "ONNX")
        shown = "\n".join(lines).encode("utf-8", "backslashreplace").decode("utf-8")
        graph = helper.make_graph(
            self._nodes.nodes,
            self._program.name,
            inputs,
            outputs,
            self._nodes.constants,
            doc_string=shown,
        )
        model = helper.make_model(
            graph,
            producer_name="dln",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        helper.set_model_props(model, {"model_id": self._program.model_id, "rules": shown})
        return model

    # -- parts ----------------------------------------------------------------------------------

    def _literals(self) -> tuple[str, dict[int, int]]:
        """Compute all literals as one block; return it and the column of each wire in it."""
        blocks: list[str] = []
        place: dict[int, int] = {}
        width = 0
        for column, name in zip(self._program.inputs, self.names, strict=True):
            above, among, missing = [], [], []
            for wire, literal in self._program.literals_of(column):
                match literal:
                    case Above():
                        above.append((wire, literal.cutoff))
                    case Among():
                        among.append((wire, literal.categories))
                    case Missing():
                        missing.append(wire)
                    case _:
                        assert_never(literal)
            if above:
                cutoffs = np.array([[cutoff for _, cutoff in above]])
                test = self._nodes.add("Greater", name, self._nodes.constant(cutoffs))
                blocks.append(self._nodes.cast(test, "FLOAT"))
            if among:
                blocks.append(self._matches(column, name, [codes for _, codes in among]))
            for wire, _ in (*above, *among):
                place[wire] = width
                width += 1
            if missing:
                blocks.append(self._nodes.cast(self._is_missing(column, name), "FLOAT"))
                place |= dict.fromkeys(missing, width)
                width += 1
        return self._nodes.add("Concat", *blocks, axis=1), place

    def _matches(self, column: int, name: str, choices: list[tuple[int, ...]]) -> str:
        known = self._program.logic.columns[column]
        values = _category_values(known)
        test = self._nodes.add("Equal", name, self._nodes.constant(values.reshape(1, -1)))
        if sum(map(len, choices)) < len(known.categories) * len(choices) // _SPARSE:
            return self._sparse_matches(self._nodes.cast(test, "FLOAT"), choices)
        member = np.zeros((len(known.categories), len(choices)), dtype=np.float32)
        for number, codes in enumerate(choices):
            member[list(codes), number] = 1
        return self._nodes.add(
            "MatMul", self._nodes.cast(test, "FLOAT"), self._nodes.constant(member)
        )

    def _sparse_matches(self, test: str, choices: list[tuple[int, ...]]) -> str:
        """Look up each set separately: a table of all sets would be mostly zeros."""
        axis = self._nodes.constant(np.array([1], dtype=np.int64))
        blocks = []
        for codes in choices:
            chosen = self._nodes.columns(test, codes)
            many = len(codes) > 1
            blocks.append(
                self._nodes.add("ReduceMax", chosen, axis, keepdims=1) if many else chosen
            )
        return self._nodes.add("Concat", *blocks, axis=1)

    def _is_missing(self, column: int, name: str) -> str:
        known = self._program.logic.columns[column]
        if not is_text(known):
            return self._nodes.add("IsNaN", name)
        mark = np.array([[missing_text(known)]], dtype=object)
        return self._nodes.add("Equal", name, self._nodes.constant(mark))

    def _gates(self, wires: str, place: dict[int, int]) -> tuple[str, dict[int, int]]:
        """Add the gates, one depth after the other.

        Takes and returns a block of values with one column for each wire, and the column of each
        wire. When half of the wires in the block have no later reader, they are dropped. Otherwise
        the work would be quadratic in the depth.
        """
        circuit = self._program.circuit
        levels = by_depth(self._program)
        leaving = self._wires_by_last_reader(levels)
        width = max(place.values(), default=-1) + 1
        for gates, unread in zip(levels, leaving, strict=True):
            nodes = [circuit.nodes[gate] for gate in gates]
            value = self._polynomial(wires, nodes, place)
            for wire in unread:
                place.pop(wire, None)
            columns = sorted(set(place.values()))
            if 2 * len(columns) < width:
                wires = self._nodes.columns(wires, columns) if columns else ""
                moved = {column: at for at, column in enumerate(columns)}
                place = {wire: moved[column] for wire, column in place.items()}
                width = len(columns)
            wires = self._nodes.add("Concat", wires, value, axis=1) if wires else value
            place |= {circuit.n_literals + gate: width + at for at, gate in enumerate(gates)}
            width += len(gates)
        return wires, place

    def _boolean_gates(self, wires: str, place: dict[int, int]) -> tuple[str, dict[int, int]]:
        """Add the gates one by one; takes and returns what `_gates` does."""
        circuit = self._program.circuit
        width = max(place.values()) + 1
        columns = [f"{PREFIX}column{number}" for number in range(width)]
        bits = self._nodes.cast(wires, "BOOL")
        self._nodes.add_several("Split", [bits], columns, axis=1, num_outputs=width)
        values = {wire: columns[column] for wire, column in place.items()}
        invert = cache(partial(self._nodes.add, "Not"))  # a negation is added once
        for wire, (gate, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
            values[wire] = self._boolean_gate(gate, values[a], values[b], invert)
        voting = list(dict.fromkeys(rule.wire for rule in circuit.rules))
        block = self._nodes.add("Concat", *(values[wire] for wire in voting), axis=1)
        return self._nodes.cast(block, "FLOAT"), {wire: at for at, wire in enumerate(voting)}

    def _boolean_gate(self, gate: Gate, a: str, b: str, invert: Callable[[str], str]) -> str:
        def constant(value: bool) -> str:
            zeros = self._nodes.add("Xor", a, a)
            return invert(zeros) if value else zeros

        both, either, differ = (partial(self._nodes.add, name) for name in ("And", "Or", "Xor"))
        return gate.compute(Operators(both, either, differ, invert, constant), a, b)

    def _wires_by_last_reader(self, levels: Chunks) -> list[list[int]]:
        """Return for each depth the wires that it is the last to read; rules read after all."""
        circuit = self._program.circuit
        last: dict[int, int] = {}
        for level, gates in enumerate(levels):
            for gate in gates:
                _, a, b = circuit.nodes[gate]
                last[a] = last[b] = level
        found: list[list[int]] = [[] for _ in levels]
        voting = {rule.wire for rule in circuit.rules}
        for wire, level in last.items():
            if wire not in voting:
                found[level].append(wire)
        return found

    def _polynomial(self, wires: str, nodes: Sequence[Node], place: dict[int, int]) -> str:
        """Compute gates of one depth from the coefficients of their polynomials."""
        a = self._nodes.columns(wires, [place[node.a] for node in nodes])
        b = self._nodes.columns(wires, [place[node.b] for node in nodes])
        c0, c1, c2, c3 = (
            self._nodes.constant(np.array([part], dtype=np.float32))
            for part in zip(*(node.gate.coefficients for node in nodes), strict=True)
        )
        value = self._nodes.add("Add", c0, self._nodes.add("Mul", c1, a))
        value = self._nodes.add("Add", value, self._nodes.add("Mul", c2, b))
        return self._nodes.add(
            "Add", value, self._nodes.add("Mul", c3, self._nodes.add("Mul", a, b))
        )


def _category_values(column: Column) -> NDArray[Any]:
    if not is_text(column):
        return np.array([float(category) for category in column.categories])
    # Inputs are UTF-8, so that a category without UTF-8 never occurs.
    shown = [x.encode("utf-8", "backslashreplace").decode() for x in spelled_categories(column)]
    return np.array(shown, dtype=object)
