// The forward pass: rows to bits, bits through hard gates, votes, and the gradient of the loss.
#pragma once

#include "lanes.h"
#include "network.h"

// Each warp reads a row; several rows are loaded at a time.
__device__ inline void load_rows(const Block& block, const int* rows, int n) {
  static_assert(kRows <= 32 * kWarps, "a warp's rows must have a lane each");
  constexpr int kTogether = 8;
  const Plan& plan = block.plan;
  const int n_columns = plan.n_columns, own_place = warp_of() + lane_of() * kWarps;
  const int own_row = own_place < n ? rows[own_place] : 0;
  const int count = n > warp_of() ? (n - 1 - warp_of()) / kWarps + 1 : 0;
  for (int start = 0; start < n_columns; start += 32) {
    const int column = start + lane_of(), n_own = column < n_columns ? count : 0;
    const float* cells = block.pools.cells + plan.cells + column;
    float* to = block.memory.cells + column * kStride + warp_of();
    for (int first = 0; first < count; first += kTogether) {
      float cell[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const i64 row = __shfl_sync(kAll, own_row, first + i);
        cell[i] = first + i < n_own ? __ldg(cells + row * n_columns) : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (first + i < n_own) to[(first + i) * kWarps] = cell[i];
    }
  }
  for (int r = threadIdx.x; r < kRows; r += kThreads) {  // rows beyond n have weight 0
    const int none = plan.predicts_number() ? 0 : -1;
    block.target[r] = r < n ? block.pools.target[plan.table + rows[r]] : none;
    block.weight[r] = r < n ? block.pools.weight[plan.table + rows[r]] : 0.0f;
  }
}

template <typename Test>
__device__ __forceinline__ void test_rows(const float* rows, u32* bits, Test test) {
#pragma unroll
  for (int k = 0; k < kWords; ++k) {
    u32 word = 0;
#pragma unroll
    for (int r = 0; r < 32; r += 4) {
      const float4 x = *reinterpret_cast<const float4*>(rows + 32 * k + r);
      word |= (test(x.x) ? 1u << r : 0u) | (test(x.y) ? 2u << r : 0u);
      word |= (test(x.z) ? 4u << r : 0u) | (test(x.w) ? 8u << r : 0u);
    }
    bits[k] = word;
  }
}

// The test of a literal on a row.
struct Question {
  int column;
  dln::LiteralKind kind;
  float value;
};

__device__ inline Question question_of(const Block& block, int wire) {
  const Plan& plan = block.plan;
  return {__ldg(block.pools.literal_column + plan.literal + wire),
          dln::LiteralKind(__ldg(block.pools.literal_kind + plan.literal + wire)),
          block.pools.parameters[plan.parameter + wire].value};
}

__device__ inline void make_literal(const Block& block, int wire, const Question& question) {
  const float* rows = block.memory.cells + question.column * kStride;
  const float value = question.value;
  u32* bits = block.memory.bits + wire * kWords;
  switch (question.kind) {
    case dln::LiteralKind::above:
      return test_rows(rows, bits, [&](float x) { return x > value; });
    case dln::LiteralKind::among:
      return test_rows(rows, bits, [&](float x) { return x == value; });
    case dln::LiteralKind::missing:
      return test_rows(rows, bits, [](float x) { return x != x; });
  }
}

// Each thread computes a literal for all rows. If only the hard circuit is needed and it has few
// gates, only the literals that it reads are computed; two threads may compute the same one.
__device__ inline void make_literals(const Block& block, bool all) {
  const Plan& plan = block.plan;
  const bool each = all || plan.rules_on_literals || 2 * plan.n_gates >= plan.n_literals;
  const int count = each ? plan.n_literals : 2 * plan.n_gates, none = plan.n_literals;
  const auto wire_of = [&](int i) {
    return i >= count ? none : each ? i : static_cast<int>(block.memory.source[i]);
  };
  int next = wire_of(threadIdx.x);
  Question ahead = {};
  if (next < none) ahead = question_of(block, next);
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int wire = next;
    const Question question = ahead;
    // The next values are fetched while these are processed.
    next = wire_of(i + kThreads);
    if (next < none) ahead = question_of(block, next);
    if (wire < none) make_literal(block, wire, question);
  }
}

__device__ inline void evaluate_gates(const Block& block) {
  const Plan& plan = block.plan;
  const Memory& memory = block.memory;
  const int* starts = block.pools.level_start + plan.level;
  for (int level = 0; level < plan.n_levels; ++level) {
    for (int g = __ldg(starts + level) + threadIdx.x; g < __ldg(starts + level + 1); g += kThreads) {
      const u32 code = memory.code[g];
      const u32 *a = memory.bits + memory.source[2 * g] * kWords,
                *b = memory.bits + memory.source[2 * g + 1] * kWords;
#pragma unroll
      for (int k = 0; k < kWords; ++k) {
        memory.words[2 * g * kWords + k] = a[k];
        memory.words[(2 * g + 1) * kWords + k] = b[k];
        memory.bits[(plan.n_literals + g) * kWords + k] = head::evaluate_gate(code, a[k], b[k]);
      }
    }
    __syncthreads();
  }
}

// What is added to the points of a row for an output.
__device__ inline float offset_of(const Block& block, i64 row, int output) {
  const Plan& plan = block.plan;
  return plan.offset < 0 ? 0.0f : block.pools.offset[plan.offset + row * plan.n_outputs() + output];
}

__device__ inline void count_votes(const Block& block, const int* rows, int n) {
  const Plan& plan = block.plan;
  for (int task = warp_of(); task < plan.n_classes * kWords; task += kWarps) {
    const int c = task / kWords, k = task % kWords;
    const u8* on = block.memory.votes + c * plan.n_rules;
    int sum = 0;
#pragma unroll 8
    for (int r = 0; r < plan.n_rules; ++r)
      sum += block.memory.bits[block.memory.rules[r] * kWords + k] >> lane_of() & on[r];
    const int r = 32 * k + lane_of();
    const float offset = r < n ? offset_of(block, rows[r], c) : 0.0f;
    block.memory.score[c * kStride + r] = offset + static_cast<float>(sum);
  }
  __syncthreads();
}

// Each thread adds up the weights of a row's true rules.
__device__ inline void add_weights(const Block& block, const int* rows, int n) {
  const Plan& plan = block.plan;
  const float* weight = block.memory.shares;
  for (int r = threadIdx.x; r < kRows; r += kThreads) {
    float sum = r < n ? offset_of(block, rows[r], 0) : 0.0f;
    sum += weight[plan.n_rules];
#pragma unroll 8
    for (int rule = 0; rule < plan.n_rules; ++rule) {
      const u32 word = block.memory.bits[block.memory.rules[rule] * kWords + r / 32];
      sum += word >> (r & 31) & 1 ? weight[rule] : 0.0f;
    }
    block.memory.score[r] = sum;
  }
  __syncthreads();
}

// From n rows to their points. A gate phase needs only the hard circuit. Another thread may still
// set the phase while the rows are loaded.
__device__ __noinline__ void forward(const int* rows, int n, const Phase& phase) {
  const Block block = this_block();
  load_rows(block, rows, n);
  __syncthreads();
  make_literals(block, phase != kGates);
  __syncthreads();
  evaluate_gates(block);
  if (block.plan.predicts_number())
    add_weights(block, rows, n);
  else
    count_votes(block, rows, n);
}

// The points of the row of this thread.
__device__ inline head::Points own_points(const Block& block) {
  return {block.memory.score + threadIdx.x, kStride, block.plan.n_outputs()};
}

// Count correct predictions by class. Called by the rows' threads. Numbers are scored by their loss.
__device__ inline void count_right(const Block& block) {
  if (block.plan.predicts_number()) return;
  const int target = block.target[threadIdx.x], winner = head::best_output(own_points(block));
  const u32 alike = __match_any_sync(kAll, target), right = __ballot_sync(kAll, winner == target);
  if (target >= 0 && lane_of() == __ffs(alike) - 1) {
    atomicAdd(block.pools.right + block.plan.count + target, __popc(alike & right));
    atomicAdd(block.pools.total + block.plan.count + target, __popc(alike));
  }
}

// A target in the type that a loss expects.
__device__ inline int target_as(int target, int) { return target; }
__device__ inline float target_as(int target, float) { return __int_as_float(target); }

// Replace the points by the gradient of the weighted loss, and return the weighted loss of this row.
__device__ inline float loss_gradient(const Block& block) {
  const int target = block.target[threadIdx.x];
  const float weight = block.weight[threadIdx.x];
  return head::with_loss(block.plan, [&](auto loss) {
    return weight * loss.differentiate(own_points(block),
                                       target_as(target, typename decltype(loss)::Target{}),
                                       weight * block.step.scale);
  });
}
