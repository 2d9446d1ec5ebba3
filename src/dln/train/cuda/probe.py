"""The results of one step of the kernel: points, loss and gradients of one network.

For tests, which compare them with the other engines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.train.cuda.gpu import compile_kernel, find_gpu, import_cupy
from dln.train.cuda.layout import Variant
from dln.train.cuda.memory import GpuMemory, memory_of_any
from dln.train.cuda.pack import pack
from dln.train.jobs import Job
from dln.train.network import Network

_PHASES = {"gates": 0, "links": 1, "both": 2}


@dataclass(frozen=True)
class Probe:
    """The results of a step: points (rows, outputs), the loss, and the gradients as a network."""

    points: NDArray[np.float32]
    loss: float
    gradients: Network


def probe(
    job: Job,
    phase: OneOf["gates", "links", "both"],
    variant: Variant,
    device: str = "cuda",
) -> Probe:
    """Compute a step on a job's rows in their order, as in its first epoch, without training."""
    number = find_gpu(device)
    cupy: Any = import_cupy()
    whole = replace(job.options, batch_size=len(job.rows))
    population = pack([replace(job, options=whole)])
    with cupy.cuda.Device(number):
        memory = GpuMemory(cupy, population)
        shared, far = memory_of_any(population.distinct_sizes()[0], variant)
        module = compile_kernel(variant, "probe.cu", number)
        memory.pass_addresses(module)
        kernel = module.get_function("probe")
        kernel.max_dynamic_shared_size_bytes = shared
        n_outputs = len(job.network.vote_logits) or 1
        points = cupy.zeros((len(job.rows), n_outputs), dtype=cupy.float32)
        scratch = cupy.empty(max(1, far), dtype=cupy.uint8)
        arguments = (np.int32(_PHASES[phase]), points, scratch)
        kernel((1,), (variant.threads,), arguments, shared_mem=shared)
        gradients = job.network.copy()
        flat, place = memory.pools["gradient"].get(), 0
        for part in gradients.parameters():
            part[...] = flat[place : place + part.size].reshape(part.shape)
            place += part.size
        state = memory.states()[0]
        return Probe(points.get(), float(state["loss"] / max(state["weight"], 1e-30)), gradients)
