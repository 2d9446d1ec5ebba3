"""What a condition says: tests, names of parts, and the words that join them -> a signal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal as OneOf
from typing import assert_never

from dln.core.builder import TRUE, LogicBuilder, Signal
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Literal

Word = OneOf["and", "or", "xor"]

_GATES = {word: GATE_BY_NAME[word.upper()] for word in ("and", "or", "xor")}


@dataclass(frozen=True)
class Always:
    """A condition that always holds, or never if it is negated."""

    negated: bool = False


@dataclass(frozen=True)
class Test:
    """A literal."""

    literal: Literal
    negated: bool = False


@dataclass(frozen=True)
class PartName:
    """The name of a part that is defined elsewhere, and its place in the text."""

    name: str
    place: int
    negated: bool = False


@dataclass(frozen=True)
class Joined:
    """Conditions joined by one word."""

    word: Word
    parts: tuple[Condition, ...]
    negated: bool = False


Condition = Always | Test | PartName | Joined


def negate(condition: Condition) -> Condition:
    """Return the opposite of a condition."""
    return replace(condition, negated=not condition.negated)


def names_in(condition: Condition) -> Iterator[PartName]:
    """List the names of parts in a condition."""
    match condition:
        case PartName():
            yield condition
        case Joined():
            for part in condition.parts:
                yield from names_in(part)
        case Always() | Test():
            pass
        case _:
            assert_never(condition)


def add_condition(
    condition: Condition, builder: LogicBuilder, parts: Mapping[str, Signal]
) -> Signal:
    """Add a condition to logic under construction; `parts` are the signals of named parts."""
    match condition:
        case Always():
            signal = TRUE
        case Test(literal):
            signal = builder.literal(literal)
        case PartName(name):
            signal = parts[name]
        case Joined(word, joined):
            signals = [add_condition(part, builder, parts) for part in joined]
            # From the right, so that the parts print in their order: literals come before gates.
            signal = reduce(lambda b, a: builder.gate(_GATES[word], a, b), reversed(signals))
        case _:
            assert_never(condition)
    return signal.invert(condition.negated)
