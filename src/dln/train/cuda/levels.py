"""Split the gates of networks into levels: runs of gates that read only earlier levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.train.cuda.distinct import Distinct
from dln.train.jobs import Job

Array = NDArray[Any]


def network_of_gates(plans: Array) -> NDArray[np.intp]:
    """Return the number of each gate's network, for the gates of all networks."""
    return np.repeat(np.arange(len(plans)), plans["n_gates"])


def furthest_reads(link_wire: Array, plans: Array) -> NDArray[np.int64]:
    """Return the last gate that each gate of all networks may read; negative if none."""
    n_gates = plans["n_gates"]
    if n_gates.sum() == 0:
        return np.empty(0, dtype=np.int64)
    widths = np.repeat(2 * plans["n_links"].astype(np.int64), n_gates)
    furthest = np.maximum.reduceat(link_wire, np.cumsum(widths) - widths)
    reads: NDArray[np.int64] = furthest - np.repeat(plans["n_literals"], n_gates).astype(np.int64)
    return reads


def find_levels(kinds: Distinct[Job], plans: Array, furthest: NDArray[np.int64]) -> list[Array]:
    """Return where the levels of each network start, and where the last one ends.

    In networks made by dln the layers are levels. Any other order of gates works too.
    """
    starts = [np.cumsum((0, *job.network.layers)) for job in kinds.items]
    levels = [np.unique(some) for some in starts]
    layers = kinds.join(
        [
            np.repeat(some[:-1], job.network.layers)
            for some, job in zip(starts, kinds.items, strict=True)
        ]
    )
    found = [levels[kind] for kind in kinds.which.tolist()]
    odd = furthest >= layers[: len(furthest)]
    for network in np.unique(network_of_gates(plans)[odd]).tolist():
        begin, n_gates = int(plans["gate"][network]), int(plans["n_gates"][network])
        found[network] = _cut(furthest[begin : begin + n_gates])
    return found


def _cut(furthest: NDArray[np.int64]) -> Array:
    cuts = [0]
    for gate, reads in enumerate(furthest.tolist()):
        if reads >= cuts[-1]:
            cuts.append(gate)
    return np.array([*cuts, len(furthest)])
