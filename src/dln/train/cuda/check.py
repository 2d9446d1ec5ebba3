"""Refuse networks that the kernel, which checks nothing, could not train.

Thousands of them are checked together, on the arrays that hold them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.encode.bits import MISSING
from dln.gates import GATES
from dln.train.compiled import check_straight_through
from dln.train.cuda.levels import network_of_gates
from dln.train.jobs import Job, check_job

Array = NDArray[Any]


def check_kind(job: Job) -> None:
    """Check what jobs of a kind have in common: rows and options."""
    check_job(job)
    n_rows = len(job.data.cells)
    if not len(job.data.target) == len(job.data.weight) == n_rows:
        raise ValueError("cells, target and weight differ in their number of rows")
    check_straight_through(job.options, "cuda")


def check_nothing_shared(jobs: Sequence[Job]) -> None:
    """Check that no array would be trained twice at once."""
    parts = [part for job in jobs for part in job.network.parameters() if part.size]
    if len({part.ctypes.data for part in parts}) < len(parts):
        raise ValueError("two jobs share an array that is trained; give each job its own network")


def check_sizes(plans: Array, layers: Sequence[Sequence[int]]) -> None:
    """Check that the arrays of each network have the sizes that its plan says."""
    gates, links = plans["n_gates"].astype(np.int64), plans["n_links"]
    votes = plans["n_classes"] * plans["n_rules"]
    if np.any(plans["n_classes"] < 1) or not _within(plans["n_choices"], 1, len(GATES) + 1):
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
    """Check that everything named is there: gates, columns, layers and wires that come earlier."""
    if not _within(plans["choice"], 0, len(GATES)):
        raise ValueError("unknown gate")
    n_literals = plans["n_literals"]
    if not _within(arrays["literal_kind"], 0, MISSING + 1):
        raise ValueError("unknown kind of literal")
    if not _within(arrays["literal_column"], 0, np.repeat(plans["n_columns"], n_literals)):
        raise ValueError("a literal reads a column that is not there")
    if not _within(literal_layer, 0, np.repeat(plans["n_layers"], n_literals)):
        raise ValueError("a literal belongs to a layer that is not there")
    gates = np.arange(len(furthest)) - plans["gate"][network_of_gates(plans)]
    if np.any(arrays["link_wire"] < 0) or np.any(furthest >= gates):
        raise ValueError("a link does not point backwards")
    wires = n_literals + plans["n_gates"]
    if not _within(arrays["rule_wire"], 0, np.repeat(wires, plans["n_rules"])):
        raise ValueError("a rule reads a wire that is not there")


def check_numbers(plans: Array, parameters: Array) -> None:
    """Check that parameters are finite, but for what is masked."""
    ends = plans["parameter"] + plans["n_parameters"]
    starts = np.stack([plans[name] for name in _PARTS], axis=1)
    lengths = np.diff(np.column_stack([starts, ends]), axis=1)
    some = lengths.reshape(-1) > 0
    low, high = np.ones(starts.size), np.ones(starts.size)  # of what is not there: any sound number
    if some.any():
        low[some] = np.minimum.reduceat(parameters, starts.reshape(-1)[some])
        high[some] = np.maximum.reduceat(parameters, starts.reshape(-1)[some])
    # A part with a NaN has it for its least and its greatest, which compare as false.
    lows = dict(zip(_PARTS, low.reshape(-1, len(_PARTS)).T, strict=True))
    highs = dict(zip(_PARTS, high.reshape(-1, len(_PARTS)).T, strict=True))
    is_finite = {name: (lows[name] > -np.inf) & (highs[name] < np.inf) for name in _PARTS}
    if not np.all(is_finite["parameter"] & is_finite["slopes"] & (lows["slopes"] > 0)):
        raise ValueError("a cutoff or slope is not a finite number, or a slope is not positive")
    if not np.all(is_finite["gates"]):
        raise ValueError("a gate logit is not finite")
    if not np.all(highs["links"] < np.inf):
        raise ValueError("a link logit is NaN or too large")
    if not np.all(highs["votes"] < np.inf):
        raise ValueError("a vote logit is NaN or too large")
    for network in np.flatnonzero(lows["links"] == -np.inf):
        plan = plans[network]
        links = parameters[plan["links"] : plan["votes"]].reshape(-1, plan["n_links"])
        if not (links > -np.inf).any(axis=1).all():
            raise ValueError("all candidate links of a gate are masked")


_PARTS = ("parameter", "slopes", "gates", "links", "votes")
"""Where the parts of a network's parameters start, in a plan; the cutoffs are the first."""


def _within(places: Array, low: int, end: int | Array) -> bool:
    """Say whether all of these are from `low` on and before `end`."""
    if np.ndim(end) and np.size(end) == 0:  # there are no places, but for what is pointed at
        return True
    return bool(np.all(places >= low) and np.all(places < end))
