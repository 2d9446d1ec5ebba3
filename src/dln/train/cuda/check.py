"""Refuse networks that the kernel, which checks nothing, could not train."""

from __future__ import annotations

import numpy as np

from dln.encode.bits import MISSING
from dln.gates import GATES
from dln.train.jobs import Job
from dln.train.network import Ints, Network


def check_network(job: Job) -> None:
    """Check all that the kernel relies on: places that exist, numbers that are finite."""
    network, data = job.network, job.data
    n_rows, n_columns = data.cells.shape
    if not len(data.target) == len(data.weight) == n_rows:
        raise ValueError("cells, target and weight differ in their number of rows")
    if len(network.vote_logits) < 1 or not 1 <= len(network.gate_choices) <= len(GATES):
        raise ValueError("no class or no gate")
    if network.gate_choices.max() >= len(GATES):
        raise ValueError("unknown gate")
    if not np.isfinite(network.gate_logits).all():
        raise ValueError("a gate logit is not finite")
    if sum(network.layers) != network.n_gates:
        raise ValueError("the layers do not hold all gates")
    _check_literals(network, n_columns)
    _check_links(network)
    rules = network.rule_wires
    if not _within(rules, network.n_literals + network.n_gates):
        raise ValueError("a rule reads a wire that is not there")
    if not network.vote_logits.max(initial=-np.inf) < np.inf:  # NaN is no less than anything
        raise ValueError("a vote logit is NaN or too large")


def _check_literals(network: Network, n_columns: int) -> None:
    if network.literal_kind.max(initial=0) > MISSING:
        raise ValueError("unknown kind of literal")
    if not _within(network.literal_column, n_columns):
        raise ValueError("a literal reads a column that is not there")
    if not _within(network.literal_layer, len(network.layers)):
        raise ValueError("a literal belongs to a layer that is not there")
    is_finite = np.isfinite(network.cutoffs).all() and np.isfinite(network.slopes).all()
    if not is_finite or network.slopes.min(initial=1.0) <= 0:
        raise ValueError("a cutoff or slope is not a finite number, or a slope is not positive")


def _check_links(network: Network) -> None:
    wires, logits = network.link_wires, network.link_logits
    if network.n_gates == 0:
        return
    if wires.shape[2] < 1:
        raise ValueError("a gate needs at least one candidate link")
    furthest = wires.max(axis=(1, 2)) - network.n_literals
    if wires.min() < 0 or (furthest >= np.arange(network.n_gates)).any():
        raise ValueError("a link does not point backwards")
    if not logits.max() < np.inf:
        raise ValueError("a link logit is NaN or too large")
    if logits.min() == -np.inf and not (logits > -np.inf).any(axis=2).all():
        raise ValueError("all candidate links of a gate are masked")


def _within(places: Ints, end: int) -> bool:
    """Say whether all of these are from 0 on and before `end`."""
    return len(places) == 0 or bool(places.min() >= 0 and places.max() < end)
