// Train networks, one block each from its first step to its last.
//
// A launch has a queue of networks. A block takes the next one when it is done with the last. When the
// time of the launch is up, each block saves its network and ends: after at most four further batches,
// or after the current batch if that takes several passes. The next launch continues from there, with
// the same result.
#include "run.h"

extern "C" __global__ void __launch_bounds__(kThreads, DLN_BLOCKS)
    train(const int* queue, int n_queue, int* next, u64 nanoseconds, char* far, i64 far_bytes) {
  __shared__ int taken;
  const u64 deadline = nanoseconds_now() + nanoseconds;
  for (bool is_up = false; !is_up;) {
    if (threadIdx.x == 0) taken = atomicAdd(next, 1);
    __syncthreads();
    if (taken >= n_queue) return;
    const int network = queue[taken];
    begin_network(network, far + blockIdx.x * far_bytes);
    is_up = run(this_block(), deadline);
    __syncthreads();
    copy_words(network_pools.states + network, static_cast<const State*>(&block_state));
  }
}
