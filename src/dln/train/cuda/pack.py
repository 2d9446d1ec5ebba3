"""Jobs -> a population: plain arrays that hold all networks, one after the other.

Nothing here needs a card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.errors import OptionError
from dln.train.cuda.check import check_network
from dln.train.cuda.layout import PLAN, STATE, Sizes
from dln.train.cuda.numbers import first_states, jump_images
from dln.train.jobs import Job, check_job
from dln.train.options import Alternating, TrainOptions
from dln.train.schedule import NEVER, Schedule, make_schedule

Array = NDArray[Any]

MAX_SHUFFLES = 32
"""Epochs whose order is drawn at a time: one by each lane of a warp."""

SHUFFLE_ROOM = 2**28
"""Numbers, at most, that all orders drawn ahead may take."""

_PHASES = {"unified": 0, "epochs": 1, "batches": 2}


@dataclass(frozen=True)
class Population:
    """Networks with their rows, options and schedules, ready for the card.

    `arrays` holds what the kernel reads, by the name of its pool; `sizes` the length of the pools
    that it fills itself: parameters, gates, wires, epochs, classes, traces and shuffles.
    """

    jobs: Sequence[Job]
    schedules: list[Schedule]
    plans: Array
    states: Array
    arrays: dict[str, Array]
    sizes: dict[str, int]

    def sizes_of(self, network: int) -> Sizes:
        """Give what decides the memory of a network's block."""
        plan = self.plans[network]
        names = ("n_literals", "n_gates", "n_rules", "n_classes", "n_columns")
        return Sizes(*(int(plan[name]) for name in names))

    def work(self) -> NDArray[np.float64]:
        """Estimate how long each network takes for an epoch, in no particular unit."""
        plans = self.plans
        words = np.ceil(plans["n_rows"] / 32.0) + plans["n_batches"]
        gates = plans["n_gates"] * (2.0 * plans["n_links"] + plans["n_choices"] + 8.0)
        return np.asarray(words * (gates + plans["n_literals"] + 200.0))


def pack(jobs: Sequence[Job]) -> Population:
    """Check jobs and lay them out."""
    _check_nothing_shared(jobs)
    for job in jobs:
        check_job(job)
        check_network(job)
        _check_options(job.options)
    schedules = [make_schedule(job.options, job.network) for job in jobs]
    networks = [job.network for job in jobs]
    tables, valid = _Shelf(_table_key), _Shelf(id)
    for job in jobs:
        tables.add(job.data)
        valid.add(_valid_rows(job))
    levels = [_level_starts(job) for job in jobs]
    lengths = np.array([len(job.rows) for job in jobs], dtype=np.int64)
    distinct, which = np.unique(lengths, return_inverse=True)

    plans = np.zeros(len(jobs), dtype=PLAN)
    for name in ("n_literals", "n_gates"):
        plans[name] = [getattr(network, name) for network in networks]
    plans["n_parameters"] = [sum(p.size for p in network.parameters()) for network in networks]
    plans["n_links"] = [network.link_wires.shape[2] for network in networks]
    plans["n_choices"] = [len(network.gate_choices) for network in networks]
    plans["n_rules"] = [len(network.rule_wires) for network in networks]
    plans["n_classes"] = [len(network.vote_logits) for network in networks]
    plans["n_layers"] = [len(network.layers) for network in networks]
    plans["n_levels"] = [len(starts) - 1 for starts in levels]
    plans["n_columns"] = [job.data.cells.shape[1] for job in jobs]
    plans["n_rows"] = lengths
    plans["n_valid"] = [len(_valid_rows(job)) for job in jobs]
    plans["n_batches"] = [-(-len(job.rows) // job.options.batch_size) for job in jobs]
    ahead = max(1, min(MAX_SHUFFLES, SHUFFLE_ROOM // max(1, int(lengths.sum()))))
    plans["n_shuffles"] = [max(1, min(ahead, job.options.epochs)) for job in jobs]
    for plan, job, schedule in zip(plans, jobs, schedules, strict=True):
        _fill_options(plan, job.options, schedule)
        plan["choice"][: len(job.network.gate_choices)] = job.network.gate_choices
        lowest = job.network.rule_wires.min(initial=job.network.n_literals)
        plan["rules_on_literals"] = lowest < job.network.n_literals

    sizes = {}
    for offset, length in {
        "parameter": plans["n_parameters"],
        "link": 2 * plans["n_gates"] * plans["n_links"],
        "literal": plans["n_literals"],
        "gate": plans["n_gates"],
        "wire": plans["n_literals"] + plans["n_gates"],
        "rule": plans["n_rules"],
        "layer": plans["n_layers"] + 1,
        "level": plans["n_levels"] + 1,
        "epoch": np.maximum(1, plans["epochs"]),
        "row": 2 * lengths,
        "batch": plans["n_batches"],
        "count": plans["n_classes"],
        "trace": count_records(plans) * plans["n_parameters"],
        "shuffle": lengths * plans["n_shuffles"],
    }.items():
        ends = np.cumsum(length, dtype=np.int64)
        plans[offset] = ends - length
        sizes[offset] = int(ends[-1]) if len(ends) else 0
    plans["slopes"] = plans["parameter"] + plans["n_literals"]
    plans["gates"] = plans["slopes"] + plans["n_literals"]
    plans["links"] = plans["gates"] + plans["n_gates"] * plans["n_choices"]
    plans["votes"] = plans["links"] + 2 * plans["n_gates"] * plans["n_links"]
    plans["valid"] = valid.starts([len(rows) for rows in valid.items])
    plans["table"] = tables.starts([len(data.target) for data in tables.items])
    plans["cells"] = tables.starts([data.cells.size for data in tables.items])
    plans["jump"] = which * 1024

    arrays = {
        "parameters": _flat([p for network in networks for p in network.parameters()], np.float32),
        "literal_column": _flat([n.literal_column for n in networks]),
        "literal_kind": _flat([n.literal_kind for n in networks]),
        "literal_freeze": _flat(
            [s.layer_freeze[n.literal_layer] for n, s in zip(networks, schedules, strict=True)]
        ),
        "gate_freeze": _flat(
            [np.repeat(s.layer_freeze, n.layers) for n, s in zip(networks, schedules, strict=True)]
        ),
        "link_wire": _flat([n.link_wires for n in networks]),
        "rule_wire": _flat([n.rule_wires for n in networks]),
        "layer_start": _flat([np.cumsum((0, *n.layers)) for n in networks]),
        "layer_prune": _flat([np.append(s.layer_prune, 0) for s in schedules]),
        "level_start": _flat(levels),
        "temperature": _flat([s.temperatures for s in schedules], np.float32),
        "order": _flat([np.tile(job.rows, 2) for job in jobs]),
        "valid": _flat(valid.items),
        "cells": _flat([data.cells for data in tables.items], np.float32),
        "target": _flat([data.target for data in tables.items]),
        "weight": _flat([data.weight for data in tables.items], np.float32),
        "jump": _flat([jump_images(int(n) - 1) for n in distinct], np.uint64),
    }
    states = np.zeros(len(jobs), dtype=STATE)
    states["random"] = first_states([job.options.seed for job in jobs])
    states["best"] = states["best_epoch"] = -1
    return Population(jobs, schedules, plans, states, arrays, sizes)


def sort_readers(xp: Any, wires: Any, plans: Array, lengths: Array) -> tuple[Any, Any, Any]:
    """List for every wire of all networks the places that name it.

    Parameters
    ----------
    xp
        The module to compute with: NumPy, or CuPy on the card.
    wires
        What the places of all networks name, numbered in each network from 0.
    lengths
        How many places each network has.

    Returns
    -------
    places, networks, starts
        Places, numbered in each network from 0, in the order of the wires that they name; the
        network of each; and where each wire's begin, one more than there are wires.
    """
    repeats = lengths.tolist()
    networks = xp.repeat(xp.arange(len(plans), dtype=xp.int32), repeats)
    numbers = wires + xp.asarray(plans["wire"])[networks]
    order = xp.argsort(numbers, kind="stable")
    n_wires = int((plans["n_literals"] + plans["n_gates"]).sum())
    starts = xp.searchsorted(numbers[order], xp.arange(n_wires + 1)).astype(xp.int32)
    firsts = xp.asarray(np.cumsum(lengths) - lengths)
    # Sorting keeps networks in their order: the network of a place is the same before and after.
    places = (order - firsts[networks]).astype(xp.int32)
    return places, networks, starts


def record_epochs(every: int, epochs_done: int, n_records: int) -> list[int]:
    """Give the epochs done at each record of a trace."""
    epochs = list(range(0, epochs_done + 1, every)) if every else []
    return epochs if len(epochs) == n_records else [*epochs, epochs_done]


def _fill_options(plan: Any, options: TrainOptions, schedule: Schedule) -> None:
    for name in ("epochs", "eval_every", "patience", "keep_best", "trace_every"):
        plan[name] = getattr(options, name)
    for name in ("rate", "final_rate", "threshold_rate", "tau", "grad_factor"):
        plan[name] = getattr(options, name)
    if isinstance(options.phases, Alternating):
        plan["phases"], plan["phase_epochs"] = _PHASES["epochs"], options.phases.epochs
    else:
        plan["phases"], plan["phase_epochs"] = _PHASES[options.phases], 1
    plan["mixture"] = options.gate_gradient == "mixture"
    plan["vote_limit"] = np.log(options.vote_threshold / (1 - options.vote_threshold))
    plan["first_freeze"] = schedule.layer_freeze.min(initial=NEVER)
    for name in ("vote_freeze", "prune_first", "prune_last", "convergence"):
        plan[name] = getattr(schedule, name)


def count_records(plans: Array) -> NDArray[np.int64]:
    """Count the records that a trace may have."""
    every = plans["trace_every"].astype(np.int64)
    return np.where(every > 0, plans["epochs"] // np.maximum(1, every) + 2, 0)


def _level_starts(job: Job) -> Array:
    """Cut the gates into runs that read only what stands before them.

    The layers are such runs in every network that is built here; any other order is cut anew.
    """
    network = job.network
    furthest = network.link_wires.max(axis=(1, 2), initial=0) - network.n_literals
    starts = np.cumsum((0, *network.layers))
    if np.all(furthest < np.repeat(starts[:-1], network.layers)):
        return np.unique(starts)
    cuts = [0]
    for gate, reads in enumerate(furthest.tolist()):
        if reads >= cuts[-1]:
            cuts.append(gate)
    return np.array([*cuts, network.n_gates])


class _Shelf:
    """Arrays that several jobs share, each kept once."""

    def __init__(self, key: Callable[[Any], Any]) -> None:
        self._key = key
        self._places: dict[Any, int] = {}
        self._which: list[int] = []
        self.items: list[Any] = []

    def add(self, item: Any) -> None:
        """Keep what the next job needs."""
        key = self._key(item)
        if key not in self._places:
            self._places[key] = len(self.items)
            self.items.append(item)
        self._which.append(self._places[key])

    def starts(self, lengths: list[int]) -> Array:
        """Give for every job where its item starts, the items one after the other."""
        return np.cumsum([0, *lengths], dtype=np.int64)[self._which]


def _table_key(data: Any) -> tuple[int, ...]:
    return id(data.cells), id(data.target), id(data.weight)


_NO_ROWS = np.empty(0, dtype=np.int64)


def _valid_rows(job: Job) -> Array:
    return _NO_ROWS if job.valid_rows is None else job.valid_rows


def _flat(parts: Sequence[Array], kind: Any = np.int32) -> Array:
    """Join arrays; one number at least, so that there is something to point at."""
    flat = [np.asarray(part, dtype=kind).reshape(-1) for part in parts]
    return np.concatenate([*flat, np.zeros(1 if sum(map(len, flat)) == 0 else 0, dtype=kind)])


def _check_options(options: TrainOptions) -> None:
    if options.relaxation != "straight-through":
        raise OptionError(
            f"relaxation is {options.relaxation!r}, but the cuda engine trains the hard circuit "
            '("straight-through") alone; use engine="torch" for the others'
        )


def _check_nothing_shared(jobs: Sequence[Job]) -> None:
    parts = [part for job in jobs for part in job.network.parameters() if part.size]
    if len({part.ctypes.data for part in parts}) < len(parts):
        raise ValueError("two jobs share an array that is trained; give each a network of its own")
