"""What the readout adds to an ONNX graph: nodes from votes or points to the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, assert_never

import numpy as np
from numpy.typing import NDArray

from dln.core.calibration import Calibration
from dln.core.labels import Label, label_array
from dln.core.readout import Readout, Votes
from dln.core.score import Score
from dln.errors import OptionError
from dln.exporters.onnx_nodes import PREFIX, Nodes
from dln.exporters.text import has_utf8, label_words

Shape = tuple[int, list[str | int]]
"""The number of an ONNX type, and the dimensions."""


class OnnxAnswer(Protocol):
    """Writes the nodes of an answer."""

    def write(self, votes: str, explain: bool) -> None:
        """Add the nodes from votes or points, doubles of shape (rows, n_outputs), to outputs."""

    def outputs(self, explain: bool) -> dict[str, Shape]:
        """Return the names of the outputs with their types and shapes."""
        ...


def make_answer(readout: Readout, nodes: Nodes) -> OnnxAnswer:
    """Return what writes the nodes of a readout."""
    match readout:
        case Votes():
            return _Classes(readout, nodes)
        case Score():
            return _Number(readout, nodes)
        case _:
            assert_never(readout)


class _Number:
    """Points are an int64; the prediction is one division of doubles, and the link."""

    def __init__(self, score: Score, nodes: Nodes) -> None:
        self._score = score
        self._nodes = nodes

    def outputs(self, explain: bool) -> dict[str, Shape]:
        kinds = self._nodes.onnx.TensorProto
        found: dict[str, Shape] = {"prediction": (kinds.DOUBLE, ["rows"])}
        return found | ({"points": (kinds.INT64, ["rows"])} if explain else {})

    def write(self, votes: str, explain: bool) -> None:
        nodes, score = self._nodes, self._score
        axis = nodes.constant(np.array([1], dtype=np.int64))
        total = nodes.add("Squeeze", votes, axis)
        points = nodes.cast(total, "INT64", named="points" if explain else "")
        power = nodes.constant(np.array(float(10 ** abs(score.digits))))
        scale = "Div" if score.digits >= 0 else "Mul"
        self._link(nodes.add(scale, nodes.cast(points, "DOUBLE"), power))

    def _link(self, value: str) -> None:
        nodes = self._nodes
        match self._score.link:
            case "identity":
                nodes.add("Identity", value, named="prediction")
            case "log":
                nodes.add("Exp", value, named="prediction")
            case "logit":
                one = nodes.constant(np.array(1.0))
                odds = nodes.add("Exp", nodes.add("Neg", value))
                nodes.add("Div", one, nodes.add("Add", one, odds), named="prediction")
            case _:
                assert_never(self._score.link)


class _Classes:
    """The class with the most votes, and probabilities."""

    def __init__(self, readout: Votes, nodes: Nodes) -> None:
        self._readout = readout
        self._nodes = nodes
        self._labels = _label_values(readout.classes)

    def outputs(self, explain: bool) -> dict[str, Shape]:
        onnx, n_classes = self._nodes.onnx, len(self._readout.classes)
        found: dict[str, Shape] = {
            "label": (onnx.helper.np_dtype_to_tensor_dtype(self._labels.dtype), ["rows"]),
            "probabilities": (onnx.TensorProto.DOUBLE, ["rows", n_classes]),
        }
        return found | ({"votes": (onnx.TensorProto.INT64, ["rows", n_classes])} if explain else {})

    def write(self, votes: str, explain: bool) -> None:
        nodes = self._nodes
        winner = nodes.add("ArgMax", votes, axis=1, keepdims=0, select_last_index=0)
        nodes.add("Gather", nodes.constant(self._labels), winner, axis=0, named="label")
        if self._readout.calibration is None:
            self._softmax(votes)
        else:
            self._look_up(votes, winner, self._readout.calibration)
        if explain:
            nodes.cast(votes, "INT64", named="votes")

    def _look_up(self, votes: str, winner: str, calibration: Calibration) -> None:
        """Interpolate between the leads of a calibration."""
        n_classes, n_leads = len(self._readout.classes), len(calibration.leads)
        leads = np.array(calibration.leads, dtype=np.float64)
        values = np.array(calibration.values)
        lead = self._leads(votes, winner)
        lead = self._nodes.add("Max", lead, self._nodes.constant(leads[:1]))
        lead = self._nodes.add("Min", lead, self._nodes.constant(leads[-1:]))
        # The line of the table: the number of its other leads that are reached.
        each = self._nodes.add(
            "Unsqueeze", lead, self._nodes.constant(np.array([2], dtype=np.int64))
        )
        reached = self._nodes.cast(
            self._nodes.add(
                "GreaterOrEqual", each, self._nodes.constant(np.append(leads[1:], np.inf))
            ),
            "INT64",
        )
        axis = self._nodes.constant(np.array([2], dtype=np.int64))
        line = self._nodes.add("ReduceSum", reached, axis, keepdims=0)
        if len(values) > 1:
            starts = n_leads * np.arange(n_classes, dtype=np.int64)[None]
            place = self._nodes.add("Add", line, self._nodes.constant(starts))
        else:
            place = line
        step = np.diff(values, axis=1, append=values[:, -1:]).ravel()
        width = np.append(np.diff(leads), 1.0)
        first = self._nodes.add("Gather", self._nodes.constant(leads), line)
        rise = self._nodes.add("Gather", self._nodes.constant(step), place)
        rise = self._nodes.add("Mul", rise, self._nodes.add("Sub", lead, first))
        rise = self._nodes.add(
            "Div", rise, self._nodes.add("Gather", self._nodes.constant(width), line)
        )
        found = self._nodes.add(
            "Add", self._nodes.add("Gather", self._nodes.constant(values.ravel()), place), rise
        )
        if n_classes == 2:
            other = self._nodes.add("Sub", self._nodes.constant(np.ones(1)), found)
            self._nodes.add("Concat", other, found, axis=1, named="probabilities")
        else:
            ones = self._nodes.constant(np.array([1], dtype=np.int64))
            total = self._nodes.add("ReduceSum", found, ones, keepdims=1)
            self._nodes.add("Div", found, total, named="probabilities")

    def _leads(self, votes: str, winner: str) -> str:
        """Compute the lead of the second of two classes, or of each class."""
        n_classes = len(self._readout.classes)
        if n_classes == 2:
            return self._nodes.add(
                "Sub", self._nodes.columns(votes, [1]), self._nodes.columns(votes, [0])
            )
        two = self._nodes.constant(np.array([2], dtype=np.int64))
        top = f"{PREFIX}top"
        self._nodes.add_several("TopK", [votes, two], [top, f"{top}_places"], axis=1)
        axis = self._nodes.constant(np.array([1], dtype=np.int64))
        numbers = self._nodes.constant(np.arange(n_classes, dtype=np.int64)[None])
        won = self._nodes.add("Equal", self._nodes.add("Unsqueeze", winner, axis), numbers)
        best, second = self._nodes.columns(top, [0]), self._nodes.columns(top, [1])
        return self._nodes.add("Sub", votes, self._nodes.add("Where", won, second, best))

    def _softmax(self, votes: str) -> None:
        axis = self._nodes.constant(np.array([1], dtype=np.int64))
        most = self._nodes.add("ReduceMax", votes, axis, keepdims=1)
        temperature = np.array(self._readout.temperature, dtype=np.float64)
        behind = self._nodes.add(
            "Div", self._nodes.add("Sub", votes, most), self._nodes.constant(temperature)
        )
        self._nodes.add("Softmax", behind, axis=1, named="probabilities")


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
