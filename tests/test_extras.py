"""Without the optional packages: what still works, and one line for what does not."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dln import Circuit, DLNClassifier, ExtraMissingError
from dln.shrink.simplify.simplify import choose_effort
from tests.conftest import Run
from tests.support.provable import redundant

ROOT = Path(__file__).parents[1]

# Each way to an optional package, as code, with the line that names the package. `circuit` is
# small; only a solver can prove that `large` keeps its votes when it is simplified.
LINES = {
    "dln.simplify(circuit, 'normal')": (
        "effort 'normal' requires aigverse and python-sat; "
        "install with: pip install aigverse python-sat"
    ),
    "dln.simplify(circuit, 'high')": (
        "effort 'high' requires aigverse and python-sat; "
        "install with: pip install aigverse python-sat"
    ),
    "dln.DLNClassifier(simplify='normal').fit([[0.0], [1.0]], [0, 1])": (
        "effort 'normal' requires aigverse and python-sat; "
        "install with: pip install aigverse python-sat"
    ),
    "dln.prove_equal(large, dln.simplify(large))": (
        "this proof requires python-sat; install with: pip install python-sat"
    ),
    "dln.simplify(large, prove=True)": (
        "this proof requires python-sat; install with: pip install python-sat"
    ),
    "circuit.rules[0].to_sympy(circuit)": (
        "to_sympy requires sympy; install with: pip install sympy"
    ),
    "dln.export(circuit, to='onnx')": (
        "exporting to ONNX requires onnx; install with: pip install onnx"
    ),
    "dln.draw.draw_feature(circuit, [[2.0]], ['no'], 'x')": (
        "plotting requires matplotlib; install with: pip install matplotlib"
    ),
    "dln.DLNSearchCV().fit([[0.0], [1.0]] * 20, [0, 1] * 20)": (
        "searching requires optuna; install with: pip install optuna"
    ),
    "dln.search.on_ray._import_ray()": "backend 'ray' requires ray; install with: pip install ray",
    "dln.DLNClassifier(engine='torch').fit([[0.0], [1.0]], [0, 1])": (
        "engine 'torch' requires torch; install with: pip install torch"
    ),
    "dln.DLNClassifier(engine='cuda').fit([[0.0], [1.0]], [0, 1])": (
        "engine 'cuda' requires cupy-cuda13x[ctk]; install with: pip install 'cupy-cuda13x[ctk]'"
    ),
    "dln.integrations.mlflow.make_model()": (
        "a model for MLflow requires mlflow-skinny; install with: pip install mlflow-skinny"
    ),
    "dln.integrations.mlflow.save_model(circuit, 'model')": (
        "a model for MLflow requires mlflow-skinny; install with: pip install mlflow-skinny"
    ),
    "dln.integrations.skl2onnx.register()": (
        "a converter for skl2onnx requires skl2onnx; install with: pip install skl2onnx"
    ),
    "dln.integrations.autogluon.DLNModel": (
        "a model for AutoGluon requires autogluon.tabular; "
        "install with: pip install autogluon.tabular"
    ),
    "import dln.cli.arrow": "reading tables requires pyarrow; install with: pip install pyarrow",
    "dln.cli.main([])": (
        "dln: the command line requires typer, rich, pyarrow and openpyxl; "
        "install with: pip install typer rich pyarrow openpyxl"
    ),
}

HIDE = """
import contextlib, io, json, sys

HIDDEN = set({hidden!r})

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Absent())
"""

ASK = """
import dln, dln.cli, dln.draw, dln.report, dln.search.on_ray
import dln.integrations.autogluon, dln.integrations.mlflow, dln.integrations.skl2onnx
circuit = dln.Circuit((dln.Column("x", "number"),), (dln.Above(0, 1.0), dln.Above(0, 2.0)),
                      (dln.Node(dln.core.gates.GATE_BY_NAME["OR"], 0, 1),),
                      (dln.Rule(2, (0, 1)),), (0, 0), ("no", "yes"))
large = dln.Circuit.load(sys.argv[2])
assert dln.simplify(large).proof is None
assert dln.simplify(large).n_gates < large.n_gates
assert dln.simplify(circuit).proof is not None
assert dln.simplify(circuit).n_gates == 0
# What needs no optional package: rules, explanations, diagrams and reports.
assert "Most votes win" in str(circuit)
assert "yes" in str(circuit.explain([2.5]))
for detail in ("gates", "rules"):
    assert "</svg>" in dln.draw.draw_circuit(circuit, detail=detail).to_svg()
assert dln.report.make_report(circuit, [[2.0], [0.0]], ["yes", "no"]).html.startswith("<!doctype")
said = {}
for code in json.loads(sys.argv[1]):
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            exec(code)
        said[code] = errors.getvalue().strip()
    except dln.ExtraMissingError as error:
        said[code] = str(error)
    except Exception as error:
        said[code] = repr(error)
print(json.dumps(said))
"""

HIDDEN = [
    *("aigverse", "autogluon", "cupy", "imodels", "interpret", "lightgbm", "matplotlib"),
    *(
        "mlflow",
        "onnx",
        "openpyxl",
        "optuna",
        "pandas",
        "pyarrow",
        "pysat",
        "ray",
        "rich",
        "skl2onnx",
        "sympy",
        "torch",
        "typer",
    ),
]


def run_without(hidden: list[str], code: str, *arguments: str, folder: Path) -> str:
    """Run code in a new process that cannot import some packages."""
    done = subprocess.run(
        [sys.executable, "-c", HIDE.format(hidden=hidden) + code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("large")
    redundant(20).save(folder / "large.json")
    printed = run_without(HIDDEN, ASK, json.dumps(list(LINES)), "large.json", folder=folder)
    lines: dict[str, str] = json.loads(printed)
    return lines


@pytest.mark.parametrize("code", LINES)
def test_a_missing_package_gives_one_line(code: str, said: dict[str, str]) -> None:
    assert said[code] == LINES[code]


def test_every_package_that_is_named_belongs_to_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {
        re.split(r"[<>=]", requirement)[0]
        for requirements in project["optional-dependencies"].values()
        for requirement in requirements
    }
    for line in LINES.values():
        assert extras.issuperset(shlex.split(line.partition("pip install ")[2])), line


def test_the_command_line_names_the_packages_of_its_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [re.split(">=", each)[0] for each in project["optional-dependencies"]["cli"]]
    assert LINES["dln.cli.main([])"].endswith("pip install " + " ".join(names))


def test_no_other_message_says_how_to_install() -> None:
    """All of them are built by `ExtraMissingError.for_packages`."""
    for path in (ROOT / "src" / "dln").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        hints = [text for text in texts if isinstance(text, str) and "pip install" in text]
        assert not hints or path.name == "errors.py", (path, hints)


# -- simplify: the default works with what is installed -------------------------------------------


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    for package in packages:
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)


def test_the_command_says_which_effort_it_used_and_why_there_is_no_proof(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    redundant(20).save("model.json")
    hide(monkeypatch, "aigverse", "pysat")
    status, out, _ = run("simplify", "model.json", "-o", "small.json")
    assert status == 0
    assert out.splitlines()[2:] == [
        "effort: quick; normal requires aigverse and python-sat; "
        "install with: pip install aigverse python-sat",
        "proof:  none; a proof of this model requires python-sat; "
        "install with: pip install python-sat",
    ]
    assert Circuit.load("small.json").n_gates < Circuit.load("model.json").n_gates
    status, out, _ = run("simplify", "model.json", "-o", "small.json", "--effort", "quick")
    assert (status, out.splitlines()[2]) == (0, "effort: quick")
    assert json.loads(run("simplify", "model.json", "-o", "s.json", "--json")[1])["proof"] is None
    message = "dln: effort 'normal' requires aigverse and python-sat; install with: pip install "
    status, _, errors = run("simplify", "model.json", "-o", "small.json", "--effort", "normal")
    assert (status, errors) == (2, f"{message}aigverse python-sat\n")


def test_the_command_names_the_effort_that_all_packages_allow(run: Run) -> None:
    redundant(20).save("model.json")
    _, out, _ = run("simplify", "model.json", "-o", "small.json")
    assert out.splitlines()[2] == "effort: normal"
    document = json.loads(run("simplify", "model.json", "-o", "small.json", "--json")[1])
    assert document["effort"] == "normal"
    assert document["proof"]["method"] == "SAT"


def test_a_search_names_its_package_before_it_reads_the_table(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, "optuna")
    status, out, errors = run("search", "no-such.csv", "--target", "y", "-o", "model.json")
    assert (status, out) == (2, "")
    assert errors == "dln: searching requires optuna; install with: pip install optuna\n"


def test_auto_is_normal_where_its_packages_are_installed() -> None:
    assert choose_effort("auto") == "normal"
    assert choose_effort("high") == "high"


def test_auto_in_the_estimator_falls_back_to_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "aigverse")
    X, y = [[float(i)] for i in range(40)], [i > 20 for i in range(40)]
    small = {"layers": (8, 4), "epochs": 5, "tau": 2.0, "n_networks": 1, "random_state": 0}
    auto = DLNClassifier(simplify="auto", **small).fit(X, y)
    assert auto.circuit_ == DLNClassifier(simplify="quick", **small).fit(X, y).circuit_
    with pytest.raises(ExtraMissingError, match="effort 'high' requires aigverse; install with"):
        DLNClassifier(simplify="high", **small).fit(X, y)
