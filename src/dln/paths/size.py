"""How large a circuit is for its reader: the one place where rules, literals and columns count.

- A rule is a line that votes. One that votes for several classes counts once; a constant vote
  ("always") does not count.
- A literal is a test as `dln rules` writes it: `age > 54`, `city in {Basel, Bern}` and `x is
  missing` are one each, `x > 3 and x <= 5` is two. A test that two rules repeat counts twice.
- A column counts if some test reads it, once for each circuit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dln.core.circuit import Circuit, check_is_circuit
from dln.explain.expression import count_terms
from dln.explain.shortest import shortest


@dataclass(frozen=True)
class Size:
    """What a reader of the rules has to read.

    Attributes
    ----------
    n_rules
        Rules that vote.
    n_literals
        CandidateTests in all rules, as they are written.
    longest
        CandidateTests in the longest rule.
    n_columns
        Columns that some rule reads.
    columns
        Their names.
    """

    n_rules: int
    n_literals: int
    longest: int
    columns: tuple[str, ...]

    @property
    def n_columns(self) -> int:
        """Number of columns that some rule reads."""
        return len(self.columns)

    def cost(self, column_costs: Mapping[str, float]) -> float:
        """Return what it costs to measure the columns; columns without a cost are free."""
        return sum(column_costs.get(name, 0.0) for name in self.columns)


def measure_size(circuit: Circuit) -> Size:
    """Count the rules, literals and columns of a circuit, as it is written.

    >>> from dln import GATE_BY_NAME, Above, Circuit, Column, Node, Rule
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
    ...     literals=(Above(0, 54.0), Above(1, 0.5)),
    ...     nodes=(Node(GATE_BY_NAME["AND"], 0, 1),),
    ...     rules=(Rule(2, (0, 2)), Rule(0, (0, 1))),
    ...     base_votes=(0, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> measure_size(circuit)
    Size(n_rules=2, n_literals=3, longest=2, columns=('age', 'smoker'))
    """
    check_is_circuit(circuit, "measure_size")
    lengths = [count_terms(shortest(circuit.logic, wire)) for wire in circuit.readout.wires]
    used = circuit.logic.cone(circuit.readout.wires)
    read = {circuit.literals[wire].column for wire in used if wire < circuit.n_literals}
    return Size(
        n_rules=len(circuit.rules),
        n_literals=sum(lengths),
        longest=max(lengths, default=0),
        columns=tuple(circuit.columns[column].name for column in sorted(read)),
    )
