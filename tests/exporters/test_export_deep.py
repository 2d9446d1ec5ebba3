"""A chain of 10,000 gates, each of which reads the one before, runs in nearly every target."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import dln
from dln import GATES, Above, Circuit, Column, Node, Rule
from dln.errors import OptionError
from dln.exporters.databases import DATABASES
from dln.exporters.export import TARGETS
from tests.support.export.nasty import Case, nasty_rows
from tests.support.export.targets import TOOLS

BOTH = [gate for gate in GATES if gate.reads_a and gate.reads_b]


def chain(n_gates: int) -> Circuit:
    mix = random.Random(3)
    nodes = [Node(BOTH[at % len(BOTH)], max(0, at + 2), mix.randrange(3)) for at in range(n_gates)]
    return Circuit(
        tuple(Column(f"x{place}", "number") for place in range(3)),
        tuple(Above(place, 0.5) for place in range(3)),
        tuple(nodes),
        (Rule(n_gates + 2, (0, 2)), Rule(n_gates // 2, (1, 0))),
        (0, 0),
        ("no", "yes"),
    )


# Only the first tool of each target. JPMML, a second tool, computes derived fields by recursion;
# docs/guides/export.md documents the longest chain that it can compute.
@pytest.mark.parametrize("target", TARGETS)
def test_a_chain_of_gates_answers_like_the_circuit(target: str, tmp_path: Path) -> None:
    runner = TOOLS[target].runners[0]
    circuit = chain(TOOLS[target].most_gates)
    case = TOOLS[target].fit(Case(circuit, nasty_rows(circuit, 12)))
    assert runner([case], tmp_path) == [case.answers()]


def ladder(n_levels: int) -> Circuit:
    """Make a circuit in which both gates of each level read both gates of the level before."""
    nodes = []
    for level in range(n_levels):
        a = 2 * level
        nodes += [Node(GATES[7], a, a + 1), Node(GATES[6], a, a + 1)]
    return Circuit(
        (Column("x", "number"),),
        (Above(0, 0.5), Above(0, 1.5)),
        tuple(nodes),
        (Rule(2 * n_levels, (1, 0)), Rule(2 * n_levels + 1, (0, 1))),
        (0, 0),
        ("no", "yes"),
    )


@pytest.mark.parametrize("target", DATABASES)
def test_more_stages_than_a_database_can_run_are_refused(target: str) -> None:
    with pytest.raises(
        OptionError, match=r"would need 10001 stages, .* at most \d+ work; simplify"
    ):
        dln.export(ladder(10_000), to=target)
