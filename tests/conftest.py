"""Settings of the whole test run."""

import contextlib
import importlib
import io
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import dln
from tests.support.browser import Tab, open_browser, open_tab

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


# One browser per module, not per session: its event loop must not outlive the tests that use it.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Chromium."""
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Tab]:
    """Open a tab as wide as a laptop, without a network."""
    with open_tab(browser, offline=True, viewport={"width": 1280, "height": 900}) as opened:
        yield opened
