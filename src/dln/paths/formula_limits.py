"""Limits -> the formulas that may be rules, and the votes that they may give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dln.core.limits import Limits, bits_of
from dln.core.literals import LiteralKind
from dln.paths.formula import Formula, Step
from dln.paths.loss import Floats
from dln.train.candidates import CandidateTests


class FormulaLimits:
    """Limits for formulas of some tests.

    Attributes
    ----------
    n_votes
        Numbers for each rule: 1 for two classes (the lead of the second), else one for each class.
    """

    def __init__(self, limits: Limits, tests: CandidateTests) -> None:
        self._limits = limits
        self._column_of = [literal.column for literal in tests.literals]
        directed = limits.directed
        self._is_directed = [
            literal.kind == LiteralKind.ABOVE and bool(directed[literal.column])
            for literal in tests.literals
        ]
        n_outputs = len(limits.signs)
        self.n_votes = 1 if n_outputs == 2 else n_outputs

    def bounds(self, formula: Formula) -> tuple[Floats, Floats] | None:
        """Return the least and the largest votes (n_votes,) of a rule; None if it may not be one.

        Tests are joined by "and" and "or", so a rule moves with each of its tests.
        """
        columns = bits_of(self._column_of[step.test] for step in formula)
        if not self._limits.may_meet(columns):
            return None
        signs: dict[int, int] = {}
        for step in formula:
            if self._is_directed[step.test]:
                sign = -1 if step.negated else 1
                if signs.setdefault(self._column_of[step.test], sign) != sign:
                    return None
        agree, oppose = self._limits.votes_of(signs)
        if len(agree) == 2:  # a vote against the first class is one for the second
            agree, oppose = agree[1:] | oppose[:1], oppose[1:] | agree[:1]
        if not (agree | oppose).any():
            return None
        return np.where(oppose, -np.inf, 0.0), np.where(agree, np.inf, 0.0)

    def extensions(self, formula: Formula) -> NDArray[np.bool_]:
        """Return which tests may be joined to a formula (n_tests, 2): plain, and negated."""
        known: dict[tuple[int, bool, bool], bool] = {}
        found = np.zeros((len(self._column_of), 2), dtype=bool)
        for test, (column, directed) in enumerate(
            zip(self._column_of, self._is_directed, strict=True)
        ):
            for negated in (False, True):
                key = column, directed, negated and directed
                if key not in known:
                    longer = (*formula, Step(False, test, negated))
                    known[key] = self.bounds(longer) is not None
                found[test, int(negated)] = known[key]
        return found

    def pairs(self, tests: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which pairs may be a rule: a∧b, a∧¬b, ¬a∧b and ¬a∧¬b (4, n, n)."""
        numbers = tests.tolist()
        first = [
            [self.extensions((Step(False, test, negated),))[tests] for test in numbers]
            for negated in (False, True)
        ]
        plain, negated = (np.array(rows) for rows in first)
        return np.stack([plain[..., 0], plain[..., 1], negated[..., 0], negated[..., 1]])
