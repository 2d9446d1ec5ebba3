// Work between epochs: pruning gates, counting live gates, evaluating validation rows.
#pragma once

#include "forward.h"
#include "update.h"

// Mask a gate for all its readers, unless it is the only candidate of an input. Called by a warp.
// `n_left` (inputs) counts the candidates that are left.
__device__ inline bool try_to_prune(const Block& block, int gate, int* n_left) {
  const Pools& pools = block.pools;
  const Plan& plan = block.plan;
  const int wire = plan.n_literals + gate;
  const int* starts = pools.reader_start + plan.wire + wire;
  const auto each_open = [&](auto visit) {
    for (int e = __ldg(starts) + lane_of(); e < __ldg(starts + 1); e += 32) {
      float& logit = pools.parameters[plan.links + __ldg(pools.reader_slot + e)].value;
      if (logit != -infinity()) visit(__ldg(pools.reader_input + e), logit);
    }
    __syncwarp();
  };
  bool last = false;
  each_open([&](int input, float&) { atomicSub(n_left + input, 1); });
  each_open([&](int input, float&) { last |= n_left[input] == 0; });
  if (__any_sync(kAll, last)) {
    each_open([&](int input, float&) { atomicAdd(n_left + input, 1); });
    return false;
  }
  each_open([&](int, float& logit) { logit = -infinity(); });
  const int* rules = pools.rule_start + plan.wire + wire;
  for (int e = __ldg(rules); e < __ldg(rules + 1); ++e) {
    const int r = __ldg(pools.rule_reader + e);
    for (int c = lane_of(); c < plan.n_classes; c += 32)
      pools.parameters[plan.votes + static_cast<i64>(c) * plan.n_rules + r].value = -infinity();
    if (plan.predicts_number() && lane_of() == 0) pools.limits[plan.limit + r] = {0.0f, 0.0f};
  }
  if (lane_of() == 0) pools.gate_pruned[plan.gate + gate] = 1;
  __syncwarp();
  return true;
}

// In each layer, the gates with the smallest largest probability are pruned first. Called by a
// warp. `top` (gates) is the largest probability of each gate, or infinity if it must be kept.
__device__ inline bool prune_layers(const Block& block, float* top, int* n_left) {
  const Plan& plan = block.plan;
  const int* pruned = block.pools.gate_pruned + plan.gate;
  const i64 done = block.step.epoch - plan.prune_first + 1;
  const i64 all = plan.prune_last - plan.prune_first + 1;
  bool any = false;
  for (int layer = 0; layer < plan.n_layers; ++layer) {
    const int* starts = block.pools.layer_start + plan.layer + layer;
    const int begin = __ldg(starts), end = __ldg(starts + 1);
    i64 room = __ldg(block.pools.layer_prune + plan.layer + layer) * done / all;
    for (int start = begin; start < end; start += 32) {
      const int g = start + lane_of();
      room -= __popc(__ballot_sync(kAll, g < end && pruned[g]));
    }
    while (room > 0) {
      float least = infinity();
      int gate = -1;
      for (int g = begin + lane_of(); g < end; g += 32)
        if (top[g] < least) {
          least = top[g];
          gate = g;
        }
      for (int offset = 16; offset > 0; offset >>= 1) {
        const float other = __shfl_xor_sync(kAll, least, offset);
        const int place = __shfl_xor_sync(kAll, gate, offset);
        if (other < least || (other == least && place < gate)) {
          least = other;
          gate = place;
        }
      }
      if (!(least < plan.convergence)) break;
      if (try_to_prune(block, gate, n_left)) {
        --room;
        any = true;
      }
      __syncwarp();
      if (lane_of() == 0) top[gate] = infinity();
      __syncwarp();
    }
  }
  return any;
}

// Prune at the start of an epoch. Called by all threads of the block. It uses the memory of a
// batch, which is free between epochs.
__device__ __noinline__ bool prune() {
  const Block block = this_block();
  const Pools& pools = block.pools;
  const Plan& plan = block.plan;
  const Memory& memory = block.memory;
  if (block.step.epoch < plan.prune_first || block.step.epoch > plan.prune_last) return false;
  u32* kept = memory.bits;  // by wire
  int* n_left = reinterpret_cast<int*>(memory.words);
  float* top = memory.gradient;
  for (int w = threadIdx.x; w < plan.n_literals + plan.n_gates; w += kThreads) kept[w] = 0;
  for (int i = threadIdx.x; i < 2 * plan.n_gates; i += kThreads) {
    n_left[i] = 0;
    for (int k = 0; k < plan.n_links; ++k)
      n_left[i] += pools.parameters[plan.links + static_cast<i64>(i) * plan.n_links + k].value !=
                   -infinity();
  }
  __syncthreads();
  // Frozen gates and votes are kept, and so are the gates that they read.
  for (int g = threadIdx.x; g < plan.n_gates; g += kThreads)
    if (any_frozen(block) && is_frozen(block, g))
      kept[plan.n_literals + g] = kept[memory.source[2 * g]] = kept[memory.source[2 * g + 1]] = 1;
  if (plan.vote_freeze <= block.step.epoch)
    for (int vote = threadIdx.x; vote < plan.n_outputs() * plan.n_rules; vote += kThreads)
      if (memory.votes[vote]) kept[memory.rules[vote % plan.n_rules]] = 1;
  __syncthreads();
  for (int g = threadIdx.x; g < plan.n_gates; g += kThreads) {
    float largest = 0.0f;
    for (int k = 0; k < plan.n_choices; ++k)
      largest = fmaxf(
          largest,
          pools.parameters[plan.gates + static_cast<i64>(g) * plan.n_choices + k].probability);
    const bool stays = kept[plan.n_literals + g] || pools.gate_pruned[plan.gate + g];
    top[g] = stays ? infinity() : largest;
  }
  __syncthreads();
  bool any = false;
  if (warp_of() == 0) any = prune_layers(block, top, n_left);
  return __syncthreads_or(any);
}

// Count the gates that some vote depends on. Called by all threads of the block.
__device__ __noinline__ int count_live_gates() {
  const Block block = this_block();
  __shared__ int count;
  const Plan& plan = block.plan;
  const Memory& memory = block.memory;
  u32* live = memory.bits;  // by wire; the bits of the batch are no longer needed
  for (int w = threadIdx.x; w < plan.n_literals + plan.n_gates; w += kThreads) live[w] = 0;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (int vote = threadIdx.x; vote < plan.n_outputs() * plan.n_rules; vote += kThreads)
    if (memory.votes[vote]) live[memory.rules[vote % plan.n_rules]] = 1;
  __syncthreads();
  const int* starts = block.pools.level_start + plan.level;
  int own = 0;
  for (int level = plan.n_levels - 1; level >= 0; --level) {
    for (int g = __ldg(starts + level) + threadIdx.x; g < __ldg(starts + level + 1); g += kThreads)
      if (live[plan.n_literals + g]) {
        live[memory.source[2 * g]] = live[memory.source[2 * g + 1]] = 1;
        ++own;
      }
    __syncthreads();
  }
  if (own) atomicAdd(&count, own);
  __syncthreads();
  return count;
}

__device__ inline void clear_counts(const Block& block) {
  for (int c = threadIdx.x; c < block.plan.n_classes; c += kThreads) {
    __stcg(block.pools.right + block.plan.count + c, 0);
    __stcg(block.pools.total + block.plan.count + c, 0);
  }
  __syncthreads();
}

// The balanced accuracy; NaN without rows.
__device__ inline double balanced_accuracy(const Block& block) {
  double sum = 0.0;
  int present = 0;
  for (int c = 0; c < block.plan.n_classes; ++c) {
    const int total = __ldcg(block.pools.total + block.plan.count + c);
    if (total > 0) {
      sum += static_cast<double>(__ldcg(block.pools.right + block.plan.count + c)) / total;
      ++present;
    }
  }
  return present ? sum / present : not_a_number();
}

// The score of some rows: the balanced accuracy of classes, or minus the mean loss of numbers. Called
// by all threads of the block; the first thread gets the result.
__device__ inline double look(const Block& block, const int* rows, int n_rows) {
  __shared__ double losses[kWords], weights[kWords];
  const bool is_number = block.plan.predicts_number();
  double loss = 0.0, weight = 0.0;
  clear_counts(block);
  for (int start = 0; start < n_rows; start += kRows) {
    forward(rows + start, min(kRows, n_rows - start), kGates);
    if (threadIdx.x < kRows) count_right(block);
    if (threadIdx.x < kRows && is_number) {
      const double own = warp_sum(static_cast<double>(loss_gradient(block)));
      const double heavy = warp_sum(static_cast<double>(block.weight[threadIdx.x]));
      if (lane_of() == 0) losses[warp_of()] = own, weights[warp_of()] = heavy;
    }
    __syncthreads();
    if (threadIdx.x == 0 && is_number)
      for (int k = 0; k < kWords; ++k) loss += losses[k], weight += weights[k];
  }
  return is_number ? -loss / fmax(weight, 1e-30) : balanced_accuracy(block);
}

__device__ inline void copy_parameters(const Block& block, float* to) {
  const Parameter* from = block.pools.parameters + block.plan.parameter;
  for (int i = threadIdx.x; i < block.plan.n_parameters; i += kThreads) to[i] = from[i].value;
  __syncthreads();
}

__device__ inline void record_trace(const Block& block) {
  const i64 n = block.plan.n_parameters;
  copy_parameters(block, block.pools.trace + block.plan.trace + block.state.n_records * n);
  if (threadIdx.x == 0) ++block.state.n_records;
  __syncthreads();
}
