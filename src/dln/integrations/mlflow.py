"""Circuits as MLflow models: saved as their own JSON file, loaded without a pickle of the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dln._util.extras import import_extra
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.literals import Column
from dln.errors import OptionError
from dln.estimators.base import CircuitEstimator
from dln.exporters.categories import holds_numbers

_ARTIFACT = "circuit"
_OUTPUTS = ("prediction", "probabilities", "explanation")
_CODE = """# Loads the circuit of this model.
import mlflow
from dln.integrations.mlflow import make_model

mlflow.models.set_model(make_model())
"""


def make_model() -> Any:
    """Return a `mlflow.pyfunc.PythonModel` that loads and evaluates a circuit.

    The parameter `output` chooses what `predict` returns: "prediction" (default), "probabilities"
    (a data frame with a column for each class) or "explanation" (a text for each row).
    """

    class CircuitModel(_import("mlflow.pyfunc").PythonModel):  # type: ignore[misc]
        def load_context(self, context: Any) -> None:
            self._circuit = Circuit.load(context.artifacts[_ARTIFACT])

        # MLflow would read annotations as the types of the columns.
        def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]
            return _answer(self._circuit, model_input, (params or {}).get("output", _OUTPUTS[0]))

    return CircuitModel()


def _answer(circuit: Circuit, X: Any, output: str) -> Any:
    match output:
        case "prediction":
            return circuit.predict(X)
        case "explanation":
            return [str(circuit.explain(X.iloc[[row]])) for row in range(len(X))]
        case "probabilities":
            pandas = import_extra("pandas", "a table of probabilities")
            labels = [str(label) for label in circuit.classes]
            return pandas.DataFrame(circuit.predict_proba(X), columns=labels)
    raise OptionError(f"output is {output!r}, expected one of {', '.join(_OUTPUTS)}")


def save_model(model: Circuit | CircuitEstimator, path: str | Path, **options: Any) -> None:
    """Save a circuit, or that of a fitted estimator, as an MLflow model in a folder.

    `options` are those of `mlflow.pyfunc.save_model`.
    """
    with _parts(model) as parts:
        _import("mlflow.pyfunc").save_model(path=str(path), **{**parts, **options})


def log_model(model: Circuit | CircuitEstimator, name: str = "model", **options: Any) -> Any:
    """Log a circuit, or that of a fitted estimator, as a model of the active run.

    `options` are those of `mlflow.pyfunc.log_model`. Returns its `ModelInfo`.
    """
    with _parts(model) as parts:
        return _import("mlflow.pyfunc").log_model(name=name, **{**parts, **options})


def _import(module: str) -> Any:
    return import_extra(module, "a model for MLflow", "mlflow-skinny")


@contextmanager
def _parts(model: Circuit | CircuitEstimator) -> Iterator[dict[str, Any]]:
    """Yield the arguments of MLflow for a circuit; its file exists for the time of the call."""
    _import("mlflow.pyfunc")
    circuit = model.circuit_ if isinstance(model, CircuitEstimator) else model
    check_is_circuit(circuit, "an MLflow model")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "circuit.json"
        circuit.save(file)
        code = Path(folder) / "model.py"
        code.write_text(_CODE, "utf-8")
        yield {
            "python_model": str(code),
            "artifacts": {_ARTIFACT: str(file)},
            "signature": _signature(circuit),
            "pip_requirements": [f"dln=={version('dln')}", "pandas"],
        }


def _signature(circuit: Circuit) -> Any:
    """Describe the columns. Columns that no rule reads are optional."""
    models = _import("mlflow.models")
    types = _import("mlflow.types")
    used = set(circuit.logic.used_columns)
    columns = [
        types.ColSpec(_type(column), column.name, required=index in used)
        for index, column in enumerate(circuit.columns)
    ]
    params = types.ParamSchema([types.ParamSpec("output", "string", _OUTPUTS[0])])
    return models.ModelSignature(inputs=types.Schema(columns), params=params)


def _type(column: Column) -> str:
    """Return MLflow's type. Missing values make integers of pandas floats, so these are allowed."""
    if column.kind == "category":
        return "double" if holds_numbers(column) else "string"
    return {"boolean": "boolean", "date": "datetime"}.get(column.kind, "double")
