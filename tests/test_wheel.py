"""A built wheel installs and runs on a machine without a compiler."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = """
import dln._native
from sklearn.datasets import load_iris
from dln import DLNClassifier
X, y = load_iris(return_X_y=True)
model = DLNClassifier(random_state=0, selection_fits=2).fit(X, y)
assert "site-packages" in dln._native.__file__, dln._native.__file__
print(model.score(X, y) > 0.9)
"""


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the source tree")
def test_a_built_wheel_runs_without_a_compiler(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheels = tmp_path / "wheels"
    build = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(wheels)]
    subprocess.run([*build, str(ROOT)], check=True)
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
        [python, "-c", PROGRAM], env=bare, cwd=tmp_path, capture_output=True, text=True
    )
    assert result.stdout.strip() == "True", result.stderr
