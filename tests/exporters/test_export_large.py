"""Code beyond the limits of compilers: Java allows 64 KB per method, 65,535 constants per class."""

from __future__ import annotations

from pathlib import Path

import pytest

import dln
from dln import Above, Among, Circuit, Column, Rule
from tests.support.export.nasty import Case
from tests.support.export.run_compiled import run_java, run_rustc
from tests.support.export.targets import Runner

WORDS = tuple(f"word {number}" for number in range(6000))
LONG = "long " * 20_000


@pytest.mark.parametrize("runner", [run_java, run_rustc])
def test_large_sets_long_texts_and_many_votes_are_compiled(runner: Runner, tmp_path: Path) -> None:
    columns = (Column("x", "number"), Column("word", "category", (*WORDS, LONG)))
    literals = (*(Above(0, number + 0.5) for number in range(60)), Among(1, tuple(range(6001))))
    rules = tuple(
        Rule(wire, tuple((wire * place) % 7 - 3 for place in range(100))) for wire in range(61)
    )
    circuit = Circuit(columns, literals, (), rules, (0,) * 100, tuple(range(100)))
    rows = [[x, word] for x in (-1.0, 7.0, 99.0, None) for word in (WORDS[0], WORDS[-1], "", None)]
    case = Case(circuit, rows)
    assert runner([case], tmp_path) == [case.answers()]


def test_code_beyond_the_limits_of_a_class_file_is_split(tmp_path: Path) -> None:
    n_classes = 8300
    votes = tuple(place % 1000 for place in range(n_classes))
    labels = tuple(f"class {place}" for place in range(n_classes))
    rules = (Rule(0, votes), Rule(1, votes[::-1]))
    literals = (Above(0, 0.5), Above(0, 1.5))
    circuit = Circuit((Column("x", "number"),), literals, (), rules, (0,) * n_classes, labels)
    case = Case(circuit, [[1.0], [2.0], [None]])
    text = dln.export(circuit, to="java").text
    assert "class Classes$2 {" in text
    assert "Votes$1.votes10(w, e);" in text
    assert run_java([case], tmp_path) == [case.answers()]
