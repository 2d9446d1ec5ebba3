"""Table -> the tests that rules may be made of, in the user's units, and their bits on rows.

A numeric column gets cutoffs at the splits of a small tree, moved to short decimals; a column of
categories gets each common category and the sets that separate the target best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from dln.core.decimals import readable_cutoff
from dln.core.literals import Above, Among, Column, Literal, LiteralKind, Missing
from dln.data.coded import is_missing_in
from dln.data.codes import MISSING_CODE, encode_cells
from dln.data.table import Table
from dln.encode.encoder import ColumnCode, EncodeOptions, fit_encoder
from dln.encode.screen import target_outputs
from dln.train.discretise import find_gaps
from dln.train.problem import NumberProblem, Problem, split_target

_MOST_TESTS = 1_500
"""Maximum number of cutoffs in all columns together, unless there are more columns."""

_FEW_GROUPS = 5
"""Up to this many categories, every set of categories is a test."""


@dataclass(frozen=True)
class CandidateTests:
    """Tests of a table's columns."""

    columns: tuple[Column, ...]
    literals: tuple[Literal, ...]

    def evaluate(self, table: Table) -> NDArray[np.float32]:
        """Return the bits (n_rows, n_tests) as 0.0 and 1.0."""
        bits = np.empty((table.n_rows, len(self.literals)), dtype=np.float32)
        cells: dict[int, NDArray[np.float64]] = {}
        for place, literal in enumerate(self.literals):
            if literal.column not in cells:
                raw = table.read(literal.column)
                cells[literal.column] = encode_cells(raw, self.columns[literal.column])
            bits[:, place] = _holds(literal, cells[literal.column], self.columns[literal.column])
        return bits


def find_tests(problem: Problem | NumberProblem, unused: int = 0) -> CandidateTests:
    """Find the tests to choose from; training rows only. `unused` columns (bits) get none."""
    n_rows, n_columns = len(problem.target), problem.table.n_columns
    n_cutoffs = int(np.clip(n_rows // 60, 8, 48))
    n_cutoffs = max(3, min(n_cutoffs, _MOST_TESTS // max(1, n_columns)))
    options = EncodeOptions(n_cutoffs, unused=unused)
    encoder, _ = fit_encoder(problem.table, split_target(problem), problem.weight, options)
    found: dict[Literal, None] = {}  # in order, without repeats
    own = encoder.literals
    for column, code in enumerate(encoder.codes):
        if unused >> column & 1:
            continue
        here = own.column == column
        if code.scale is not None:
            cutoffs = own.value[here & (own.kind == LiteralKind.ABOVE)]
            found |= dict.fromkeys(_thresholds(problem.table, column, code, cutoffs))
        else:
            group_of = code.encode(problem.table.read(column))
            found |= dict.fromkeys(_sets(group_of, problem, column, code))
        is_missing = is_missing_in(problem.table.read(column))
        if is_missing.any() and not is_missing.all():
            found[Missing(column)] = None
    return CandidateTests(encoder.columns, tuple(found))


def _thresholds(
    table: Table, column: int, code: ColumnCode, cutoffs: NDArray[np.float32]
) -> Iterator[Literal]:
    for gap in find_gaps(table, column, code, cutoffs):
        if gap.low is not None and gap.high is not None:
            yield Above(column, readable_cutoff(gap.low, gap.high, code.column.kind))


def _sets(
    group_of: NDArray[np.float32], problem: Problem | NumberProblem, column: int, code: ColumnCode
) -> Iterator[Literal]:
    """Yield sets of groups: all of them if they are few, else single ones and ordered by class.

    Of a set and its complement only the smaller is a test, unless values are missing.
    """
    n_groups = len(code.groups)
    any_missing = bool(np.isnan(group_of).any())
    largest = n_groups - 1 if any_missing else n_groups // 2
    chosen = {frozenset([group]) for group in range(n_groups if n_groups > 1 else 0)}
    if n_groups <= _FEW_GROUPS:
        for size in range(2, largest + 1):
            chosen |= {frozenset(some) for some in combinations(range(n_groups), size)}
    else:
        chosen |= _separating_sets(group_of, problem, n_groups, largest)
    if not any_missing and n_groups % 2 == 0:  # halves come in complementary pairs
        chosen = {some for some in chosen if 2 * len(some) != n_groups or n_groups - 1 in some}
    for some in sorted(chosen, key=lambda groups: (len(groups), sorted(groups))):
        members = tuple(sorted(index for group in some for index in code.groups[group]))
        yield Among(column, members)


def _separating_sets(
    group_of: NDArray[np.float32], problem: Problem | NumberProblem, n_groups: int, largest: int
) -> set[frozenset[int]]:
    """Order the groups by their share of a class, or their mean; those above a place are a set."""
    groups = np.where(np.isnan(group_of), -1, group_of).astype(np.intp)
    known = groups >= 0
    groups, weight = groups[known], problem.weight[known]
    total = np.bincount(groups, weight, n_groups)
    outputs = target_outputs(split_target(problem))[known]
    found = set()
    for output in outputs.T[1:] if outputs.shape[1] == 2 else outputs.T:
        own = np.bincount(groups, weight * output, n_groups)
        prior = own.sum() / max(total.sum(), 1e-12)
        order = np.argsort((own + prior * total.mean()) / (total + total.mean()), kind="stable")
        for cut in range(1, n_groups):
            for some in (order[cut:], order[:cut]):
                if 1 < len(some) <= largest:
                    found.add(frozenset(some.tolist()))
    return found


def _holds(literal: Literal, cells: NDArray[np.float64], column: Column) -> NDArray[np.bool_]:
    match literal:
        case Above():
            above: NDArray[np.bool_] = cells > literal.cutoff
            return above
        case Among():
            return np.isin(cells, literal.categories)
        case Missing():
            missing: NDArray[np.bool_] = (
                np.isnan(cells) if column.is_numeric else cells == MISSING_CODE
            )
            return missing
        case _:
            assert_never(literal)
