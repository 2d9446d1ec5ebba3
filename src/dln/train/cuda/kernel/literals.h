// The end of the backward pass: from the gradients of gates to sums over rows for the cutoff and
// the slope of every literal.
#pragma once

#include "backward.h"

__device__ inline bool trains_literal(const Block& block, int wire) {
  return __ldg(block.pools.literal_freeze + block.plan.literal + wire) > block.step.epoch;
}

// The gradients of the cutoff and the slope of a literal: the step is replaced by the sigmoid y of
// s(x - b), with derivative y (1 - y). The factor s of the first gradient is applied later.
__device__ __forceinline__ void pull_row(float d, float cell, float cutoff, float exponent,
                                         float2& sum) {
  const float distance = cell - cutoff;
  const bool known = fabsf(distance) < 1e15f;  // false if the value is missing
  const float finite = known ? distance : 0.0f, e = exp2f(fabsf(finite) * exponent);
  const float one_plus = 1.0f + e;
  const float flow = __fdividef((known ? d : 0.0f) * e, one_plus * one_plus);
  sum.x -= flow;
  sum.y = fmaf(flow, finite, sum.y);
}

__device__ __forceinline__ float2 pull_rows(float4 d, float4 cells, float cutoff, float slope,
                                            float2 sum) {
  const float exponent = -1.44269504f * slope;
  pull_row(d.x, cells.x, cutoff, exponent, sum);
  pull_row(d.y, cells.y, cutoff, exponent, sum);
  pull_row(d.z, cells.z, cutoff, exponent, sum);
  pull_row(d.w, cells.w, cutoff, exponent, sum);
  return sum;
}

// The pulls of this network. Their place allows for the most words of any variant, because other
// networks may be trained by a variant with another number of words.
__device__ inline float2* own_pulls(const Block& block) {
  return block.pools.pulls + 2 * block.plan.gate * kMaxWords;
}

// With hard links: the gradient of each input for the literal that it reads. Each thread takes an
// input with a gradient and 32 rows.
__device__ inline void pull_literals_by_input(const Block& block) {
  __shared__ int n_inputs;
  const Plan& plan = block.plan;
  const Memory& memory = block.memory;
  const bool mixed = is_mixed(block);
  u32* inputs = memory.bits;  // no longer needed in a phase of gates; has room for all inputs
  if (threadIdx.x == 0) n_inputs = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * plan.n_gates; i += kThreads)
    if (memory.reached[i >> 1] && memory.source[i] < plan.n_literals &&
        trains_literal(block, memory.source[i]))
      inputs[atomicAdd(&n_inputs, 1)] = i;
  __syncthreads();
  float2* pulls = own_pulls(block);
  for (int task = threadIdx.x; task < n_inputs * kWords; task += kThreads) {
    const int i = inputs[task / kWords], k = task % kWords, wire = memory.source[i];
    const Slope slope = slope_of(block, mixed, i >> 1, i & 1);
    const float cutoff = block.pools.parameters[plan.parameter + wire].value;
    const float steepness = block.pools.parameters[plan.slopes + wire].value;
    const int column = __ldg(block.pools.literal_column + plan.literal + wire);
    const float* cells = memory.cells + column * kStride + 32 * k;
    const float* rows = memory.gradient + (i >> 1) * kStride + 32 * k;
    const u32 other = memory.words[(i ^ 1) * kWords + k];
    float2 sum = {0.0f, 0.0f};
#pragma unroll 4
    for (int r = 0; r < 32; r += 4) {
      float4 d = {0.0f, 0.0f, 0.0f, 0.0f};
      add_chosen(d, other >> r, slope.low, slope.high,
                 *reinterpret_cast<const float4*>(rows + r));
      sum = pull_rows(d, *reinterpret_cast<const float4*>(cells + r), cutoff, steepness, sum);
    }
    pulls[i * kWords + k] = {sum.x * steepness, sum.y};
  }
}

// Add to `sum` the gradients of the readers of a literal from `begin` to `end`. Each thread takes a
// literal. Several readers are loaded together, so that loads do not wait for each other.
__device__ inline float2 add_pulls(const Block& block, int begin, int end, float2 sum) {
  constexpr int kTogether = 4;
  const Plan& plan = block.plan;
  const float2* pulls = own_pulls(block);
  float2 own[kWords] = {};
  for (int start = begin; start < end; start += kTogether) {
    int slot[kTogether], input[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      const int e = min(start + j, end - 1);
      slot[j] = __ldg(block.pools.reader_slot + e);
      input[j] = __ldg(block.pools.reader_input + e);
    }
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      const bool reads = block.memory.chosen[input[j]] == slot[j] - input[j] * plan.n_links;
      if (start + j >= end || !reads || !block.memory.reached[input[j] >> 1]) continue;
#pragma unroll
      for (int k = 0; k < kWords; ++k) {
        own[k].x += pulls[input[j] * kWords + k].x;
        own[k].y += pulls[input[j] * kWords + k].y;
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kWords; ++k) {
    sum.x += own[k].x * plan.grad_factor;
    sum.y += own[k].y * plan.grad_factor;
  }
  return sum;
}

// The general case: the complete gradient of each literal. Each group takes a literal.
template <bool kSoft>
__device__ inline void pull_literals_by_wire(const Block& block) {
  const Plan& plan = block.plan;
  const bool upper = lane_of() & (kGroup / 2);  // half of a group sums for the slope
  const auto wanted = [&](int wire) {
    return wire < plan.n_literals && trains_literal(block, wire);
  };
  Range next_range = find_range(block, group_of(), wanted(group_of()));
  Reader next_reader = find_reader<kSoft>(block, find_candidate(block, next_range, 0));
  for (int base = 0; base < plan.n_literals; base += kAtOnce) {
    const int wire = base + group_of();
    const Range range = next_range;
    const Reader reader = next_reader;
    next_range = find_range(block, wire + kAtOnce, wanted(wire + kAtOnce));
    next_reader = find_reader<kSoft>(block, find_candidate(block, next_range, 0));
    const bool trains = wanted(wire);
    const int literal = trains ? wire : 0;
    const float cutoff = block.pools.parameters[plan.parameter + literal].value;
    const float slope = block.pools.parameters[plan.slopes + literal].value;
    const float* cells =
        block.memory.cells + lane_rows() +
        __ldg(block.pools.literal_column + plan.literal + literal) * kStride;
    float* to = block.pools.gradient + (upper ? plan.slopes : plan.parameter) + literal;
    float own = block.step.pass > 0 ? *to : 0.0f;
    Rows d;
    collect<kSoft>(block, range, reader, d);
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      const float2 pull = pull_rows(d.word[k], *reinterpret_cast<const float4*>(cells + 32 * k),
                                    cutoff, slope, {0.0f, 0.0f});
      const float sent = __shfl_xor_sync(kAll, upper ? pull.x : pull.y, kGroup / 2);
      const float sum = group_sum<kGroup / 2>((upper ? pull.y : pull.x) + sent);
      own += upper ? sum : sum * slope;
    }
    if (trains && (lane_of() & (kGroup / 2 - 1)) == 0) *to = own;
  }
}
