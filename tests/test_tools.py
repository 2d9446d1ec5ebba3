"""A missing program is named: as a skip on a user's machine, as a failure in CI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import find_module, find_tool


def test_a_program_is_found_on_the_path_or_in_a_folder() -> None:
    python = Path(sys.executable)
    assert find_tool("sh", package="dash")
    assert find_tool(python.name, package="python3", folders=[python.parent])


@pytest.mark.parametrize(("ci", "raised"), [("true", pytest.fail), ("", pytest.skip)])
def test_what_is_missing_is_named(ci: str, raised: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(raised.Exception, match=r"no-such-tool is not installed .* install thing"):
        find_tool("no-such-tool", package="thing")
    with pytest.raises(raised.Exception, match=r"no_such_module is not installed .* pip install m"):
        find_module("no_such_module", package="m")
