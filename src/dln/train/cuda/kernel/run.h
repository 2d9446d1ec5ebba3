// A training run: epochs, batches and phases of one network, by one block.
#pragma once

#include "random.h"
#include "schedule.h"

__device__ inline u64 nanoseconds_now() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ inline Phase phase_of(const Plan& plan, int epoch, i64 batch) {
  if (plan.phases == dln::Phases::unified) return kBoth;
  const i64 turn = plan.phases == dln::Phases::batches ? batch : epoch / plan.phase_epochs;
  return turn % 2 == 0 ? kGates : kLinks;
}

// The number of steps of a batch's phase so far, including this batch.
__device__ inline i64 steps_of(const Plan& plan, int epoch, i64 batch) {
  if (plan.phases == dln::Phases::unified) return batch + 1;
  if (plan.phases == dln::Phases::batches) return batch / 2 + 1;
  const int length = plan.phase_epochs, cycle = epoch % (2 * static_cast<i64>(length));
  const i64 rounds = epoch / (2 * static_cast<i64>(length));
  return (rounds * length + cycle % length) * plan.n_batches + batch % plan.n_batches + 1;
}

// Batches of nearly equal size: no row is dropped and none is in a tiny batch. Or batches of one
// size, and the rest is dropped.
__device__ inline int batch_start(const Plan& plan, int batch) {
  if (plan.last_batch == dln::LastBatch::drop)
    return static_cast<int>(
        min(static_cast<i64>(plan.n_rows), static_cast<i64>(batch) * plan.batch_size));
  return static_cast<int>(static_cast<i64>(plan.n_rows) * batch / plan.n_batches);
}

// Compute the weights and settings of the batches of an epoch. Each warp takes a batch.
__device__ __noinline__ void prepare_batches(int epoch) {
  const Block block = this_block();
  const Plan& plan = block.plan;
  const float* weight = block.pools.weight + plan.table;
  const int* rows = order_of(block, epoch);
  for (int batch = warp_of(); batch < plan.n_batches; batch += kWarps) {
    double sum = 0.0;
    for (int r = batch_start(plan, batch) + lane_of(); r < batch_start(plan, batch + 1); r += 32)
      sum += weight[rows[r]];
    sum = warp_sum(sum);
    if (lane_of() > 0) continue;
    const i64 number = static_cast<i64>(epoch) * plan.n_batches + batch;
    const double n_steps = static_cast<double>(plan.n_batches) * plan.epochs;
    const double decay = 0.5 * (1.0 + cospi(number / n_steps));
    const double rate = plan.learning_rate * (plan.final_rate + (1.0 - plan.final_rate) * decay);
    const double steps = static_cast<double>(steps_of(plan, epoch, number));
    const double correction = sqrt(1.0 - pow(static_cast<double>(0.999f), steps));
    const double scale = correction / (1.0 - pow(static_cast<double>(0.9f), steps));
    block.pools.batches[plan.batch + batch] = {
        sum, sum > 0.0 ? static_cast<float>(1.0 / sum) : 0.0f,
        static_cast<float>(rate) * static_cast<float>(scale),
        static_cast<float>(1e-8 * correction), phase_of(plan, epoch, number)};
  }
  __syncthreads();
}

// Prepare a batch; called by one thread.
__device__ inline void set_batch(const Block& block, int batch) {
  const Batch now = block.pools.batches[block.plan.batch + batch];
  block.step.phase = now.phase;
  block.step.scale = now.scale;
  block.step.rate = now.rate;
  block.step.epsilon = now.epsilon;
  if (now.weight > 0.0) block.state.weight += now.weight;
}

// Forward, backward and an update for the n rows of a batch. The caller sets the step, except for
// pass and n_passes.
template <Mode mode>
__device__ inline void train_batch(const Block& block, const int* rows, int n) {
  __shared__ double losses[kWords];
  Step& step = block.step;
  if (threadIdx.x == 0) step.n_passes = (n + kRows - 1) / kRows;
  for (int start = 0; start < n; start += kRows) {
    if (threadIdx.x == 0) step.pass = start / kRows;
    forward(rows + start, min(kRows, n - start), step.phase);
    if (threadIdx.x < kRows) {
      if (step.scale > 0.0f) count_right(block);
      const double loss = warp_sum(static_cast<double>(loss_gradient(block)));
      if (lane_of() == 0) losses[warp_of()] = loss;
    }
    __syncthreads();
    if (threadIdx.x == 0)
      for (int k = 0; k < kWords; ++k) block.state.loss += losses[k];
    if (step.trains_links())
      call<backward_gates<true>>();
    else
      call<backward_gates<false>>();
    update<mode>(block);
  }
}

// Begin an epoch, or resume it after a pause: values computed from the parameters are not stored.
__device__ inline void begin_epoch(const Block& block, bool resumes) {
  const bool starts = block.state.batch == 0;
  const int epoch = block.state.epoch;
  const float* temperature = block.pools.temperature + block.plan.epoch + epoch;
  const bool changes = epoch > 0 && temperature[0] != temperature[-1];
  const bool freezes = min(block.plan.first_freeze, block.plan.vote_freeze) <= epoch;
  if (threadIdx.x == 0) {
    block.step.epoch = epoch;
    block.step.inverse_temperature = 1.0f / temperature[0];
    if (starts) block.state.loss = block.state.weight = 0.0;
  }
  __syncthreads();
  if (resumes || changes || freezes) refresh(block);
  if (!starts) return;
  if (prune()) refresh(block);
  call<shuffle_rows>();
  prepare_batches(epoch);
  clear_counts(block);
}

// Record the epoch, and return whether it was the last.
__device__ inline bool end_epoch(const Block& block) {
  __shared__ int is_best, is_stale;
  const Plan& plan = block.plan;
  State& state = block.state;
  const int epoch = state.epoch;
  const bool last = epoch + 1 == plan.epochs;
  const auto is_due = [&](int every) { return every > 0 && ((epoch + 1) % every == 0 || last); };
  const double accuracy = balanced_accuracy(block);  // of classes
  const int live = count_live_gates();
  const bool looks = is_due(plan.eval_every) && plan.n_valid > 0;
  const double valid =
      looks ? look(block, block.pools.valid + plan.valid, plan.n_valid) : not_a_number();
  __syncthreads();
  double score = valid;
  if (looks && plan.validation_score == dln::ValidationScore::both) {
    score += look(block, order_of(block, epoch), plan.n_rows);
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    const float loss = static_cast<float>(state.loss / fmax(state.weight, 1e-30));
    const float on_train = plan.predicts_number() ? -loss : static_cast<float>(accuracy);
    block.pools.history[plan.epoch + epoch] = {loss, on_train, static_cast<float>(valid),
                                               static_cast<float>(live)};
    is_best = looks && score >= state.best;  // the latest of tied epochs wins
    if (is_best) {
      state.best = score;
      state.best_epoch = epoch;
    }
    is_stale =
        plan.patience > 0 && state.best_epoch >= 0 && epoch - state.best_epoch >= plan.patience;
    state.batch = 0;
    state.epoch = epoch + 1;
    state.done = last || is_stale;
  }
  __syncthreads();
  if (is_best && plan.keep_best) copy_parameters(block, block.pools.best + plan.parameter);
  if (is_due(plan.trace_every) || (plan.trace_every > 0 && is_stale)) record_trace(block);
  return last || is_stale;
}

// Train until the network is done or the time is up. Returns whether the time is up.
__device__ inline bool run(const Block& block, u64 deadline) {
  // Reading the clock makes all threads wait for one, so it is read only after every fourth batch
  // of one pass.
  constexpr int kLookEvery = 4;
  __shared__ int is_up;
  const Plan& plan = block.plan;
  if (plan.trace_every > 0 && block.state.n_records == 0) record_trace(block);
  for (bool resumes = true;; resumes = false) {
    begin_epoch(block, resumes);
    const int* rows = order_of(block, block.step.epoch);
    for (int batch = block.state.batch; batch < plan.n_batches; ++batch) {
      const int start = batch_start(plan, batch), n = batch_start(plan, batch + 1) - start;
      if (threadIdx.x == 0) set_batch(block, batch);
      train_batch<kTrain>(block, rows + start, n);
      if (threadIdx.x == 0) block.state.batch = batch + 1;
      const bool last = batch + 1 == plan.n_batches;
      // Another thread may have begun the next batch, so this must not read anything in the step.
      if (!last && n <= kRows && batch % kLookEvery > 0) continue;
      if (threadIdx.x == 0) is_up = nanoseconds_now() > deadline;
      __syncthreads();
      if (is_up && !last) return true;
    }
    if (end_epoch(block)) return is_up;
    if (is_up) return true;
  }
}

// Copy a struct of 32-bit words. Called by all threads of the block.
template <typename T>
__device__ inline void copy_words(T* to, const T* from) {
  for (int i = threadIdx.x; i < static_cast<int>(sizeof(T) / 4); i += kThreads)
    reinterpret_cast<int*>(to)[i] = reinterpret_cast<const int*>(from)[i];
  __syncthreads();
}

// Load the plan and the state of a network into the block.
__device__ inline void begin_network(int network, char* far) {
  copy_words(&block_plan, network_pools.plans + network);
  copy_words(&block_state, static_cast<const State*>(network_pools.states + network));
  if (threadIdx.x == 0) {
    far_memory = far;
    block_offsets = arrange(block_plan);
  }
  __syncthreads();
}
