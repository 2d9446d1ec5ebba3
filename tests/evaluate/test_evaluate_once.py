"""Every row is evaluated once, however much is said about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dln import DLNClassifier, _native, export, prune, rule_table, score_card
from dln.cli import main
from dln.core.circuit import Circuit
from dln.evaluate import predictor
from dln.report import make_report

Calls = list[tuple[str, int]]
"""The native calls and their numbers of rows."""
N_ROWS = 200


@dataclass(frozen=True)
class Case:
    """A circuit whose native calls are recorded, and rows for it."""

    circuit: Circuit
    X: NDArray[Any]
    y: NDArray[Any]
    calls: Calls


@pytest.fixture(scope="module")
def trained() -> tuple[Circuit, NDArray[Any], NDArray[Any]]:
    X = np.random.default_rng(0).normal(size=(N_ROWS, 4)).round(2)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "yes", "no")
    model = DLNClassifier(layers=(8, 6), n_networks=1, epochs=30, random_state=0).fit(X, y)
    assert model.circuit_.n_gates
    return model.circuit_, X, y


@pytest.fixture
def case(trained: Any, monkeypatch: pytest.MonkeyPatch) -> Case:
    """Record the calls of every native program that the test makes."""
    calls: Calls = []

    class Recorded:
        def __init__(self, **arguments: Any) -> None:
            self._program = _native.Program(**arguments)

        def __getattr__(self, name: str) -> Callable[..., Any]:
            def call(source: Any, *arguments: Any, **named: Any) -> Any:
                cells = source if isinstance(source, np.ndarray) else source[0]
                calls.append((name, len(cells)))
                return getattr(self._program, name)(source, *arguments, **named)

            return call

    monkeypatch.setattr(predictor, "_NATIVE_PROGRAM", Recorded)
    circuit, X, y = trained
    return Case(Circuit(**circuit.__getstate__()), X, y, calls)  # with a new predictor


@pytest.mark.parametrize("describe", [make_report, rule_table, score_card])
def test_what_describes_rows_evaluates_them_once(describe: Any, case: Case) -> None:
    describe(case.circuit, case.X, case.y)
    assert case.calls == [("evaluate", N_ROWS)]


def test_a_testbench_evaluates_its_rows_once(case: Case) -> None:
    export(case.circuit, to="verilog", rows=case.X)
    assert case.calls == [("evaluate", N_ROWS)]


def test_an_explanation_evaluates_its_row_once(case: Case) -> None:
    case.circuit.explain(case.X[0])
    n_read = len({literal.column for literal in case.circuit.literals})
    # After the row itself, the values of each column that the circuit distinguishes are tried.
    assert [name for name, _ in case.calls] == ["evaluate", *["classify"] * n_read]
    assert case.calls[0] == ("evaluate", 1)


def test_pruning_evaluates_each_circuit_once(case: Case) -> None:
    curve = prune(case.circuit, case.X, case.y, tolerance=0.01)
    # The first circuit keeps its probabilities. Those of the others are fitted to their votes.
    later = [("votes", N_ROWS)] * (len(curve.steps) - 1)
    assert case.calls == [("evaluate", N_ROWS), ("classify", N_ROWS), *later]


@pytest.mark.parametrize(
    ("command", "options"),
    [("predict", ["--proba", "--votes"]), ("evaluate", ["--target", "target"])],
)
def test_a_command_evaluates_each_row_once(
    command: str, options: list[str], case: Case, tmp_path: Path
) -> None:
    model, data = str(tmp_path / "model.json"), tmp_path / "data.csv"
    case.circuit.save(model)
    header = [*(column.name for column in case.circuit.columns), "target"]
    cells = [[*map(str, row), label] for row, label in zip(case.X.tolist(), case.y, strict=True)]
    data.write_text("".join(",".join(line) + "\n" for line in [header, *cells]))
    assert main([command, model, str(data), *options]) == 0
    assert {name for name, _ in case.calls} == {"votes"}
    assert sum(n_rows for _, n_rows in case.calls) == N_ROWS
