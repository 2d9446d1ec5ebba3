"""A built wheel installs and runs on a machine without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = """
import dln._native
from sklearn.datasets import load_iris
from dln import DLNClassifier
from dln.train.cuda.gpu import SOURCES
for folder in SOURCES:  # the cuda engine compiles these files
    assert "site-packages" in str(folder) and any(folder.glob("*.h")), folder
X, y = load_iris(return_X_y=True)
model = DLNClassifier(random_state=0, selection_fits=2).fit(X, y)
assert "site-packages" in dln._native.__file__, dln._native.__file__
print(model.score(X, y) > 0.9)
"""
PURE_PROGRAM = """
import importlib.util
from sklearn.datasets import load_iris
from dln import DLNClassifier
assert importlib.util.find_spec("dln._native") is None
X, y = load_iris(return_X_y=True)
model = DLNClassifier(random_state=0, layers=(16, 8), tau=4.0, n_networks=1, engine="torch")
print(model.fit(X, y).score(X, y) > 0.9)
"""


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the source tree")
def test_a_built_wheel_runs_without_a_compiler(tmp_path: Path) -> None:
    assert _run_from_wheel(tmp_path, PROGRAM) == "True"


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the source tree")
def test_a_wheel_without_the_extension_trains_with_torch(tmp_path: Path) -> None:
    assert _run_from_wheel(tmp_path, PURE_PROGRAM, DLN_PURE="1") == "True"


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the source tree")
def test_a_source_distribution_has_all_files_that_are_compiled(tmp_path: Path) -> None:
    program = "import sys; from scikit_build_core.build import build_sdist as b; b(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, cwd=ROOT)
    (archive,) = tmp_path.glob("dln-*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    folders = ("native", "src/dln/train/headers", "src/dln/train/cuda/kernel")
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*.*")
    }
    assert len(wanted) > 40
    assert wanted | {"CMakeLists.txt"} <= names


def _run_from_wheel(tmp_path: Path, program: str, **environment: str) -> str:
    """Build a wheel, install it where nothing else of dln is, and run a program there."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheels = tmp_path / "wheels"
    build = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(wheels)]
    subprocess.run([*build, str(ROOT)], check=True, env={**os.environ, **environment})
    (wheel,) = wheels.glob("dln-*.whl")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    site = next(venv.glob("lib/*/site-packages"))
    # Everything but dln is borrowed: a path file does not run the editable install's hook.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [*pip, "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True)
    bare = {"PATH": "", "CC": "false", "CXX": "false", "HOME": str(tmp_path)}
    result = subprocess.run(
        [python, "-c", program], env=bare, cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()
