"""`dln search`: options, messages and the saved model."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dln import Circuit

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    age, city = rng.integers(18, 90, 160), rng.choice(["Bern", "Basel"], 160)
    state = np.where((age > 54) | (city == "Bern"), "ill", "well")
    lines = [f"{a},{c},{s}" for a, c, s in zip(age, city, state, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["age,city,state", *lines]) + "\n")
    return tmp_path / "people.csv"


def test_a_search_is_tested_drawn_and_saved(run: Run, table: Path, tmp_path: Path) -> None:
    command = ("search", table, "--target", "state", "--output", "best.json", "--trials", 2)
    status, shown, said = run(*command, "--storage", "search.db", "--picture", "search.svg")
    assert status == 0, said
    first, score, tested, size = shown.splitlines()
    assert first.startswith("Chosen: trial ")
    assert "tau=" in first
    assert score.startswith("Score on 20 folds: ")
    assert tested.startswith("Balanced accuracy on 40 test rows: ")
    assert "gate operations" in size
    assert "searching on 120 rows, testing on 40" in said
    assert Circuit.load(tmp_path / "best.json").classes == ("ill", "well")
    assert "<svg" in (tmp_path / "search.svg").read_text()

    status, document, _ = run(*command, "--storage", "search.db", "--json", "--quiet")
    found = json.loads(document)
    assert status == 0
    assert len(found["trials"]) == 2
    assert found["best"] in found["front"]
    assert found["test"]["rows"] == 40

    status, _, said = run(*command, "--storage", "search.db", "--seed", 1)
    assert status == 2
    assert "holds a search with other seed" in said.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--output", "nowhere/best.json"), "there is no folder"),
        (("--output", "best.json", "--picture", "nowhere/search.png"), "there is no folder"),
        (("--output", "best.json", "--picture", "p.txt"), "p.txt ends in .txt, expected one of"),
        (
            ("--output", "best.json", "--picture", "p"),
            "p has no ending, expected one of .png, .svg",
        ),
        (("--output", "best.json", "--trials", "0"), "Invalid value for '--trials'"),
        (("--output", "best.json", "--space", "big"), "Invalid value for '--space'"),
        (("--output", "best.json", "--target", "sate"), "did you mean 'state'?"),
    ],
)
def test_a_mistake_is_one_line(
    run: Run, table: Path, options: tuple[str, ...], message: str
) -> None:
    status, shown, said = run("search", table, "--target", "state", *options)
    assert status == 2
    assert shown == ""
    assert message in said
    assert len(said.splitlines()) == 1
