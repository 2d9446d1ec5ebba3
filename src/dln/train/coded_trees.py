"""One tree on coded columns, grown best first by histograms: fast on many rows.

A column is a code for each row, at most 256 different ones: 0 is missing, then parts of numbers in
their order, or groups of categories. The derivatives of the loss are rounded to whole numbers, so
sums of them are exact. The tree is the same for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.core.literals import LiteralKind
from dln.encode.bits import EncodedLiteral, LiteralSet

Floats = NDArray[np.float64]

N_CODES = 256
"""Number of different codes of a column."""

EDGE_ROWS = 200_000
"""Maximum number of rows on which columns are divided into parts."""

EDGE_CELLS = 1 << 25
"""Maximum number of values of these rows; fewer rows are used of a wide table."""

BLOCK_ROWS = 1 << 16
"""Number of rows that are coded at a time."""

_FINEST = 2.0**30
"""The largest derivative as a whole number."""


class ColumnTests(IntEnum):
    """The tests of a column that a tree may use."""

    NONE = 0
    MISSING = 1
    ABOVE = 2
    AMONG = 3


@dataclass(frozen=True)
class CodedColumns:
    """Encoded columns as codes.

    Attributes
    ----------
    codes : (n_columns, n_rows)
        The code of each value.
    columns : (n_columns,)
        The number of each column in the table.
    tests : (n_columns,)
        The `ColumnTests` of each column.
    edges
        The cutoffs of each column on its scale: codes above c are above the cutoff c - 1.
    """

    codes: NDArray[np.uint8]
    columns: NDArray[np.int32]
    tests: NDArray[np.uint8]
    edges: tuple[NDArray[np.float32], ...]

    def on(self, cells: NDArray[np.float32], rows: NDArray[np.int64]) -> CodedColumns:
        """Return the codes of other encoded rows; they are read block by block."""
        codes = np.empty((len(self.columns), len(rows)), dtype=np.uint8)
        for first in range(0, len(rows), BLOCK_ROWS):
            block = slice(first, first + BLOCK_ROWS)
            part = np.asarray(cells[rows[block]])
            for place, column in enumerate(self.columns.tolist()):
                tests = ColumnTests(self.tests[place])
                codes[place, block] = _code(part[:, column], tests, self.edges[place])
        return CodedColumns(codes, self.columns, self.tests, self.edges)

    def split_literal(self, feature: int, threshold: float) -> EncodedLiteral:
        """Return the literal of a split; it is true on the right-hand side. See `Structure`."""
        place, code = feature % len(self.columns), int(threshold)
        column = int(self.columns[place])
        if feature < len(self.columns):
            return EncodedLiteral(LiteralKind.ABOVE, column, float(self.edges[place][code - 1]))
        if code == 0:
            return EncodedLiteral(LiteralKind.MISSING, column, 0.0)
        return EncodedLiteral(LiteralKind.AMONG, column, float(code - 1))


def code_columns(
    literals: LiteralSet, cells: NDArray[np.float32], rows: NDArray[np.int64]
) -> CodedColumns:
    """Divide the columns that have literals into parts, and code some rows."""
    columns = np.unique(literals.column)
    most = max(1, min(EDGE_ROWS, EDGE_CELLS // cells.shape[1]))
    some = np.asarray(cells[rows[:: -(-len(rows) // most)]])
    tests = np.full(len(columns), ColumnTests.MISSING, dtype=np.uint8)
    edges: list[NDArray[np.float32]] = []
    for place, column in enumerate(columns.tolist()):
        kinds = literals.kind[literals.column == column]
        own = np.empty(0, dtype=np.float32)
        if (kinds == LiteralKind.ABOVE).any():
            tests[place], own = ColumnTests.ABOVE, _edges(some[:, column])
        elif (kinds == LiteralKind.AMONG).any():
            tests[place] = ColumnTests.AMONG
        edges.append(own)
    empty = np.empty((len(columns), 0), dtype=np.uint8)
    return CodedColumns(empty, columns.astype(np.int32), tests, tuple(edges)).on(cells, rows)


def _edges(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return cutoffs that divide values into parts of about the same number of rows."""
    some = np.sort(values[~np.isnan(values)])
    if len(some) == 0:
        return some
    most = N_CODES - 2  # codes of cutoffs start after that of missing values
    distinct = np.unique(some)
    if len(distinct) <= most + 1:
        return np.asarray(distinct[:-1], dtype=np.float32)
    places = (np.arange(1, most + 1) * len(some)) // (most + 1)
    found = np.unique(some[places])
    return np.asarray(found[found < some[-1]])


def _code(
    values: NDArray[np.float32], tests: ColumnTests, edges: NDArray[np.float32]
) -> NDArray[np.uint8]:
    missing = np.isnan(values)
    match tests:
        case ColumnTests.ABOVE:
            codes = 1 + np.searchsorted(edges, values, side="left")  # above the edges before it
        case ColumnTests.AMONG:
            codes = 1 + np.where(missing, 0, values).astype(np.int64)
        case _:
            codes = np.ones(len(values), dtype=np.int64)
    return np.where(missing, 0, codes).astype(np.uint8)


class Structure(NamedTuple):
    """The nodes of a tree. A row that passes the test of a node goes to the right.

    The feature of a node is the number of its column if it tests for codes above `threshold`. It is
    that plus the number of columns if it tests for this code. Leaves have the feature -1.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.int32]
    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.feature)

    def apply(self, codes: NDArray[np.uint8], n_threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf of each row of codes (n_columns, n_rows)."""
        return find_leaves(codes, self, n_threads)


class Derivatives(NamedTuple):
    """Derivatives of the loss as whole numbers: pulls (n_outputs, n_rows) and holds (n_rows,).

    `penalty` is added to the holds of a leaf.
    """

    pulls: NDArray[np.int32]
    holds: NDArray[np.int32]
    penalty: float

    @classmethod
    def of(cls, pulls: Floats, holds: Floats, penalty: float) -> Derivatives:
        """Round weighted derivatives, (n_rows, n_outputs) and (n_rows,)."""
        pull_unit = max(float(np.abs(pulls).max()), 1e-300) / _FINEST
        hold_unit = max(float(holds.max()), 1e-300) / _FINEST
        return cls(
            np.ascontiguousarray(np.rint(pulls.T / pull_unit).astype(np.int32)),
            np.rint(holds / hold_unit).astype(np.int32),
            penalty / hold_unit,
        )


class GrowOptions(NamedTuple):
    """The size of a tree, and the tests and directions (n_columns,) of each column."""

    n_leaves: int
    least_rows: int
    tests: NDArray[np.uint8]
    signs: NDArray[np.int8]


def define_tree(
    codes: NDArray[np.uint8],
    rows: NDArray[np.int32],
    found: Derivatives,
    options: GrowOptions,
    n_threads: int = 1,
) -> Structure:
    """Grow a tree on some rows: the definition of what the compiled extension computes."""
    del n_threads
    new = [-1, 0, -1, -1]
    nodes = [new]
    leaves: list[tuple[int, NDArray[np.intp], _Split | None]] = []

    def leaf(node: int, places: NDArray[np.intp]) -> tuple[int, NDArray[np.intp], _Split | None]:
        return node, places, _best_split(codes, rows, found, options, places)

    leaves.append(leaf(0, np.arange(len(rows))))
    while len(leaves) < options.n_leaves:
        open_leaves = [place for place, own in enumerate(leaves) if own[2] is not None]
        if not open_leaves:
            break
        best = max(open_leaves, key=lambda place: leaves[place][2].gain)  # type: ignore[union-attr]
        node, places, split = leaves[best]
        assert split is not None
        feature = split.column + (len(codes) if split.equal else 0)
        nodes[node] = [feature, split.code, len(nodes), len(nodes) + 1]
        nodes += [new, new]
        own = codes[split.column, rows[places]]
        passes = own == split.code if split.equal else own > split.code
        leaves[best] = leaf(nodes[node][2], places[~passes])
        leaves.append(leaf(nodes[node][3], places[passes]))
    return Structure(*np.array(nodes, dtype=np.int32).T.copy())


class _Split(NamedTuple):
    gain: float
    column: int
    code: int
    equal: bool


def _best_split(
    codes: NDArray[np.uint8],
    rows: NDArray[np.int32],
    found: Derivatives,
    options: GrowOptions,
    places: NDArray[np.intp],
) -> _Split | None:
    """Return the split with the largest gain; the first of equal ones."""
    best: _Split | None = None
    values = np.vstack([np.ones(len(places)), found.holds[places], found.pulls[:, places]])
    for column, tests in enumerate(options.tests.tolist()):
        if tests == ColumnTests.NONE:
            continue
        own = codes[column, rows[places]]
        sums = np.array([np.bincount(own, each, N_CODES) for each in values])
        total = sums.sum(axis=1)
        last = N_CODES if tests == ColumnTests.AMONG else 1
        sides = [(sums[:, code], code, True) for code in range(last)]
        if tests == ColumnTests.ABOVE:
            after = total[:, None] - np.cumsum(sums, axis=1)
            sides += [(after[:, code], code, False) for code in range(1, N_CODES)]
        for side, code, equal in sides:
            rest = total - side
            if min(side[0], rest[0]) < options.least_rows:
                continue
            sign = 0 if equal else int(options.signs[column])
            over, under = (each[2] / (each[1] + found.penalty) for each in (side, rest))
            if sign and (over <= under if sign > 0 else over >= under):
                continue
            gain = _score(side, found) + _score(rest, found) - _score(total, found)
            if gain > (0.0 if best is None else best.gain):
                best = _Split(gain, column, code, equal)
    return best


def _score(sums: Floats, found: Derivatives) -> float:
    squares = 0.0
    for pull in sums[2:].tolist():
        squares += pull * pull
    return squares / (float(sums[1]) + found.penalty)


def define_leaves(
    codes: NDArray[np.uint8], structure: Structure, n_threads: int = 1
) -> NDArray[np.int32]:
    """Return the leaf of each row: the definition of what the compiled extension computes."""
    del n_threads
    leaf = np.zeros(codes.shape[1], dtype=np.int32)
    for node, feature in enumerate(structure.feature.tolist()):  # children come after their parent
        if feature < 0:
            continue
        here = np.flatnonzero(leaf == node)
        own, threshold = codes[feature % len(codes), here], structure.threshold[node]
        passes = own == threshold if feature >= len(codes) else own > threshold
        leaf[here] = np.where(passes, structure.children_right[node], structure.children_left[node])
    return leaf


try:
    from dln import _native

    def grow_tree(
        codes: NDArray[np.uint8],
        rows: NDArray[np.int32],
        found: Derivatives,
        options: GrowOptions,
        n_threads: int = 1,
    ) -> Structure:
        """Grow a tree on some rows."""
        return Structure(
            *_native.grow_tree(
                codes,
                rows,
                found.pulls,
                found.holds,
                options.tests,
                options.signs,
                options.n_leaves,
                options.least_rows,
                found.penalty,
                n_threads,
            )
        )

    def find_leaves(
        codes: NDArray[np.uint8], structure: Structure, n_threads: int = 1
    ) -> NDArray[np.int32]:
        """Return the leaf of each row."""
        found: NDArray[np.int32] = _native.find_leaves(codes, *structure, n_threads)
        return found

except ImportError:  # a machine without the compiled extension
    grow_tree, find_leaves = define_tree, define_leaves
