"""Check networks before the kernel trains them, because the kernel checks nothing.

All networks of a population are checked together, on the arrays that hold them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.gates import GATES
from dln.core.literals import LiteralKind
from dln.train.compiled import check_engine
from dln.train.cuda.levels import network_of_gates
from dln.train.jobs import Job, check_job

Array = NDArray[Any]


def check_kind(job: Job) -> None:
    """Check the rows and options that jobs of a kind share."""
    check_job(job)
    n_rows = len(job.data.cells)
    parts = [job.data.target, job.data.weight, job.data.offset]
    if any(part is not None and len(part) != n_rows for part in parts):
        raise ValueError("cells, target, weight and offset differ in their number of rows")
    check_engine(job.options, "cuda")


def check_nothing_shared(jobs: Sequence[Job]) -> None:
    """Check that no two networks share an array that is trained."""
    parts = [part for job in jobs for part in job.network.parameters() if part.size]
    if len({part.ctypes.data for part in parts}) < len(parts):
        raise ValueError("two jobs share an array that is trained; give each job its own network")


def check_sizes(plans: Array, layers: Sequence[Sequence[int]]) -> None:
    """Check that the arrays of each network have the sizes in its plan."""
    gates, links = plans["n_gates"].astype(np.int64), plans["n_links"]
    weights = plans["n_weights"]
    votes = plans["n_classes"] * plans["n_rules"] + weights
    if np.any(plans["n_classes"] + weights < 1) or not _within(
        plans["n_choices"], 1, len(GATES) + 1
    ):
        raise ValueError("no class or no gate")
    if np.any(gates != [sum(sizes) for sizes in layers]):
        raise ValueError("the layers do not hold all gates")
    if np.any((links < 1) & (gates > 0)):
        raise ValueError("a gate needs at least one candidate link")
    expected = 2 * plans["n_literals"] + gates * (plans["n_choices"] + 2 * links) + votes
    if np.any(plans["n_parameters"] != expected):
        raise ValueError("the arrays of a network do not belong together")


def check_places(
    plans: Array, arrays: Mapping[str, Array], literal_layer: Array, furthest: NDArray[np.int64]
) -> None:
    """Check that all gates, columns, layers and wires exist, and that links point backwards."""
    if not _within(plans["choice"], 0, len(GATES)):
        raise ValueError("unknown gate")
    n_literals = plans["n_literals"]
    if not _within(arrays["literal_kind"], 0, len(LiteralKind)):
        raise ValueError("unknown kind of literal")
    if not _within(arrays["literal_column"], 0, np.repeat(plans["n_columns"], n_literals)):
        raise ValueError("a literal reads a column that does not exist")
    if not _within(literal_layer, 0, np.repeat(plans["n_layers"], n_literals)):
        raise ValueError("a literal belongs to a layer that does not exist")
    gates = np.arange(len(furthest)) - plans["gate"][network_of_gates(plans)]
    if np.any(arrays["link_wire"] < 0) or np.any(furthest >= gates):
        raise ValueError("a link does not point backwards")
    wires = n_literals + plans["n_gates"]
    if not _within(arrays["rule_wire"], 0, np.repeat(wires, plans["n_rules"])):
        raise ValueError("a rule reads a wire that does not exist")


def check_numbers(plans: Array, parameters: Array) -> None:
    """Check that parameters are finite, except masked ones."""
    ends = plans["parameter"] + plans["n_parameters"]
    starts = np.stack([plans[name] for name in _PARTS], axis=1)
    lengths = np.diff(np.column_stack([starts, ends]), axis=1)
    some = lengths.reshape(-1) > 0
    low, high = np.ones(starts.size), np.ones(starts.size)  # for an empty part: any valid number
    if some.any():
        low[some] = np.minimum.reduceat(parameters, starts.reshape(-1)[some])
        high[some] = np.maximum.reduceat(parameters, starts.reshape(-1)[some])
    # If a part contains NaN, so do its minimum and maximum, and comparisons with NaN are false.
    lows = dict(zip(_PARTS, low.reshape(-1, len(_PARTS)).T, strict=True))
    highs = dict(zip(_PARTS, high.reshape(-1, len(_PARTS)).T, strict=True))
    is_finite = {name: (lows[name] > -np.inf) & (highs[name] < np.inf) for name in _PARTS}
    if not np.all(is_finite["parameter"] & is_finite["slopes"] & (lows["slopes"] > 0)):
        raise ValueError("a cutoff or slope is not a finite number, or a slope is not positive")
    for name in ("gates", "links", "votes"):
        if not np.all(highs[name] < np.inf):
            raise ValueError(f"a {name[:-1]} logit is NaN or too large")
    for name, end, width, message in (
        ("gates", "links", "n_choices", "all functions of a gate are masked"),
        ("links", "votes", "n_links", "all candidate links of a gate are masked"),
    ):
        for plan in plans[lows[name] == -np.inf]:
            lists = parameters[plan[name] : plan[end]].reshape(-1, plan[width])
            if not (lists > -np.inf).any(axis=1).all():
                raise ValueError(message)


def check_weights(plans: Array, parameters: Array, limits: Array) -> None:
    """Check that the weights of networks that predict a number are within their limits."""
    counts = plans["n_weights"]
    starts = np.repeat(plans["votes"] - plans["limit"], counts)
    weights = parameters[starts + np.arange(counts.sum())]
    low, high = limits[: 2 * len(weights)].reshape(-1, 2).T
    if not np.all(np.isfinite(weights)):
        raise ValueError("a weight of a rule is not finite")
    if not np.all((low <= weights) & (weights <= high)):
        raise ValueError("a weight of a rule is beyond its limits")


_PARTS = ("parameter", "slopes", "gates", "links", "votes")
"""Fields of a plan: where the parts of the parameters start. The cutoffs come first."""


def _within(places: Array, low: int, end: int | Array) -> bool:
    """Return whether all values are at least `low` and below `end`."""
    if np.ndim(end) and np.size(end) == 0:  # arrays are not empty even if there are no values
        return True
    return bool(np.all(places >= low) and np.all(places < end))
