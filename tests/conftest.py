"""Settings of the whole test run."""

import contextlib
import importlib
import io
import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

import dln

# Hypothesis draws the same examples on every machine. It also draws constants of loaded modules, so
# all modules are loaded: a test then gets the same examples alone and in the whole suite.
for module in pkgutil.walk_packages(dln.__path__, "dln."):
    if not module.name.endswith("__main__"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
settings.register_profile("dln", deadline=None, derandomize=True)
settings.load_profile("dln")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, in an empty folder.

    The function returns the exit status, standard output and standard error.
    """
    monkeypatch.chdir(tmp_path)

    def run_here(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        from dln.cli import main  # only for tests of the command

        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        status = main([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return run_here
