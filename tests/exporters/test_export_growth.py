"""Exports grow linearly: twice the classes, rules, categories, columns or sets, twice the size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import dln
from dln import Above, Among, Circuit, Column, Rule
from dln.errors import OptionError
from dln.exporters.export import TARGETS
from tests.support.export.nasty import Case
from tests.support.export.targets import TOOLS


def many_classes(n: int) -> Circuit:
    votes = [tuple((k * step) % 7 for k in range(n)) for step in (2, 3)]
    rules = tuple(Rule(wire, given) for wire, given in enumerate(votes))
    labels = tuple(f"class {k}" for k in range(n))
    return Circuit(
        (Column("x", "number"),), (Above(0, 0.5), Above(0, 1.5)), (), rules, (0,) * n, labels
    )


def many_rules(n: int) -> Circuit:
    rules = tuple(Rule(wire, (wire % 2, 1)) for wire in range(n))
    literals = tuple(Above(0, wire + 0.5) for wire in range(n))
    return Circuit((Column("x", "number"),), literals, (), rules, (0, 0), ("no", "yes"))


def many_categories(n: int) -> Circuit:
    column = Column("word", "category", tuple(f"word {k}" for k in range(n)))
    literals = (Among(0, tuple(range(0, n, 2))), Among(0, tuple(range(n // 2))))
    rules = (Rule(0, (0, 1)), Rule(1, (1, 0)))
    return Circuit((column,), literals, (), rules, (0, 0), ("no", "yes"))


def many_columns(n: int) -> Circuit:
    columns = tuple(
        Column(f"列{k}", "number") for k in range(n)
    )  # all have the same ASCII spelling
    rules = tuple(Rule(wire, (wire % 2, 1)) for wire in range(n))
    literals = tuple(Above(k, 0.5) for k in range(n))
    return Circuit(columns, literals, (), rules, (0, 0), ("no", "yes"))


def many_sets(n: int) -> Circuit:
    column = Column("word", "category", tuple(f"word {k}" for k in range(n)))
    rules = tuple(Rule(wire, (wire % 2, 1)) for wire in range(n))
    literals = tuple(Among(0, (k, (k + 7) % n)) for k in range(n))
    return Circuit((column,), literals, (), rules, (0, 0), ("no", "yes"))


KINDS = {
    many_classes: 700,
    many_rules: 700,
    many_categories: 5_000,
    many_columns: 600,
    many_sets: 700,
}


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("target", TARGETS)
def test_the_size_grows_linearly(target: str, make: Callable[[int], Circuit]) -> None:
    n = KINDS[make]
    small, large = (len(dln.export(make(size), to=target).data) for size in (n, 2 * n))
    assert large < 2.2 * small


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_more_classes_than_a_database_has_columns_are_refused(target: str) -> None:
    with pytest.raises(OptionError, match="keep 10001 values of a row at a time, but at most"):
        dln.export(many_classes(10_000), to=target)


@pytest.mark.parametrize("target", ["sqlite", "duckdb", "postgresql"])
def test_many_classes_and_many_votes_run_in_a_database(target: str, tmp_path: Path) -> None:
    """SQLite nests at most 1,000 expressions and takes at most 127 arguments."""
    cases = [
        Case(many_classes(1_100 if target == "sqlite" else 300), [[0.0], [1.0], [2.0], [None]]),
        Case(many_rules(700), [[-1.0], [350.0], [None]]),
    ]
    assert TOOLS[target].runners[0](cases, tmp_path) == [case.answers() for case in cases]


@pytest.mark.parametrize("target", ["c", "onnx"])
def test_sets_with_few_of_many_categories_are_looked_up(target: str, tmp_path: Path) -> None:
    case = Case(many_sets(700), [["word 0"], ["word 9"], ["word 699"], ["never seen"], [None]])
    for runner in TOOLS[target].runners:
        assert runner([case], tmp_path) == [case.answers()]
