"""Pipelines with a DLNClassifier or a DLNRegressor -> ONNX, by skl2onnx.

The nodes are those of `dln.export(circuit, to="onnx")`. Here the columns arrive as one matrix of
numbers, from the step before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dln._util.extras import import_extra
from dln.core.circuit import Circuit
from dln.errors import OptionError
from dln.estimators.classifier import DLNClassifier
from dln.estimators.regressor import DLNRegressor
from dln.exporters.export import export
from dln.exporters.onnx import is_text

_PURPOSE = "a converter for skl2onnx"


def register() -> None:
    """Let `skl2onnx.to_onnx` convert pipelines that end with a model of dln.

    Give the pipeline doubles, of the type `skl2onnx.common.data_types.DoubleTensorType`. Then the
    ONNX model predicts the same classes, probabilities and numbers. Floats of 32 bits may end up on
    the other side of a threshold. With doubles, a classifier needs the option `zipmap: False`,
    because ONNX has no dictionaries of doubles.

    Raises
    ------
    ExtraMissingError
        If skl2onnx is not installed.
    """
    skl2onnx = import_extra("skl2onnx", _PURPOSE)
    shapes = import_extra("skl2onnx.common.shape_calculator", _PURPOSE, "skl2onnx")
    skl2onnx.update_registered_converter(
        DLNClassifier,
        "DLNClassifier",
        _after_check(shapes.calculate_linear_classifier_output_shapes),
        _convert_classifier,
        options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
    )
    skl2onnx.update_registered_converter(
        DLNRegressor,
        "DLNRegressor",
        _after_check(shapes.calculate_linear_regressor_output_shapes),
        _convert_number,
    )


def _after_check(find_shapes: Callable[[Any], None]) -> Callable[[Any], None]:
    """Refuse columns of text before skl2onnx refuses their type, with a line that says more."""

    def find(operator: Any) -> None:
        texts = [x.name for x in operator.raw_operator.circuit_.columns if is_text(x)]
        if texts:
            raise OptionError(
                f"the column {texts[0]!r} is text, but a step of a pipeline in ONNX reads numbers; "
                "encode it in the step before, or export the circuit alone: "
                'dln.export(circuit, "onnx")'
            )
        find_shapes(operator)

    return find


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    label, probabilities = operator.outputs
    found = _add_circuit(operator.raw_operator.circuit_, scope, operator, container)
    container.add_node("Identity", found["label"], label.full_name)
    _add_cast(container, found["probabilities"], probabilities)


def _convert_number(scope: Any, operator: Any, container: Any) -> None:
    (variable,) = operator.outputs
    model = operator.raw_operator
    if len(model.circuits_) > 1:
        raise OptionError(
            f"the model predicts {len(model.circuits_)} quantiles, skl2onnx expects one number; "
            'export each of its circuits_: dln.export(circuit, to="onnx")'
        )
    found = _add_circuit(model.circuit_, scope, operator, container)
    shape = _add_array(scope, container, [-1, 1])
    column = scope.get_unique_variable_name("dln_column")
    container.add_node("Reshape", [found["prediction"], shape], column, op_version=14)
    _add_cast(container, column, variable)


def _add_cast(container: Any, name: str, variable: Any) -> None:
    """Convert a value to the type that skl2onnx has chosen for an output."""
    proto = import_extra("skl2onnx.common.data_types", _PURPOSE, "skl2onnx").guess_proto_type
    container.add_node("Cast", name, variable.full_name, op_version=13, to=proto(variable.type))


def _add_array(scope: Any, container: Any, values: list[int]) -> str:
    onnx = import_extra("onnx", _PURPOSE)
    name: str = scope.get_unique_variable_name("dln_constant")
    container.add_initializer(name, onnx.TensorProto.INT64, [len(values)], values)
    return name


def _add_circuit(circuit: Circuit, scope: Any, operator: Any, container: Any) -> dict[str, str]:
    """Add the nodes of a circuit; return the names of its outputs in the graph."""
    onnx = import_extra("onnx", _PURPOSE)
    made = export(circuit, to="onnx")
    graph = onnx.load_from_string(made.data).graph
    names = _split_columns(circuit, made.inputs, scope, operator, container)
    for constant in graph.initializer:
        names[constant.name] = scope.get_unique_variable_name("dln_constant")
        values = onnx.numpy_helper.to_array(constant)
        content = values.reshape(-1).tolist()
        container.add_initializer(
            names[constant.name], constant.data_type, list(values.shape), content
        )
    for node in graph.node:
        for name in node.output:
            names[name] = scope.get_unique_variable_name("dln_value")
        settings = {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}
        container.add_node(
            node.op_type,
            [names[name] for name in node.input],
            [names[name] for name in node.output],
            op_version=container.target_opset,
            name=scope.get_unique_operator_name("dln"),
            **settings,
        )
    return {output.name: names[output.name] for output in graph.output}


def _split_columns(
    circuit: Circuit, inputs: Any, scope: Any, operator: Any, container: Any
) -> dict[str, str]:
    """Cut the matrix into columns of doubles; return their names by the names of the inputs."""
    onnx = import_extra("onnx", _PURPOSE)
    matrix = scope.get_unique_variable_name("dln_matrix")
    given = [variable.full_name for variable in operator.inputs]
    if len(given) > 1:
        joined = scope.get_unique_variable_name("dln_matrix")
        container.add_node("Concat", given, joined, op_version=13, axis=1)
        given = [joined]
    double = onnx.TensorProto.DOUBLE
    container.add_node("Cast", given[0], matrix, op_version=13, to=double)
    place = {column.name: index for index, column in enumerate(circuit.columns)}
    names: dict[str, str] = {}
    for each in inputs:
        names[each.name] = scope.get_unique_variable_name("dln_column")
        where = _add_array(scope, container, [place[each.column]])
        container.add_node("Gather", [matrix, where], names[each.name], op_version=13, axis=1)
    return names
