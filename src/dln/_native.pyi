"""Types of the native core: train networks, evaluate and search circuits (native/)."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

def levels() -> list[str]:
    """List the instruction-set levels that this processor supports, slowest first."""

class Program:
    """A circuit, checked and planned for fast evaluation.

    Raises ValueError or TypeError for invalid arguments, and OverflowError if the plan would take
    over 2^20 operations.
    """

    def __init__(
        self,
        n_columns: int,
        column_is_category: NDArray[np.uint8],
        literal_kind: NDArray[np.uint8],
        literal_column: NDArray[np.int32],
        literal_cutoff: NDArray[np.float64],
        category_start: NDArray[np.int64],
        category_code: NDArray[np.int32],
        gate_code: NDArray[np.uint8],
        gate_a: NDArray[np.int32],
        gate_b: NDArray[np.int32],
        rule_wire: NDArray[np.int32],
        rule_votes: NDArray[np.int32],
        base_votes: NDArray[np.int32],
        level: str = "",
    ) -> None: ...
    @property
    def level(self) -> str:
        """The instruction-set level that the program runs on."""

    def votes(
        self,
        source: NDArray[Any] | Sequence[NDArray[Any] | None],
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> NDArray[np.int32]:
        """Count the votes of every row for every class: (n, n_classes)."""

    def scores(
        self,
        source: NDArray[Any] | Sequence[NDArray[Any] | None],
        factor: float,
        divisor: float,
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the votes for the only class, times factor, divided by divisor: (n,)."""

    def evaluate(
        self,
        source: NDArray[Any] | Sequence[NDArray[Any] | None],
        wires: NDArray[np.int32],
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Compute some wires, 64 rows to a word (n_wires, n_words), and votes (n, n_classes)."""

    def classify(
        self,
        source: NDArray[Any] | Sequence[NDArray[Any] | None],
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> NDArray[np.int64]:
        """Return the index of the class with the most votes, the first if several tie: (n,)."""

    def classify_into(
        self,
        source: NDArray[Any] | Sequence[NDArray[Any] | None],
        labels: NDArray[np.uint64],
        out: NDArray[np.uint64],
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> None:
        """Write the label of the class with the most votes to `out`, for every row."""

class Schedule:
    """Settings that change from epoch to epoch."""

    def __init__(self) -> None: ...
    temperature: list[float]
    layer_freeze: list[int]
    vote_freeze: int
    prune_first: int
    prune_last: int
    layer_prune: list[int]
    convergence: float

class Gradients(TypedDict):
    """The result of `Job.gradients`: flat lists in the order of the network's arrays."""

    loss: float
    cutoff: list[float]
    slope: list[float]
    link_logit: list[float]
    gate_logit: list[float]
    vote_logit: list[float]

class Job:
    """One network, its rows and options; trained in place."""

    def __init__(
        self,
        *,
        cells: NDArray[np.float32],
        target: NDArray[np.int32],
        weight: NDArray[np.float32],
        rows: NDArray[np.int64],
        valid_rows: NDArray[np.int64],
        layer_start: NDArray[np.int32],
        literal_kind: NDArray[np.uint8],
        literal_column: NDArray[np.int32],
        literal_layer: NDArray[np.int32],
        literal_value: NDArray[np.float32],
        slope: NDArray[np.float32],
        link_wire: NDArray[np.int32],
        link_logit: NDArray[np.float32],
        gate_choice: NDArray[np.uint8],
        gate_logit: NDArray[np.float32],
        rule_wire: NDArray[np.int32],
        vote_logit: NDArray[np.float32],
        options: bytes,
        schedule: Schedule,
    ) -> None: ...
    @property
    def epochs_done(self) -> int: ...
    @property
    def epochs_visited(self) -> float: ...
    @property
    def best_epoch(self) -> int: ...
    def history(self) -> NDArray[np.float32]:
        """Return (epochs, 4): loss, training and validation balanced accuracy, live gates."""

    @property
    def trace_epochs(self) -> list[int]:
        """Epochs done at each record of the trace."""

    def trace(self) -> NDArray[np.float32]:
        """Return (records, parameters): cutoffs, slopes, gate, link and vote logits, flat."""

    def votes(self, rows: NDArray[np.int64], level: str = "") -> NDArray[np.int32]:
        """Count the votes of the hard network: (rows, classes)."""

    def gradients(self, rows: NDArray[np.int64], phase: int, level: str = "") -> Gradients:
        """Compute the gradients on some rows; phase 0: gates, 1: links, 2: both."""

def row_orders(rows: NDArray[np.int64], key: int, window: int, block: int) -> NDArray[np.int64]:
    """Return the order of the rows in the first two epochs: (2, rows)."""

def train(
    jobs: Sequence[Job],
    n_threads: int,
    on_progress: Callable[[], None] | None = None,
    level: str = "",
) -> None:
    """Train all jobs in place, on n_threads threads."""

class VoteSearch:
    """The votes of a circuit as tables over the atoms of its columns; questions about boxes.

    A box is one byte for each atom of each column: whether its rows may have the atom. A demand
    (a, b, n) means that class a has at least n votes more than class b. Raises ValueError or
    TypeError for invalid arguments. `seconds` may be infinite, and `n_nodes` 0 means no limit.
    """

    def __init__(
        self,
        n_atoms: NDArray[np.int32],
        first_ordered: NDArray[np.int32],
        factor_start: NDArray[np.int64],
        scope: NDArray[np.int32],
        pattern: NDArray[np.int32],
        output: NDArray[np.int32],
        table: NDArray[np.int32],
        base: NDArray[np.int32],
    ) -> None: ...
    def solve(
        self,
        allowed: NDArray[np.uint8],
        demands: Sequence[tuple[int, int, int]],
        costs: NDArray[np.int64] | None,
        below: int | None,
        seconds: float,
        n_nodes: int,
    ) -> tuple[NDArray[np.int32] | None, int, bool, int]:
        """Find the cheapest row of a box that fulfils all demands.

        Returns the row or None, its cost, whether the search is complete, and its nodes.
        """

    def prove(
        self,
        allowed: NDArray[np.uint8],
        demands: Sequence[tuple[int, int, int]],
        seconds: float,
        n_nodes: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
        """Prove that no row of a box fulfils all demands.

        Returns a tree of boxes, the messages of its leaves, where those of each leaf begin
        (n_leaves + 1), and multipliers (n_leaves, n_demands). None if there is such a row, the
        limit is reached, or inner wires are variables.
        """

    def check(
        self,
        allowed: NDArray[np.uint8],
        demands: Sequence[tuple[int, int, int]],
        tree: NDArray[np.int32],
        messages: NDArray[np.int64],
        starts: NDArray[np.int64],
        multipliers: NDArray[np.int64],
    ) -> bool:
        """Whether a proof is right; by other code than `prove`."""

    def is_class_checked(self, allowed: NDArray[np.uint8], winner: int, seconds: float) -> bool:
        """Whether a proof that all rows of a box get a class is found and right."""

    def share(
        self,
        allowed: NDArray[np.uint8],
        weights: NDArray[np.float64],
        hidden: NDArray[np.uint8],
        cases: Sequence[tuple[NDArray[np.uint8], Sequence[tuple[int, int, int]]]],
        seconds: float,
        n_boxes: int,
        n_listed: float,
    ) -> tuple[float, float, int]:
        """Bound the weight of the rows of a box that fulfil one of several cases.

        A case is a box, of which the hidden columns matter, and demands. A row of the columns that
        are not hidden counts if a case is fulfilled with some atoms of the hidden columns. Its
        weight is the product of `weights`, which add up to 1 in each column. Returns a lower and
        an upper bound, which are equal if the search is complete, and the number of boxes. Boxes
        of at most `n_listed` rows, and at most 4,096, are listed. 0 boxes mean no limit.
        """

    def reasons(
        self,
        rows: NDArray[np.int32],
        domain: NDArray[np.uint8],
        ranks: NDArray[np.float64],
        widen_nodes: int,
        seconds: float,
        check_seconds: float,
        n_threads: int,
    ) -> tuple[
        NDArray[np.uint8],
        NDArray[np.uint8],
        NDArray[np.uint8],
        NDArray[np.int32],
        NDArray[np.uint8],
    ]:
        """Find a reason for the class of each row.

        Returns which columns are kept (n, n_columns), the box (n, n_atoms), which columns have a
        witness (n, n_columns), these witnesses (n_witnesses, n_columns), and whether the columns
        are minimal, the box cannot be extended, and a proof of it was checked (n, 3).
        """

def tree_splits(
    values: NDArray[np.float32],
    target: NDArray[np.int32],
    weight: NDArray[np.float32],
    n_splits: int,
) -> NDArray[np.float64]:
    """Return the first splits of a tree on one column, grown best first by the Gini impurity."""

def grow_tree(
    codes: NDArray[np.uint8],
    rows: NDArray[np.int32],
    pulls: NDArray[np.int32],
    holds: NDArray[np.int32],
    tests: NDArray[np.uint8],
    signs: NDArray[np.int8],
    n_leaves: int,
    least_rows: int,
    penalty: float,
    n_threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Grow a tree best first; return the feature, code, left and right child of each node."""

def find_leaves(
    codes: NDArray[np.uint8],
    feature: NDArray[np.int32],
    code: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    n_threads: int,
) -> NDArray[np.int32]:
    """Return the leaf of each row of coded columns (n_columns, n_rows)."""
