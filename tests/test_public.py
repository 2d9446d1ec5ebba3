"""The public surface: what `__all__` lists exists, is documented, and costs little to import."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
import types
from importlib.metadata import version
from pathlib import Path

import pytest

import dln
import dln.draw
import dln.report


def test_all_lists_exactly_the_public_names() -> None:
    importable = {
        name
        for name, value in vars(dln).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert importable == set(dln.__all__)
    assert len(dln.__all__) == len(set(dln.__all__))


def test_a_star_import_gives_them_all() -> None:
    code = "from dln import *; print(*sorted(n for n in dir() if not n.startswith('_')))"
    assert _run(code).split() == sorted(dln.__all__)


CLASSES = [name for name in dln.__all__ if inspect.isclass(getattr(dln, name))]


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_class_and_method_says_what_it_does(name: str) -> None:
    public = getattr(dln, name)
    assert _first_line(public).endswith(".")
    for member, value in vars(public).items():
        described = inspect.isfunction(value) or isinstance(value, (property, classmethod))
        if described and not member.startswith("_"):
            assert _first_line(getattr(public, member, value)).endswith("."), member


def _first_line(thing: object) -> str:
    text = inspect.getdoc(thing) or ""
    assert len(text.split()) >= 3, thing
    # A dataclass or a tuple without words of its own gets its signature as text.
    assert not text.startswith((f"{getattr(thing, '__name__', '?')}(", "Alias for field")), thing
    return text.split("\n\n")[0]


@pytest.mark.parametrize("name", ["Circuit", "DLNClassifier", "Gate"])
def test_the_main_classes_have_examples(name: str) -> None:
    # Doctests are run with the modules; here it is enough that they are there.
    assert doctest.DocTestParser().get_examples(inspect.getdoc(getattr(dln, name)) or "")


def test_examples_import_gates_and_tables_from_dln_itself() -> None:
    root = Path(dln.__file__).parents[2]
    files = [*root.glob("src/dln/**/*.py"), *root.glob("docs/**/*.md"), root / "README.md"]
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r">>> from dln\..* import .*(GATE|rule_table)", text), path


def test_the_gates_by_name_cannot_be_changed() -> None:
    assert [dln.GATE_BY_NAME[gate.name] for gate in dln.GATES] == list(dln.GATES)
    with pytest.raises(TypeError):
        dln.GATE_BY_NAME["AND"] = dln.GATES[0]  # type: ignore[index]


def test_importing_dln_imports_no_heavy_or_optional_library() -> None:
    # scikit-learn itself imports pandas and rich where they are installed.
    code = """
import sys
import sklearn.base, sklearn.tree, sklearn.utils.multiclass, sklearn.utils.validation
before = set(sys.modules)
import dln
heavy = {"torch", "pandas", "polars", "matplotlib", "rich", "pyarrow", "lightgbm"}
print(sorted(heavy & (set(sys.modules) - before)))
"""
    assert _run(code) == "[]"


def test_prediction_does_not_import_scikit_learn() -> None:
    code = """
import sys
import dln
print("sklearn" in sys.modules, dln.DLNClassifier.__name__, "sklearn" in sys.modules)
dln.cost_of_model, dln.Between
print(callable(dln.cost), callable(dln.prune), callable(dln.simplify))
"""
    assert _run(code) == "False DLNClassifier True\nTrue True True"


def test_every_public_name_is_listed_and_others_are_refused() -> None:
    assert set(dln.__all__) <= set(dir(dln))
    with pytest.raises(AttributeError, match="module 'dln' has no attribute 'Classifier'"):
        dln.Classifier  # noqa: B018


def test_dln_works_where_no_optional_library_is_installed() -> None:
    code = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "torch", "rich", "pyarrow", "matplotlib"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import dln
circuit = dln.Circuit((dln.Column("x", "number"),), (dln.Above(0, 1.0),), (),
                      (dln.Rule(0, (0, 1)),), (0, 0), ("no", "yes"))
print(circuit.predict([[2.0]])[0], circuit.predict([[None]])[0])
"""
    assert _run(code) == "yes no"


TAKERS = {
    name: value
    for module in (dln, dln.draw, dln.report)
    for name in module.__all__
    for value in [getattr(module, name)]
    if inspect.isfunction(value)
    and next(iter(inspect.signature(value).parameters.values())).annotation == "Circuit"
}


@pytest.mark.parametrize("name", TAKERS)
def test_a_classifier_in_the_place_of_its_circuit_is_refused(name: str) -> None:
    _, *others = inspect.signature(TAKERS[name]).parameters.values()
    more = {other.name: None for other in others if other.default is inspect.Parameter.empty}
    told = rf"{name} takes a Circuit, not a DLNClassifier; give .*: model\.circuit_"
    with pytest.raises(dln.DlnError, match=told):
        TAKERS[name](dln.DLNClassifier(), **more)


def test_the_version_is_the_one_that_was_installed() -> None:
    assert dln.__version__ == version("dln")


def _run(code: str) -> str:
    """Run code in a fresh interpreter and give what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
