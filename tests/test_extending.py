"""What CONTRIBUTING.md says about extending dln: a new readout, a new exporter.

The tables for an option, a loss and a literal kind are checked by the tests of those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

import dln
from dln.core.circuit import Circuit
from dln.core.parts import Rule
from dln.core.readout import Votes
from dln.explain.writer import factored_writer
from dln.exporters import export as exporting
from dln.exporters.program import Program
from dln.exporters.result import Export
from dln.shrink.simplify.fold import fold
from dln.shrink.simplify.observe import replace_unseen
from dln.shrink.simplify.sweep import merge_equal
from tests.support.strategies import every_row, law, logic_circuits


@dataclass(frozen=True)
class Sum:
    """A readout that dln does not have: rules add points to one number."""

    rules: tuple[Rule, ...]
    base_votes: tuple[int]
    n_outputs: int = 1

    @property
    def wires(self) -> tuple[int, ...]:
        return tuple(rule.wire for rule in self.rules)

    def with_rules(self, rules: tuple[Rule, ...], base_votes: tuple[int, ...]) -> Sum:
        return replace(self, rules=rules, base_votes=base_votes)


def numbers(circuit: Circuit, rows: NDArray[Any]) -> list[int]:
    """Evaluate a circuit with a `Sum`. Its logic is evaluated without it."""
    logic = Circuit(logic=circuit.logic, readout=Votes.without_rules(("any",)))
    wires = logic.evaluate(rows)
    total = np.full(len(rows), circuit.readout.base_votes[0])
    for rule in circuit.readout.rules:
        total += rule.votes[0] * wires.wire(rule.wire)
    return list(map(int, total))


@law
@given(circuit=logic_circuits())
def test_what_needs_only_logic_works_with_any_readout(circuit: Circuit) -> None:
    rules = tuple(Rule(rule.wire, (1 + place,)) for place, rule in enumerate(circuit.rules))
    score: Any = Sum(rules, (7,))
    before, rows = Circuit(logic=circuit.logic, readout=score), every_row(circuit)
    for smaller in (fold(before), merge_equal(before), replace_unseen(before)):
        assert isinstance(smaller.readout, Sum)
        assert numbers(smaller, rows) == numbers(before, rows)
    writer = factored_writer(before.logic, score.wires)
    expected = factored_writer(circuit.logic, circuit.readout.wires)
    for wire in score.wires:
        assert writer.name_or_text(wire) == expected.name_or_text(wire)


def test_an_exporter_is_a_function_and_a_line_in_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def export_rules(program: Program, *, prefix: str = "") -> Export:
        text = "".join(f"{prefix}{line}\n" for line in program.rule_lines)
        return Export(
            "text", program.name, program.model_id, {f"{program.name}.txt": text.encode()}, ()
        )

    targets: dict[Any, Any] = exporting.TARGETS
    monkeypatch.setitem(targets, "text", exporting.Target("the rules as text", export_rules))
    circuit = Circuit((), (), (), (), (0, 1), ("no", "yes"))
    to: Any = "text"
    assert dln.export(circuit, to=to, prefix="# ").text.startswith("# Most votes win")
    with pytest.raises(dln.OptionError, match="text has no option 'stages'; its options are: pref"):
        dln.export(circuit, to=to, stages=2)
