"""The memory of a population on the GPU: uploads, working memory and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.errors import DeviceMemoryError
from dln.train.cuda.layout import BATCH, MAX_WORDS, POOLS, Sizes, Variant, memory_of
from dln.train.cuda.pack import Population, count_records, sort_readers

Floats = NDArray[np.float32]

_FILLED = {
    "parameter": ("gradient", "best"),
    "gate": ("mixture", "pulls", "gate_pruned"),
    "epoch": ("history",),
    "batch": ("batches",),
    "count": ("right", "total"),
    "trace": ("trace",),
    "shuffle": ("shuffle",),
}
"""The pools that the kernel fills, and what they have an element for."""

_WIDTH = {"mixture": 4, "pulls": 4 * MAX_WORDS, "history": 4, "batches": BATCH.itemsize // 4}
"""Number of 4-byte values per element of a pool, if it is not 1."""

_INTEGERS = ("gate_pruned", "right", "total", "shuffle")
MAX_LINKS = 2**31 - 2**24
"""Candidate links are numbered in 32 bits. Some room is left, because a group of lanes may step
past the last reader of its wire while its neighbours are not done."""

_SPARE = 2**28
"""Bytes left free for the context, the code and sorting."""


class GpuMemory:
    """The pools of a population on one GPU."""

    def __init__(self, cupy: Any, population: Population) -> None:
        self._cupy = cupy
        self._population = population
        kept = cupy.get_default_memory_pool().free_bytes()  # cached by CuPy
        check_room(population, int(cupy.cuda.Device().mem_info[0] + kept))
        with explain_full_memory(cupy, population):
            self.pools = self._upload()

    def pass_addresses(self, module: Any) -> None:
        """Pass the addresses of the pools to a compiled kernel."""
        addresses = np.array([self.pools[name].data.ptr for name in POOLS], dtype=np.uint64)
        place = module.get_global("network_pools")
        self._cupy.ndarray(len(addresses), self._cupy.uint64, memptr=place).set(addresses)

    def _upload(self) -> dict[str, Any]:
        cupy, population = self._cupy, self._population
        pools = {name: cupy.asarray(array) for name, array in population.arrays.items()}
        pools["plans"] = _as_bytes(cupy, population.plans)
        pools["states"] = _as_bytes(cupy, population.states)
        values = pools["parameters"]  # each is stored with Adam's two moments and a probability
        pools["parameters"] = cupy.zeros((len(values), 4), dtype=cupy.float32)
        pools["parameters"][:, 0] = values
        for offset, names in _FILLED.items():
            for name in names:
                length = max(1, population.sizes[offset]) * _WIDTH.get(name, 1)
                kind = cupy.int32 if name in _INTEGERS else cupy.float32
                pools[name] = cupy.zeros(length, dtype=kind)
        plans = population.plans
        links = 2 * plans["n_gates"].astype(np.int64) * plans["n_links"]
        slots, networks, starts = sort_readers(
            cupy, pools["link_wire"][: links.sum()], plans, links
        )
        pools["reader_slot"], pools["reader_start"] = slots, starts
        pools["reader_input"] = slots // cupy.asarray(plans["n_links"])[networks]
        rules = plans["n_rules"].astype(np.int64)
        places, _, starts = sort_readers(cupy, pools["rule_wire"][: rules.sum()], plans, rules)
        pools["rule_reader"], pools["rule_start"] = places, starts
        return pools

    def states(self) -> Any:
        """Fetch the progress of all networks."""
        return self.pools["states"].get().view(self._population.states.dtype)

    def histories(self, states: Any) -> list[Floats]:
        """Fetch the histories of all networks so far."""
        flat = self.pools["history"].get().reshape(-1, 4)
        starts, done = self._population.plans["epoch"], states["epoch"]
        return [flat[a : a + n] for a, n in zip(starts.tolist(), done.tolist(), strict=True)]

    def write_parameters(self, states: Any) -> bool:
        """Write the parameters to the networks: those of the best evaluation if `keep_best`.

        Returns whether all of them are finite.
        """
        plans = self._population.plans
        last, best = self.pools["parameters"][:, 0].get(), self.pools["best"].get()
        is_best = (plans["keep_best"] > 0) & (states["best_epoch"] >= 0)
        places = zip(plans["parameter"].tolist(), is_best.tolist(), strict=True)
        for job, (place, takes_best) in zip(self._population.jobs, places, strict=True):
            flat = best if takes_best else last
            for part in job.network.parameters():
                part[...] = flat[place : place + part.size].reshape(part.shape)
                place += part.size
        return not (np.isnan(last).any() or np.isnan(best).any())

    def records(self, network: int, n_records: int) -> Floats:
        """Fetch a network's trace: (records, parameters)."""
        plan = self._population.plans[network]
        start, width = int(plan["trace"]), int(plan["n_parameters"])
        part = self.pools["trace"][start : start + n_records * width].get()
        return np.asarray(part).reshape(n_records, width)


@contextmanager
def explain_full_memory(cupy: Any, population: Population) -> Iterator[None]:
    """Raise `DeviceMemoryError` with a clear message if the GPU runs out of memory."""
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise DeviceMemoryError(
            f"the GPU does not have enough memory for {len(population.jobs)} networks ({error}); "
            "train fewer of them at a time"
        ) from None


def bytes_of(population: Population) -> NDArray[np.float64]:
    """Return the bytes that each network needs on the GPU, without tables."""
    plans = population.plans
    parameters = plans["n_parameters"].astype(np.float64)
    links = 2.0 * plans["n_gates"] * plans["n_links"]
    wires = plans["n_literals"] + plans["n_gates"]
    # While links are sorted, several copies of them are in memory.
    return np.asarray(
        4 * parameters * (7 + count_records(plans))
        + 60 * links
        + 100 * wires
        + 20.0 * plans["epochs"]
        + 4.0 * plans["n_rows"] * (2 + plans["n_shuffles"])
        + float(BATCH.itemsize) * plans["n_batches"]
        + 1_000
    )


def check_room(population: Population, free: int) -> None:
    """Check that a population fits into the GPU's memory; the error says how many would fit."""
    links = np.cumsum(2.0 * population.plans["n_gates"] * population.plans["n_links"])
    if len(links) and links[-1] >= MAX_LINKS:
        fits = int(np.searchsorted(links, MAX_LINKS))
        raise DeviceMemoryError(
            f"{len(links)} networks have {links[-1]:.0f} candidate links, more than a call can "
            f"number; train the first {fits} and then the others"
        )
    tables = sum(
        population.arrays[name].nbytes for name in ("cells", "target", "weight", "offset", "valid")
    )
    ends = np.cumsum(bytes_of(population)) + tables + _SPARE
    if len(ends) and ends[-1] > free:
        fits = int(np.searchsorted(ends, free, side="right"))
        raise DeviceMemoryError(
            f"{len(ends)} networks need {ends[-1] / 2**30:.1f} GiB, but the GPU has "
            f"{free / 2**30:.1f} GiB free; train the first {fits} and then the others"
        )


def memory_of_any(sizes: Sequence[Sizes], variant: Variant) -> tuple[int, int]:
    """Return the shared and the global memory that a block needs for the largest of these."""
    needs = [memory_of(some, variant) for some in sizes]
    return max(shared for shared, _ in needs), max(far for _, far in needs)


def _as_bytes(cupy: Any, records: Any) -> Any:
    return cupy.asarray(records.view(np.uint8).reshape(-1))
