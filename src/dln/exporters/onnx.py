"""Program -> an ONNX model of standard operators: raw columns in, label and probabilities out.

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

from dln._util.extras import import_extra
from dln.core.calibration import Calibration
from dln.core.gates import Gate, Operators
from dln.core.labels import Label, label_array
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import Node
from dln.errors import OptionError
from dln.exporters.categories import holds_numbers, spelled_categories
from dln.exporters.layout import Chunks, by_depth
from dln.exporters.names import identifiers
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.text import has_utf8, head, label_words

OPSET, IR_VERSION = 19, 9
"""Equal compares text since opset 19."""

_OUTPUTS = ("label", "probabilities", "votes", "rules")
_SPARSE = 200
"""Sets are looked up one by one if on average they hold less than 1/200 of the categories."""
_DEEP, _FEW = 30, 8
"""Each gate is an operator if the circuit is at least this deep, with fewer gates per depth."""


def export_onnx(program: Program, *, explain: bool = False) -> Export:
    """Write ONNX; requires the package onnx.

    Parameters
    ----------
    explain
        Add the outputs `votes` and `rules`: whether each rule fired, as booleans.
    """
    if not program.columns:
        raise OptionError(
            "the circuit reads no column, so an ONNX model could not know how many rows there are; "
            "it always predicts the same class"
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


def _input_names(columns: Sequence[Column]) -> list[str]:
    """Return the input name of each column: the user's name if ONNX allows it."""
    plain = identifiers([column.name for column in columns])
    taken = {*_OUTPUTS, *(column.name for column in columns)}
    names: list[str] = []
    for column, identifier in zip(columns, plain, strict=True):
        name = column.name
        fits = name.isprintable() and name != "" and has_utf8(name)
        if not fits or name in _OUTPUTS or name.startswith(_PREFIX):
            name = name if fits else identifier
            while name in taken or name.startswith(_PREFIX):
                name = f"_{name}"
            taken.add(name)
        names.append(name)
    return names


_PREFIX = "dln/"
"""The prefix of the names of intermediate values."""


class _Graph:
    """A graph under construction: nodes and constants."""

    def __init__(self, program: Program) -> None:
        self._onnx = import_extra("onnx", "exporting to ONNX")
        self._program = program
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self.names = _input_names(program.columns)

    def write(self, explain: bool) -> None:
        """Add all nodes between inputs and outputs."""
        circuit = self._program.circuit
        wires, place = self._literals()
        depth = max(self._program.depths, default=0)
        is_deep = depth >= _DEEP and circuit.n_gates < _FEW * depth
        wires, place = (self._boolean_gates if is_deep else self._gates)(wires, place)
        fired = self._columns(wires, [place[rule.wire] for rule in circuit.rules])
        weights = np.array([rule.votes for rule in circuit.rules], dtype=np.float64)
        base = np.array([circuit.base_votes], dtype=np.float64)
        counted = self._add("MatMul", self._cast(fired, "DOUBLE"), self._constant(weights))
        votes = self._add("Add", counted, self._constant(base))
        winner = self._add("ArgMax", votes, axis=1, keepdims=0, select_last_index=0)
        labels = self._constant(_label_values(circuit.classes))
        self._add("Gather", labels, winner, axis=0, named="label")
        if self._program.readout.calibration is None:
            self._softmax(votes)
        else:
            self._look_up(votes, winner, self._program.readout.calibration)
        if explain:
            self._cast(votes, "INT64", named="votes")
            self._cast(fired, "BOOL", named="rules")

    def model(self, explain: bool) -> Any:
        """Make the model."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        circuit = self._program.circuit
        columns = zip(self._program.columns, self.names, strict=True)
        inputs = [
            helper.make_tensor_value_info(
                name, kinds.STRING if is_text(column) else kinds.DOUBLE, ["rows", 1]
            )
            for column, name in columns
        ]
        label_kind = helper.np_dtype_to_tensor_dtype(_label_values(circuit.classes).dtype)
        shapes = {
            "label": (label_kind, ["rows"]),
            "probabilities": (kinds.DOUBLE, ["rows", circuit.n_classes]),
            "votes": (kinds.INT64, ["rows", circuit.n_classes]),
            "rules": (kinds.BOOL, ["rows", len(circuit.rules)]),
        }
        outputs = [
            helper.make_tensor_value_info(name, *shapes[name])
            for name in (_OUTPUTS if explain else _OUTPUTS[:2])
        ]
        lines = head(self._program, "A classifier in ONNX")
        shown = "\n".join(lines).encode("utf-8", "backslashreplace").decode("utf-8")
        graph = helper.make_graph(
            self._nodes, self._program.name, inputs, outputs, self._constants, doc_string=shown
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
                test = self._add("Greater", name, self._constant(cutoffs))
                blocks.append(self._cast(test, "FLOAT"))
            if among:
                blocks.append(self._matches(column, name, [codes for _, codes in among]))
            for wire, _ in (*above, *among):
                place[wire] = width
                width += 1
            if missing:
                blocks.append(self._cast(self._is_missing(column, name), "FLOAT"))
                place |= dict.fromkeys(missing, width)
                width += 1
        return self._add("Concat", *blocks, axis=1), place

    def _matches(self, column: int, name: str, choices: list[tuple[int, ...]]) -> str:
        known = self._program.logic.columns[column]
        values = _category_values(known)
        test = self._add("Equal", name, self._constant(values.reshape(1, -1)))
        if sum(map(len, choices)) < len(known.categories) * len(choices) // _SPARSE:
            return self._sparse_matches(self._cast(test, "FLOAT"), choices)
        member = np.zeros((len(known.categories), len(choices)), dtype=np.float32)
        for number, codes in enumerate(choices):
            member[list(codes), number] = 1
        return self._add("MatMul", self._cast(test, "FLOAT"), self._constant(member))

    def _sparse_matches(self, test: str, choices: list[tuple[int, ...]]) -> str:
        """Look up each set separately: a table of all sets would be mostly zeros."""
        axis = self._constant(np.array([1], dtype=np.int64))
        blocks = []
        for codes in choices:
            chosen = self._columns(test, codes)
            many = len(codes) > 1
            blocks.append(self._add("ReduceMax", chosen, axis, keepdims=1) if many else chosen)
        return self._add("Concat", *blocks, axis=1)

    def _is_missing(self, column: int, name: str) -> str:
        known = self._program.logic.columns[column]
        if not is_text(known):
            return self._add("IsNaN", name)
        mark = np.array([[missing_text(known)]], dtype=object)
        return self._add("Equal", name, self._constant(mark))

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
                wires = self._columns(wires, columns) if columns else ""
                moved = {column: at for at, column in enumerate(columns)}
                place = {wire: moved[column] for wire, column in place.items()}
                width = len(columns)
            wires = self._add("Concat", wires, value, axis=1) if wires else value
            place |= {circuit.n_literals + gate: width + at for at, gate in enumerate(gates)}
            width += len(gates)
        return wires, place

    def _boolean_gates(self, wires: str, place: dict[int, int]) -> tuple[str, dict[int, int]]:
        """Add the gates one by one; takes and returns what `_gates` does."""
        circuit = self._program.circuit
        width = max(place.values()) + 1
        columns = [f"{_PREFIX}column{number}" for number in range(width)]
        helper, bits = self._onnx.helper, self._cast(wires, "BOOL")
        self._nodes.append(helper.make_node("Split", [bits], columns, axis=1, num_outputs=width))
        values = {wire: columns[column] for wire, column in place.items()}
        invert = cache(partial(self._add, "Not"))  # a negation is added once
        for wire, (gate, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
            values[wire] = self._boolean_gate(gate, values[a], values[b], invert)
        voting = list(dict.fromkeys(rule.wire for rule in circuit.rules))
        block = self._add("Concat", *(values[wire] for wire in voting), axis=1)
        return self._cast(block, "FLOAT"), {wire: at for at, wire in enumerate(voting)}

    def _boolean_gate(self, gate: Gate, a: str, b: str, invert: Callable[[str], str]) -> str:
        def constant(value: bool) -> str:
            zeros = self._add("Xor", a, a)
            return invert(zeros) if value else zeros

        both, either, differ = (partial(self._add, name) for name in ("And", "Or", "Xor"))
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
        a = self._columns(wires, [place[node.a] for node in nodes])
        b = self._columns(wires, [place[node.b] for node in nodes])
        c0, c1, c2, c3 = (
            self._constant(np.array([part], dtype=np.float32))
            for part in zip(*(node.gate.coefficients for node in nodes), strict=True)
        )
        value = self._add("Add", c0, self._add("Mul", c1, a))
        value = self._add("Add", value, self._add("Mul", c2, b))
        return self._add("Add", value, self._add("Mul", c3, self._add("Mul", a, b)))

    def _columns(self, wires: str, columns: Sequence[int]) -> str:
        return self._add("Gather", wires, self._constant(np.array(columns, np.int64)), axis=1)

    def _look_up(self, votes: str, winner: str, calibration: Calibration) -> None:
        """Interpolate between the leads of a calibration."""
        n_classes, n_leads = self._program.circuit.n_classes, len(calibration.leads)
        leads = np.array(calibration.leads, dtype=np.float64)
        values = np.array(calibration.values)
        lead = self._leads(votes, winner)
        lead = self._add("Max", lead, self._constant(leads[:1]))
        lead = self._add("Min", lead, self._constant(leads[-1:]))
        # The line of the table: the number of its other leads that are reached.
        each = self._add("Unsqueeze", lead, self._constant(np.array([2], dtype=np.int64)))
        reached = self._cast(
            self._add("GreaterOrEqual", each, self._constant(np.append(leads[1:], np.inf))), "INT64"
        )
        axis = self._constant(np.array([2], dtype=np.int64))
        line = self._add("ReduceSum", reached, axis, keepdims=0)
        if len(values) > 1:
            starts = n_leads * np.arange(n_classes, dtype=np.int64)[None]
            place = self._add("Add", line, self._constant(starts))
        else:
            place = line
        step = np.diff(values, axis=1, append=values[:, -1:]).ravel()
        width = np.append(np.diff(leads), 1.0)
        first = self._add("Gather", self._constant(leads), line)
        rise = self._add("Gather", self._constant(step), place)
        rise = self._add("Mul", rise, self._add("Sub", lead, first))
        rise = self._add("Div", rise, self._add("Gather", self._constant(width), line))
        found = self._add("Add", self._add("Gather", self._constant(values.ravel()), place), rise)
        if n_classes == 2:
            other = self._add("Sub", self._constant(np.ones(1)), found)
            self._add("Concat", other, found, axis=1, named="probabilities")
        else:
            ones = self._constant(np.array([1], dtype=np.int64))
            total = self._add("ReduceSum", found, ones, keepdims=1)
            self._add("Div", found, total, named="probabilities")

    def _leads(self, votes: str, winner: str) -> str:
        """Compute the lead of the second of two classes, or of each class."""
        n_classes = self._program.circuit.n_classes
        if n_classes == 2:
            return self._add("Sub", self._columns(votes, [1]), self._columns(votes, [0]))
        two = self._constant(np.array([2], dtype=np.int64))
        top = f"{_PREFIX}top"
        self._nodes.append(
            self._onnx.helper.make_node("TopK", [votes, two], [top, f"{top}_places"], axis=1)
        )
        axis = self._constant(np.array([1], dtype=np.int64))
        numbers = self._constant(np.arange(n_classes, dtype=np.int64)[None])
        won = self._add("Equal", self._add("Unsqueeze", winner, axis), numbers)
        best, second = self._columns(top, [0]), self._columns(top, [1])
        return self._add("Sub", votes, self._add("Where", won, second, best))

    def _softmax(self, votes: str) -> None:
        axis = self._constant(np.array([1], dtype=np.int64))
        most = self._add("ReduceMax", votes, axis, keepdims=1)
        temperature = np.array(self._program.readout.temperature, dtype=np.float64)
        behind = self._add("Div", self._add("Sub", votes, most), self._constant(temperature))
        self._add("Softmax", behind, axis=1, named="probabilities")

    # -- nodes ----------------------------------------------------------------------------------

    def _add(self, operator: str, *inputs: str, named: str = "", **settings: Any) -> str:
        name = named or f"{_PREFIX}{operator}{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **settings))
        return name

    def _cast(self, value: str, kind: str, named: str = "") -> str:
        return self._add("Cast", value, named=named, to=getattr(self._onnx.TensorProto, kind))

    def _constant(self, values: NDArray[Any]) -> str:
        name = f"{_PREFIX}constant{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(values, name))
        return name


def _category_values(column: Column) -> NDArray[Any]:
    if not is_text(column):
        return np.array([float(category) for category in column.categories])
    # Inputs are UTF-8, so that a category without UTF-8 never occurs.
    shown = [x.encode("utf-8", "backslashreplace").decode() for x in spelled_categories(column)]
    return np.array(shown, dtype=object)


def _label_values(classes: Sequence[Label]) -> NDArray[Any]:
    values = label_array(classes)
    if values.dtype.kind in "ifb":
        return values
    texts = [label_words(label) for label in classes]
    if not all(map(has_utf8, texts)):
        raise OptionError(
            "a class contains half a surrogate pair, which ONNX cannot hold; rename the class"
        )
    return np.array(texts, dtype=object)
