"""What a circuit is made of beside its literals: placed gates and voting rules."""

from __future__ import annotations

from typing import NamedTuple

from dln.gates import Gate

MAX_VOTES = 2**31 - 1
"""Votes of a class, without their signs, add up to no more: they fit in 32 bits everywhere."""


class Node(NamedTuple):
    """A gate placed in a circuit, with the two wires that it reads."""

    gate: Gate
    a: int
    b: int


class Rule(NamedTuple):
    """A wire and the votes that it gives to each class when it is 1."""

    wire: int
    votes: tuple[int, ...]
