"""Jobs -> a population: plain arrays that hold all networks, one after the other.

This module does not require a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.literals import LiteralKind
from dln.train.compiled import number_options
from dln.train.cuda.check import (
    check_kind,
    check_nothing_shared,
    check_numbers,
    check_places,
    check_sizes,
    check_weights,
)
from dln.train.cuda.distinct import Distinct, flat
from dln.train.cuda.layout import PLAN, STATE, Sizes
from dln.train.cuda.levels import find_levels, furthest_reads
from dln.train.cuda.random_states import first_states, jump_images
from dln.train.jobs import Job, TrainingRows
from dln.train.options import count_batches
from dln.train.schedule import NEVER, Schedule, make_schedule

Array = NDArray[Any]

MAX_SHUFFLES = 32
"""Number of epochs whose orders are drawn at once: one by each lane of a warp."""

SHUFFLE_ROOM = 2**28
"""Maximum size of all orders that are drawn ahead."""

_SIZES = ("n_literals", "n_gates", "n_rules", "n_classes", "n_columns", "n_weights")


@dataclass(frozen=True)
class Population:
    """Networks with their rows, options and schedules, ready for the GPU.

    `arrays` has the arrays that the kernel reads, by the name of the pool. `sizes` has the lengths
    of the pools that it fills: parameters, gates, wires, epochs, classes, traces and shuffles.
    """

    jobs: Sequence[Job]
    schedules: list[Schedule]
    plans: Array
    states: Array
    arrays: dict[str, Array]
    sizes: dict[str, int]

    def distinct_sizes(self) -> tuple[list[Sizes], NDArray[np.intp]]:
        """Return the distinct sizes of networks, and the index of each network's size."""
        columns = np.stack([self.plans[name] for name in _SIZES], axis=1)
        distinct, which = np.unique(columns, axis=0, return_inverse=True)
        return [Sizes(*row) for row in distinct.tolist()], which.reshape(-1)

    def work(self) -> NDArray[np.float64]:
        """Estimate the time of an epoch for each network, in arbitrary units."""
        plans = self.plans
        words = np.ceil(plans["n_rows"] / 32.0) + plans["n_batches"]
        gates = plans["n_gates"] * (2.0 * plans["n_links"] + plans["n_choices"] + 8.0)
        return np.asarray(words * (gates + plans["n_literals"] + 200.0))


@dataclass(frozen=True)
class _Shared:
    """What jobs share: kinds of jobs with their schedules, tables and validation rows."""

    kinds: Distinct[Job]
    schedules: list[Schedule]
    tables: Distinct[TrainingRows]
    valid: Distinct[NDArray[np.int64]]


def pack(jobs: Sequence[Job]) -> Population:
    """Check jobs and convert them to a population.

    What jobs share is processed once, and the rest for all networks together, so thousands of
    networks take a fraction of a second.
    """
    check_nothing_shared(jobs)
    shared = _find_shared(jobs)
    plans = _make_plans(jobs, shared)
    check_sizes(plans, [job.network.layers for job in jobs])
    sizes = _place_networks(plans)
    _place_shared(plans, shared)
    arrays = _network_arrays(jobs) | _shared_arrays(plans, shared)

    literal_layer = flat([job.network.literal_layer for job in jobs])
    furthest = furthest_reads(arrays["link_wire"], plans)
    check_places(plans, arrays, literal_layer, furthest)
    check_numbers(plans, arrays["parameters"])
    check_weights(plans, arrays["parameters"], arrays["limits"])
    levels = find_levels(shared.kinds, plans, furthest)
    plans["n_levels"] = [len(starts) - 1 for starts in levels]
    sizes |= _place(plans, {"level": plans["n_levels"] + 1})
    arrays["level_start"] = flat(levels)
    n_literals = sizes["literal"]
    arrays["literal_freeze"] = _literal_freeze(
        plans, shared, literal_layer[:n_literals], arrays["literal_kind"][:n_literals]
    )
    schedules = [shared.schedules[kind] for kind in shared.kinds.which.tolist()]
    return Population(jobs, schedules, plans, _make_states(plans), arrays, sizes)


def _find_shared(jobs: Sequence[Job]) -> _Shared:
    kinds = Distinct(jobs, _kind_of)
    for job in kinds.items:
        check_kind(job)
    return _Shared(
        kinds,
        [make_schedule(job.options, job.network) for job in kinds.items],
        Distinct([job.data for job in jobs], _table_key),
        Distinct([_NO_ROWS if job.valid_rows is None else job.valid_rows for job in jobs], id),
    )


def _make_plans(jobs: Sequence[Job], shared: _Shared) -> Array:
    """Write the sizes and options of each network."""
    kinds, networks = shared.kinds, [job.network for job in jobs]
    plans = np.zeros(len(kinds.items), dtype=PLAN)
    for plan, job, schedule in zip(plans, kinds.items, shared.schedules, strict=True):
        _fill_options(plan, job, schedule)
        plan["n_layers"] = len(job.network.layers)
        choices = job.network.gate_choices[: len(plan["choice"])]
        plan["n_choices"] = len(job.network.gate_choices)
        plan["choice"][: len(choices)] = choices
    plans = plans[kinds.which]
    plans["seed"] = [job.options.seed for job in jobs]
    lengths = np.array([len(job.rows) for job in jobs], dtype=np.int64)
    for name in ("n_literals", "n_gates"):
        plans[name] = [getattr(network, name) for network in networks]
    plans["n_parameters"] = [sum(p.size for p in network.parameters()) for network in networks]
    plans["n_links"] = [network.link_wires.shape[2] for network in networks]
    plans["n_rules"] = [len(network.rule_wires) for network in networks]
    plans["n_classes"] = [len(network.vote_logits) for network in networks]
    plans["n_weights"] = [len(network.weights) for network in networks]
    plans["n_columns"] = shared.tables.spread([x.cells.shape[1] for x in shared.tables.items])
    plans["n_rows"] = lengths
    plans["n_valid"] = shared.valid.spread([len(rows) for rows in shared.valid.items])
    plans["n_batches"] = kinds.spread(
        [count_batches(job.options, len(job.rows)) for job in kinds.items]
    )
    ahead = max(1, min(MAX_SHUFFLES, SHUFFLE_ROOM // max(1, int(lengths.sum()))))
    plans["n_shuffles"] = np.minimum(plans["epochs"], ahead)
    lowest = [network.rule_wires.min(initial=network.n_literals) for network in networks]
    plans["rules_on_literals"] = lowest < plans["n_literals"]
    return plans


def _place_networks(plans: Array) -> dict[str, int]:
    """Write where each network starts in the pools, and return the lengths of the pools."""
    lengths = plans["n_rows"].astype(np.int64)
    sizes = _place(
        plans,
        {
            "parameter": plans["n_parameters"],
            "link": 2 * plans["n_gates"] * plans["n_links"],
            "literal": plans["n_literals"],
            "gate": plans["n_gates"],
            "wire": plans["n_literals"] + plans["n_gates"],
            "rule": plans["n_rules"],
            "limit": plans["n_weights"],
            "layer": plans["n_layers"] + 1,
            "epoch": plans["epochs"],
            "row": 2 * lengths,
            "batch": plans["n_batches"],
            "count": plans["n_classes"],
            "trace": count_records(plans) * plans["n_parameters"],
            "shuffle": lengths * plans["n_shuffles"],
        },
    )
    plans["slopes"] = plans["parameter"] + plans["n_literals"]
    plans["gates"] = plans["slopes"] + plans["n_literals"]
    plans["links"] = plans["gates"] + plans["n_gates"] * plans["n_choices"]
    plans["votes"] = plans["links"] + 2 * plans["n_gates"] * plans["n_links"]
    return sizes


def _place_shared(plans: Array, shared: _Shared) -> None:
    """Write where each network finds the data that it shares with others."""
    tables, valid = shared.tables, shared.valid
    plans["valid"] = valid.starts([len(rows) for rows in valid.items])
    plans["table"] = tables.starts([len(data.target) for data in tables.items])
    plans["cells"] = tables.starts([data.cells.size for data in tables.items])
    offsets = tables.starts([_offset_of(data).size for data in tables.items])
    has_offset = tables.spread([data.offset is not None for data in tables.items])
    plans["offset"] = np.where(has_offset, offsets, -1)
    plans["jump"] = np.unique(plans["n_rows"], return_inverse=True)[1].reshape(-1) * 1024


def _network_arrays(jobs: Sequence[Job]) -> dict[str, Array]:
    networks = [job.network for job in jobs]
    return {
        "parameters": flat([p for network in networks for p in network.parameters()], np.float32),
        "literal_column": flat([network.literal_column for network in networks]),
        "literal_kind": flat([network.literal_kind for network in networks]),
        "link_wire": flat([network.link_wires for network in networks]),
        "rule_wire": flat([network.rule_wires for network in networks]),
        "limits": flat([network.weight_limits.T for network in networks], np.float32),
        "order": flat([rows for job in jobs for rows in (job.rows, job.rows)]),
    }


def _shared_arrays(plans: Array, shared: _Shared) -> dict[str, Array]:
    kinds, tables = shared.kinds, shared.tables.items
    of_kinds = list(zip(shared.schedules, kinds.items, strict=True))
    return {
        "layer_start": kinds.join([np.cumsum((0, *job.network.layers)) for job in kinds.items]),
        "layer_prune": kinds.join([np.append(s.layer_prune, 0) for s in shared.schedules]),
        "gate_freeze": kinds.join(
            [np.repeat(s.layer_freeze, job.network.layers) for s, job in of_kinds]
        ),
        "temperature": kinds.join([s.temperatures for s in shared.schedules], np.float32),
        "valid": flat(shared.valid.items),
        "cells": flat([data.cells for data in tables], np.float32),
        # Classes and numbers share an array: a number is stored as its bits.
        "target": flat([data.target.view(np.int32) for data in tables]),
        "offset": flat([_offset_of(data) for data in tables], np.float32),
        "weight": flat([data.weight for data in tables], np.float32),
        "jump": flat([jump_images(int(n) - 1) for n in np.unique(plans["n_rows"])], np.uint64),
    }


def _literal_freeze(
    plans: Array, shared: _Shared, literal_layer: Array, literal_kind: Array
) -> Array:
    """Return the epoch in which each literal freezes: that of its layer for a threshold, else 0."""
    freeze = shared.kinds.join([np.append(s.layer_freeze, 0) for s in shared.schedules])
    own = np.repeat(plans["layer"], plans["n_literals"]) + literal_layer
    return flat([np.where(literal_kind == LiteralKind.ABOVE, freeze[own], 0)])


def _make_states(plans: Array) -> Array:
    states = np.zeros(len(plans), dtype=STATE)
    states["random"] = first_states(plans["seed"])
    states["best"], states["best_epoch"] = -np.inf, -1
    return states


def _kind_of(job: Job) -> tuple[Any, ...]:
    """Return everything that determines a plan, except the network's arrays and its seed."""
    network, rows = job.network, (job.rows, job.valid_rows)
    options = [value for name, value in vars(job.options).items() if name != "seed"]
    shape = (network.layers, network.gate_choices.tobytes(), len(network.vote_logits))
    head = (network.vote_threshold, job.loss)
    return (*options, *shape, *head, *_table_key(job.data), *map(id, rows))


def _table_key(data: TrainingRows) -> tuple[int, ...]:
    return id(data.cells), id(data.target), id(data.weight), id(data.offset)


def _offset_of(data: TrainingRows) -> NDArray[np.float32]:
    return np.empty(0, np.float32) if data.offset is None else data.offset


_NO_ROWS = np.empty(0, dtype=np.int64)


def _place(plans: Array, lengths: Mapping[str, Array]) -> dict[str, int]:
    """Write where each network starts, given its lengths, and return the lengths of the pools."""
    sizes = {}
    for offset, length in lengths.items():
        ends = np.cumsum(length, dtype=np.int64)
        plans[offset] = ends - length
        sizes[offset] = int(ends[-1]) if len(ends) else 0
    return sizes


def sort_readers(xp: Any, wires: Any, plans: Array, lengths: Array) -> tuple[Any, Any, Any]:
    """List the readers of each wire of all networks, that is, the places that name it.

    Parameters
    ----------
    xp
        The module to compute with: NumPy, or CuPy on the GPU.
    wires
        The wire that each place of all networks names, numbered from 0 in each network.
    lengths
        Number of places of each network.

    Returns
    -------
    places, networks, starts
        Places, numbered from 0 in each network, sorted by the wire that they name; the network of
        each place; and where the places of each wire start, with the end as last element.
    """
    repeats = lengths.tolist()
    networks = xp.repeat(xp.arange(len(plans), dtype=xp.int32), repeats)
    numbers = wires + xp.asarray(plans["wire"])[networks]
    order = xp.argsort(numbers, kind="stable")
    n_wires = int((plans["n_literals"] + plans["n_gates"]).sum())
    starts = xp.searchsorted(numbers[order], xp.arange(n_wires + 1)).astype(xp.int32)
    firsts = xp.asarray(np.cumsum(lengths) - lengths)
    # Sorting keeps the order of networks, so the network of a place is the same before and after.
    places = (order - firsts[networks]).astype(xp.int32)
    return places, networks, starts


def record_epochs(every: int, epochs_done: int, n_records: int) -> list[int]:
    """Return the finished epochs at each record of a trace."""
    epochs = list(range(0, epochs_done + 1, every)) if every else []
    return epochs if len(epochs) == n_records else [*epochs, epochs_done]


def _fill_options(plan: Any, job: Job, schedule: Schedule) -> None:
    for name, value in number_options(job).items():
        plan[name] = value
    plan["first_freeze"] = schedule.layer_freeze.min(initial=NEVER)
    for name in ("vote_freeze", "prune_first", "prune_last", "convergence"):
        plan[name] = getattr(schedule, name)


def count_records(plans: Array) -> NDArray[np.int64]:
    """Return the maximum number of records of a trace."""
    every = plans["trace_every"].astype(np.int64)
    return np.where(every > 0, plans["epochs"] // np.maximum(1, every) + 2, 0)
