"""Count the cost of a circuit as it is. `simplify` makes a circuit smaller first."""

from __future__ import annotations

from typing import assert_never

from dln.core.circuit import Circuit, Task, check_is_circuit
from dln.core.gates import Gate, Operation
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.core.logic import Logic
from dln.core.readout import Readout
from dln.core.score import Score
from dln.costs.arithmetic import Widths, addition, bit_sum, comparison, equality
from dln.costs.report import Cost, PartCost

_GATE_KIND_BITS = 2
"""Bits that store AND, OR or XOR. Negations are part of the links, not of the kind."""
_OPERATIONS: dict[Operation, int] = {"constant": 0, "copy": 0, "and": 1, "or": 1, "xor": 3}


INT_BITS = 16
"""Default number of bits of an integer."""


def cost(circuit: Circuit, float_bits: int = 16, int_bits: int = INT_BITS) -> Cost:
    """Count the operations, gates, parameters and bytes of a circuit, as the paper counts them.

    **Feature tests.** A threshold costs one comparison: of `int_bits` for integer columns, of
    `float_bits` for numbers and dates; 183 gates at 16 bits. A boolean column, a category and a
    missing value are each one bit of the row, as after one-hot encoding. Testing that bit is an
    equality of one bit and costs 3 gates. A set of m categories costs m such tests and m − 1 ORs.
    Each test stores one value (the threshold or category) and one index (the column).

    **Logic.** Gates that depend on both their inputs count: AND, OR, their negations and
    implications one, XOR and XNOR three. Each stores two links, and 2 bits for its kind.
    Constants, copies and negations cost nothing and store nothing: they are part of the links.

    **Class sums.** One operation for each class, 14 gates and one stored link for each vote. A rule
    that adds m votes to a class, or subtracts m, counts m times. The base votes of a class store
    one value. Finding the largest sum and dividing by the temperature are not counted.

    A logic gate network with fixed thresholds and links is also a circuit and is counted the same
    way.

    Parameters
    ----------
    circuit
        The circuit. Literals and gates that do not affect any vote are counted too.
    float_bits
        16, 32 or 64 bits for numbers.
    int_bits
        8, 16, 32 or 64 bits for integers and indices.

    Returns
    -------
    Cost

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above, Column, Node, Rule
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
    ...     literals=(Above(0, 54.0), Above(1, 0.5)),
    ...     nodes=(Node(GATE_BY_NAME["AND"], 0, 1),),
    ...     rules=(Rule(2, (0, 1)),),
    ...     base_votes=(0, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> print(cost(circuit))
                   operations  gate operations  parameters  bytes
    feature tests           2              186           4      8
    logic                   1                1           3      6
    class sums              2               14           1      2
    total                   5              201           8     16
    >>> cost(circuit, int_bits=32).gate_operations
    641
    """
    check_is_circuit(circuit, "cost", also=", or a fitted baseline to cost_of_model")
    widths = Widths(float_bits, int_bits)
    tests = (literal_cost(literal, circuit.columns, widths) for literal in circuit.literals)
    return Cost(
        feature_tests=sum(tests, start=PartCost()),
        logic=_logic_cost(circuit.logic, widths),
        **{_SUMS[circuit.task]: _sums_cost(circuit.readout, widths)},
    )


_SUMS: dict[Task, str] = {"classes": "class_sums", "number": "sum_of_points"}
"""The part of a cost that adds up what the rules give."""


def gate_operations(gate: Gate) -> int:
    """Count a gate: 3 for XOR and XNOR, 1 for others that read both inputs, 0 for the rest.

    >>> from dln import GATES
    >>> [gate_operations(gate) for gate in GATES]
    [0, 1, 1, 0, 1, 0, 3, 1, 1, 3, 0, 1, 0, 1, 1, 0]
    """
    return _OPERATIONS[gate.form.operation]


def literal_cost(literal: Literal, columns: tuple[Column, ...], widths: Widths) -> PartCost:
    """Count one literal."""
    kind = columns[literal.column].kind
    match literal:
        case Above() if kind in ("number", "date"):
            stored = widths.bytes_of(floats=1, ints=1)
            return PartCost(1, widths.number.comparison, values=1, indices=1, bytes=stored)
        case Above() if kind == "integer":
            stored = widths.bytes_of(ints=2)
            return PartCost(1, comparison(widths.int_bits), values=1, indices=1, bytes=stored)
        # Differs from the paper: its one-hot columns have no sets and no missing values.
        case Above() | Missing():
            n_tests = 1
        case Among():
            n_tests = len(literal.categories)
        case _:
            assert_never(literal)
    n_joins = n_tests - 1
    return PartCost(
        operations=n_tests + n_joins,
        gate_operations=n_tests * equality(1) + n_joins,
        values=n_tests,
        indices=n_tests,
        bytes=widths.bytes_of(ints=2 * n_tests),
    )


def _logic_cost(logic: Logic, widths: Widths) -> PartCost:
    """Count the gates that depend on both their inputs."""
    # Differs from the paper: the paper counts a chain of m − 1 ANDs as one operation with m links.
    # Gates have two inputs here, so it is m − 1 operations with 2(m − 1) links. The gate operations
    # are the same.
    counted = [gate_operations(node.gate) for node in logic.nodes]
    n_gates = sum(operations > 0 for operations in counted)
    n_words = -(-_GATE_KIND_BITS * n_gates // widths.int_bits)
    return PartCost(
        operations=n_gates,
        gate_operations=sum(counted),
        values=n_words,
        indices=2 * n_gates,
        bytes=widths.bytes_of(ints=n_words + 2 * n_gates),
    )


def _sums_cost(readout: Readout, widths: Widths) -> PartCost:
    """Count the votes; a rule's m votes for a class count m times. Points are added as integers."""
    if isinstance(readout, Score):
        n_rules = len(readout.rules)
        return PartCost(
            operations=n_rules,
            gate_operations=n_rules * addition(widths.int_bits),
            values=n_rules + 1,
            indices=n_rules,
            bytes=widths.bytes_of(ints=2 * n_rules + 1),
        )
    n_votes = sum(abs(votes) for rule in readout.rules for votes in rule.votes)
    n_starts = sum(votes != 0 for votes in readout.base_votes)
    return PartCost(
        operations=readout.n_outputs,
        gate_operations=bit_sum(n_votes),
        values=n_starts,
        indices=n_votes,
        bytes=widths.bytes_of(ints=n_starts + n_votes),
    )
