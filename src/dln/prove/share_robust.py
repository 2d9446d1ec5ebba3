"""How much of the box of tolerances around each row has another class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dln.core.circuit import Circuit, check_is_circuit
from dln.prove.clock import Clock, check_time_limit
from dln.prove.robust import TolerantRows
from dln.prove.share import Share, ShareQuestion


def share_robust(
    circuit: Circuit,
    X: Any,
    tolerances: Mapping[str, float],
    *,
    free: Sequence[str] = (),
    time_limit: float | None = 10.0,
) -> list[Share]:
    """Find for each row how much of the box around it has another class.

    The box is that of `prove_robust`: numbers are uniform within the tolerances, columns that are
    `free` in the range of the training rows. So the share is the probability that random changes
    within the tolerances change the class.

    Parameters
    ----------
    circuit, X, tolerances, free
        As for `prove_robust`.
    time_limit
        Seconds for all rows together, after which shares have bounds; None for no limit.

    Examples
    --------
    >>> from dln import Above, Column, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "number"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
    ...     (0, 0), ("healthy", "ill"),
    ... )
    >>> [share.estimate for share in share_robust(circuit, [[40], [53.5]], {"age": 1})]
    [0.0, 0.25]
    """
    check_is_circuit(circuit, "share_robust")
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    rows = TolerantRows(circuit, X, tolerances, free)
    search = rows.search
    shares = []
    for row, winner in enumerate(rows.winners):
        others = [c for c in range(circuit.n_classes) if c != winner]
        cases = [(search.all_rows, [search.beats(other, winner)]) for other in others]
        question = ShareQuestion(search, rows.weights(row), (), cases)
        shares.append(question.of_box(clock.left))
    return shares
