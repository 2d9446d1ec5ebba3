"""A rule under construction: a chain of tests such as `(a and not b) or c`.

A formula is a tuple of steps, read from the left. A step is a test, negated or not, and the word
that joins it to what comes before. The first step has the word of the second.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.core.builder import LogicBuilder, Signal
from dln.core.gates import GATE_BY_NAME
from dln.train.candidates import CandidateTests


class Step(NamedTuple):
    """A test, by its number, and whether it is joined by "or" instead of "and"."""

    by_or: bool
    test: int
    negated: bool


Formula = tuple[Step, ...]


def single(test: int) -> Formula:
    """Make a formula of one test."""
    return (Step(False, test, False),)


def both(a: Step, b: Step) -> Formula:
    """Make `a and b`."""
    return tuple(sorted((a, b)))


def extend(formula: Formula, step: Step) -> Formula:
    """Join one more test. Steps with the same word are sorted, so equal formulas are identical."""
    first, *others = (*formula, step)
    steps = (first._replace(by_or=others[0].by_or), *others)
    return tuple(
        step for _, run in groupby(steps, key=lambda step: step.by_or) for step in sorted(run)
    )


def evaluate(formula: Formula, bits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute where a formula holds (n_rows,) from the bits of all tests (n_rows, n_tests)."""
    held: NDArray[np.float32] | None = None
    for by_or, test, negated in formula:
        own = 1 - bits[:, test] if negated else bits[:, test]
        held = own if held is None else np.maximum(held, own) if by_or else held * own
    assert held is not None
    return held


def build(formula: Formula, tests: CandidateTests, builder: LogicBuilder) -> Signal:
    """Add a formula's tests and gates to a circuit under construction."""
    signal: Signal | None = None
    for by_or, test, negated in formula:
        own = builder.literal(tests.literals[test]).invert(negated)
        gate = GATE_BY_NAME["OR" if by_or else "AND"]
        signal = own if signal is None else builder.gate(gate, signal, own)
    assert signal is not None
    return signal
