"""The nodes and constants of an ONNX graph under construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.extras import import_extra

PREFIX = "dln/"
"""The prefix of the names of intermediate values."""


class Nodes:
    """Nodes and constants. Values are known by their names."""

    def __init__(self) -> None:
        self.onnx = import_extra("onnx", "exporting to ONNX")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, named: str = "", **settings: Any) -> str:
        """Add a node with one output, and return the name of the output."""
        name = named or f"{PREFIX}{operator}{len(self.nodes)}"
        self.add_several(operator, inputs, [name], **settings)
        return name

    def add_several(
        self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **settings: Any
    ) -> None:
        """Add a node with several outputs."""
        node = self.onnx.helper.make_node(operator, list(inputs), list(outputs), **settings)
        self.nodes.append(node)

    def cast(self, value: str, kind: str, named: str = "") -> str:
        """Convert a value to another type, such as "DOUBLE"."""
        return self.add("Cast", value, named=named, to=getattr(self.onnx.TensorProto, kind))

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant."""
        name = f"{PREFIX}constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def columns(self, value: str, columns: Sequence[int]) -> str:
        """Choose columns of a value."""
        return self.add("Gather", value, self.constant(np.array(columns, np.int64)), axis=1)
