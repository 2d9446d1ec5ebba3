"""The 16 two-input gates: one truth table each, from which everything else follows.

A gate's number is its truth table read as a binary number, which is also its number in the paper:
AND is 0001 = 1, OR is 0111 = 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, assert_never
from typing import Literal as OneOf

_T = TypeVar("_T")
Operation = OneOf["constant", "copy", "and", "or", "xor"]

_NAMES = (
    "FALSE",
    "AND",
    "A_AND_NOT_B",
    "A",
    "NOT_A_AND_B",
    "B",
    "XOR",
    "OR",
    "NOR",
    "XNOR",
    "NOT_B",
    "A_OR_NOT_B",
    "NOT_A",
    "NOT_A_OR_B",
    "NAND",
    "TRUE",
)


class Form(NamedTuple):
    """A gate as one operation.

    The inputs of "and" and "or" may be negated. The result of the others may be `negated`: a
    constant is 0 unless it is negated. A copy is of the input that the gate reads.
    """

    operation: Operation
    negate_a: bool = False
    negate_b: bool = False
    negated: bool = False


@dataclass(frozen=True)
class Operators(Generic[_T]):
    """Operations on values that stand for bits, such as texts or edges of a graph.

    >>> words = Operators("({} and {})".format, "({} or {})".format, "({} xor {})".format,
    ...                   "not {}".format, str)
    >>> GATE_BY_NAME["A_AND_NOT_B"].compute(words, "x", "y")
    '(x and not y)'
    """

    both: Callable[[_T, _T], _T]
    either: Callable[[_T, _T], _T]
    differ: Callable[[_T, _T], _T]
    invert: Callable[[_T], _T]
    constant: Callable[[bool], _T]


@dataclass(frozen=True)
class Gate:
    """A two-input gate; `table` is its output for (a, b) = 00, 01, 10, 11.

    >>> AND = GATE_BY_NAME["AND"]
    >>> AND.name, AND.table, AND.hard(1, 1)
    ('AND', (0, 0, 0, 1), 1)
    >>> AND.soft(0.5, 0.5)
    0.25
    """

    name: str
    table: tuple[int, int, int, int]

    def __reduce__(self) -> tuple[Any, ...]:
        return gate_of, (self.table,)  # pickling and copying create no further gates

    @cached_property
    def code(self) -> int:
        """The gate's number: its truth table read as a binary number."""
        t00, t01, t10, t11 = self.table
        return 8 * t00 + 4 * t01 + 2 * t10 + t11

    @cached_property
    def coefficients(self) -> tuple[int, int, int, int]:
        """The (c0, c1, c2, c3) of its bilinear form `c0 + c1·a + c2·b + c3·ab`."""
        t00, t01, t10, t11 = self.table
        return t00, t10 - t00, t01 - t00, t00 - t01 - t10 + t11

    @property
    def reads_a(self) -> bool:
        """Whether the output depends on input a."""
        t00, t01, t10, t11 = self.table
        return (t00, t01) != (t10, t11)

    @property
    def reads_b(self) -> bool:
        """Whether the output depends on input b."""
        t00, t01, t10, t11 = self.table
        return (t00, t10) != (t01, t11)

    @cached_property
    def form(self) -> Form:
        """The gate as one operation.

        >>> GATE_BY_NAME["A_AND_NOT_B"].form
        Form(operation='and', negate_a=False, negate_b=True, negated=False)
        """
        negated = self.table[0] == 1
        if not (self.reads_a or self.reads_b):
            return Form("constant", negated=negated)
        if not (self.reads_a and self.reads_b):
            return Form("copy", negated=negated)
        if sum(self.table) == 2:
            return Form("xor", negated=negated)
        # A single 1 is an AND that is true for one pair of inputs, a single 0 an OR that is false.
        if sum(self.table) == 1:
            true = self.table.index(1)
            return Form("and", negate_a=true < 2, negate_b=true % 2 == 0)
        false = self.table.index(0)
        return Form("or", negate_a=false >= 2, negate_b=false % 2 == 1)

    def compute(self, on: Operators[_T], a: _T, b: _T) -> _T:
        """Compute the output for values that stand for bits."""
        operation, negate_a, negate_b, negated = self.form
        a = on.invert(a) if negate_a else a
        b = on.invert(b) if negate_b else b
        match operation:
            case "constant":
                return on.constant(negated)
            case "copy":
                value = a if self.reads_a else b
            case "and":
                value = on.both(a, b)
            case "or":
                value = on.either(a, b)
            case "xor":
                value = on.differ(a, b)
            case _:
                assert_never(operation)
        return on.invert(value) if negated else value

    def hard(self, a: int, b: int) -> int:
        """Look up the output for two bits."""
        return self.table[2 * a + b]

    def soft(self, a: Any, b: Any) -> Any:
        """Extend the table to [0, 1] (numbers or arrays); exact at the four corners."""
        c0, c1, c2, c3 = self.coefficients
        return c0 + c1 * a + c2 * b + c3 * (a * b)

    def negate_a(self) -> Gate:
        """Return the gate that reads NOT a instead of a."""
        t00, t01, t10, t11 = self.table
        return gate_of((t10, t11, t00, t01))

    def negate_b(self) -> Gate:
        """Return the gate that reads NOT b instead of b."""
        t00, t01, t10, t11 = self.table
        return gate_of((t01, t00, t11, t10))

    def negate(self) -> Gate:
        """Return the gate with the opposite output."""
        return GATES[15 - self.code]

    def swap(self) -> Gate:
        """Return the gate that computes the same with its inputs swapped."""
        t00, t01, t10, t11 = self.table
        return gate_of((t00, t10, t01, t11))


def gate_of(table: tuple[int, int, int, int]) -> Gate:
    """Find the gate with this truth table."""
    t00, t01, t10, t11 = table
    return GATES[8 * t00 + 4 * t01 + 2 * t10 + t11]


GATES: tuple[Gate, ...] = tuple(
    Gate(name, (code >> 3 & 1, code >> 2 & 1, code >> 1 & 1, code & 1))
    for code, name in enumerate(_NAMES)
)
"""All gates by number."""

GATE_BY_NAME: Mapping[str, Gate] = MappingProxyType({gate.name: gate for gate in GATES})
"""All gates by name, such as `GATE_BY_NAME["AND"]`."""

PRIORITY: tuple[Gate, ...] = tuple(
    GATE_BY_NAME[name]
    for name in (
        "NOR",
        "NAND",
        "XOR",
        "XNOR",
        "OR",
        "AND",
        "A",
        "B",
        "NOT_A",
        "NOT_B",
        "A_OR_NOT_B",
        "NOT_A_OR_B",
        "A_AND_NOT_B",
        "NOT_A_AND_B",
        "FALSE",
        "TRUE",
    )
)
"""The paper's order by completeness and gradient flow: a gate subspace is its first k."""
