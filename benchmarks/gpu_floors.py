"""Hardware limits of a GPU: the speed of its shared memory, its cache and its barriers.

`engines.py --cuda` compares the kernel with these limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dln.train.cuda.gpu import import_cupy, limits_of
from dln.train.cuda.layout import Variant, choose_variant
from dln.train.cuda.pack import pack
from dln.train.jobs import Job

SOURCE = r"""
extern "C" __global__ void read_shared(float* out, int rounds) {
  __shared__ float4 memory[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) memory[i] = {1.0f, 2.0f, 3.0f, 4.0f};
  __syncthreads();
  float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
  int place = threadIdx.x;
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      const float4 x = memory[(place + 64 * j) & 1023];
      sum.x += x.x; sum.y += x.y; sum.z += x.z; sum.w += x.w;
    }
    place = (place + 33) & 1023;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum.x + sum.y + sum.z + sum.w;
}

extern "C" __global__ void read_cache(const float4* from, float* out, int n, int rounds) {
  float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int i = 0; i < rounds; ++i)
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < n; j += gridDim.x * blockDim.x) {
      const float4 x = __ldcg(from + j);
      sum.x += x.x; sum.y += x.y; sum.z += x.z; sum.w += x.w;
    }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum.x + sum.y + sum.z + sum.w;
}

extern "C" __global__ void wait_at_barriers(int rounds) {
  for (int i = 0; i < rounds; ++i) __syncthreads();
}
"""


@dataclass(frozen=True)
class Floors:
    """Bytes per second of all shared memories and of the cache; seconds of a barrier."""

    shared_bandwidth: float
    cache_bandwidth: float
    barrier: float
    n_multiprocessors: int

    def of_step(self, job: Job, crowd: int) -> tuple[float, float, float]:
        """Return the least seconds that each of the three takes for one step of one network.

        The two phases alternate, so each counts half. A link phase reads the values of every
        literal, the gate's gradients for each candidate link (shared by the candidates of both
        inputs), and a reader's gradients for each candidate that is a gate; it reads and writes the
        link parameters. A gate phase reads each gate's gradients and the values of the literals in
        use; it reads and writes the parameters of gates and thresholds.
        """
        network = job.network
        rows, parameter = 4 * 64, 16
        n_gates, n_links = network.n_gates, network.link_wires.shape[2]
        gate_links = int((network.link_wires >= network.n_literals).sum())
        tiles = n_gates * max(1, 2 * n_links // 32) * rows
        links = network.n_literals * rows + 2 * tiles + gate_links * rows
        gates = 2 * n_gates * rows + 2 * n_gates * rows
        shared = (links + gates) / 2
        of_links = 2 * parameter * (network.link_logits.size + network.vote_logits.size)
        of_gates = 2 * parameter * (network.gate_logits.size + 2 * network.n_literals)
        cache = (of_links + 8 * network.link_wires.size + of_gates) / 2
        cache += rows * job.data.cells.shape[1]
        barriers = 9 + 2 * len(network.layers)
        at_once = min(crowd, self.n_multiprocessors * self._variant(job, crowd).blocks)
        used = min(1.0, crowd / self.n_multiprocessors)
        return (
            shared / self.shared_bandwidth / used,
            cache / self.cache_bandwidth / used,
            barriers * self.barrier / at_once,
        )

    def _variant(self, job: Job, crowd: int) -> Variant:
        limits = limits_of(import_cupy(), 0)
        (sizes,), _ = pack([job]).distinct_sizes()
        return choose_variant(sizes, crowd // self.n_multiprocessors, limits)


def measure_floors() -> Floors:
    """Measure a GPU with loops that do nothing else."""
    cupy: Any = import_cupy()
    n = limits_of(cupy, 0).n_multiprocessors
    module = cupy.RawModule(code=SOURCE, backend="nvrtc")
    out = cupy.empty(n * 2 * 1024, dtype=cupy.float32)
    rounds = 2_000
    read_shared = module.get_function("read_shared")
    seconds = _seconds(cupy, read_shared, n * 2, 1024, (out, np.int32(rounds)))
    shared = n * 2 * 1024 * 16 * 16 * rounds / seconds
    size = 2**20  # 16 MiB
    source = cupy.zeros(4 * size, dtype=cupy.float32)
    arguments = (source, out, np.int32(size), np.int32(50))
    seconds = _seconds(cupy, module.get_function("read_cache"), n * 2, 1024, arguments)
    cache = 16 * size * 50 / seconds
    wait = module.get_function("wait_at_barriers")
    barrier = _seconds(cupy, wait, n * 4, 160, (np.int32(100_000),)) / 100_000
    return Floors(shared, cache, barrier, n)


def _seconds(
    cupy: Any, kernel: Any, blocks: int, threads: int, arguments: tuple[Any, ...]
) -> float:
    """Return the shortest time of several launches."""
    best = float("inf")
    for _ in range(5):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        kernel((blocks,), (threads,), arguments)
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return best
