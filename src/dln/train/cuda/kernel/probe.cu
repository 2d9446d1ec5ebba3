// The intermediate results of one step of the first network, for tests.
#include "run.h"

// The loss and the gradients of the first network's rows, in one phase of its first epoch, and the
// points (rows, outputs). One block.
extern "C" __global__ void __launch_bounds__(kThreads, DLN_BLOCKS)
    probe(int phase, float* points, char* far) {
  begin_network(0, far);
  const Block block = this_block();
  const Plan& plan = block.plan;
  if (threadIdx.x == 0) block.state.batch = 1;  // begin_epoch then does not shuffle the rows
  __syncthreads();
  begin_epoch(block, true);
  prepare_batches(1);  // epoch 1 uses the first array of orders: the job's rows, not shuffled
  if (threadIdx.x == 0) {
    set_batch(block, 0);
    block.step.phase = static_cast<Phase>(phase);
  }
  __syncthreads();
  const int* rows = block.pools.order + plan.row;
  for (int start = 0; start < plan.n_rows; start += kRows) {
    const int n = min(kRows, plan.n_rows - start);
    forward(rows + start, n, start % (2 * kRows) ? kGates : kBoth);
    const int n_outputs = plan.n_outputs();
    for (int i = threadIdx.x; i < n * n_outputs; i += kThreads)
      points[static_cast<i64>(start) * n_outputs + i] =
          block.memory.score[i % n_outputs * kStride + i / n_outputs];
    __syncthreads();
  }
  train_batch<kProbe>(block, rows, plan.n_rows);
  copy_words(block.pools.states, static_cast<const State*>(&block_state));
}
