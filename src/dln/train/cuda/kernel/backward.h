// The backward pass: from the gradient of the points to the gradient of every gate, and from there
// to sums over rows for every gate, link and vote or weight.
#pragma once

#include "network.h"

// d gate / d input where the other input is 0, and where it is 1.
struct Slope {
  float low, high;
};

// The derivative by input a (side 0) or b (side 1) of the hard gate.
__device__ inline Slope hard_slope(u32 code, int side) {
  const int t00 = code >> 3 & 1, t01 = code >> 2 & 1, t10 = code >> 1 & 1, t11 = code & 1;
  return {static_cast<float>((side ? t01 : t10) - t00),
          static_cast<float>(t11 - (side ? t10 : t01))};
}

// Through the hard gate, also while the gates are trained, as in the authors' program. With
// gate_gradient="mixture", through the mixture: the paper's formula taken literally.
__device__ inline bool is_mixed(const Block& block) {
  return block.plan.gate_gradient == dln::GateGradient::mixture && block.step.trains_gates();
}

__device__ inline Slope slope_of(const Block& block, bool mixed, int gate, int side) {
  if (mixed) {
    const float4 mixture = block.pools.mixture[block.plan.gate + gate];
    return side ? Slope{mixture.z, mixture.w} : Slope{mixture.x, mixture.y};
  }
  return hard_slope(block.memory.code[gate], side);
}

// The rows of a lane: four of every word, those from 4 * (lane % kGroup) on.
struct Rows {
  float4 word[kWords];
};

__device__ inline int lane_rows() { return 4 * (lane_of() & (kGroup - 1)); }

// Add `low` times x where the bit is 0, `high` times x where it is 1.
__device__ __forceinline__ void add_chosen(float4& sum, u32 bits, float low, float high, float4 x) {
  sum.x = fmaf(bits & 1 ? high : low, x.x, sum.x);
  sum.y = fmaf(bits & 2 ? high : low, x.y, sum.y);
  sum.z = fmaf(bits & 4 ? high : low, x.z, sum.z);
  sum.w = fmaf(bits & 8 ? high : low, x.w, sum.w);
}

// Where the readers of a group's wire begin and end, and the rules that read it.
struct Range {
  int begin, end, rule, rule_end;
};

__device__ __forceinline__ Range find_range(const Block& block, int wire, bool wanted) {
  if (!wanted) return {0, 0, 0, 0};
  const int* reader_start = block.pools.reader_start + block.plan.wire + wire;
  const int* rule_start = block.pools.rule_start + block.plan.wire + wire;
  return {__ldg(reader_start), __ldg(reader_start + 1), __ldg(rule_start), __ldg(rule_start + 1)};
}

// A reader of a group's wire; each lane has another one. `input` may read the wire, and `slot` is
// the number of the candidate link. Both are negative if the lane has no reader.
struct Candidate {
  int input, slot;
};

__device__ __forceinline__ Candidate find_candidate(const Block& block, const Range& range,
                                                    int start) {
  const int e = range.begin + start + (lane_of() & (kGroup - 1));
  if (e >= range.end) return {-1, -1};
  return {__ldg(block.pools.reader_input + e), __ldg(block.pools.reader_slot + e)};
}

// The weight of the wire at a reader, and its product with the reader's derivative if the other
// input is 0, and if it is 1.
struct Reader {
  int input;
  float share;
  Slope slope;
};

template <bool kSoft>
__device__ __forceinline__ Reader find_reader(const Block& block, const Candidate& candidate) {
  // A lane without a reader gets weight 0 and the last input, so that it can read a gradient.
  if (candidate.input < 0) return {2 * block.plan.n_gates - 1, 0.0f, {0.0f, 0.0f}};
  const int first = candidate.input * block.plan.n_links;
  const float share =
      kSoft ? block.pools.parameters[block.plan.links + candidate.slot].probability
            : static_cast<float>(block.memory.chosen[candidate.input] == candidate.slot - first);
  return {candidate.input, share,
          slope_of(block, is_mixed(block), candidate.input >> 1, candidate.input & 1)};
}

// Add the gradients of the rules that read a group's wire. Returns whether there are any.
template <bool kSoft>
__device__ __forceinline__ bool add_rules(const Block& block, const Range& range, Rows& d) {
  const Memory& memory = block.memory;
  const bool soft = (kSoft && block.plan.vote_gradient == dln::VoteGradient::soft) ||
                    block.plan.predicts_number();
  bool any = false;
  for (int e = range.rule; e < range.rule_end; ++e) {
    const int r = __ldg(block.pools.rule_reader + e);
#pragma unroll 2
    for (int c = 0; c < block.plan.n_outputs(); ++c) {
      const int vote = c * block.plan.n_rules + r;
      const float part = soft ? memory.shares[vote] : static_cast<float>(memory.votes[vote]);
      any |= part != 0.0f;
#pragma unroll
      for (int k = 0; k < kWords; ++k)
        add_chosen(d.word[k], 0, part, part,
                   *reinterpret_cast<const float4*>(memory.score + c * kStride + 32 * k +
                                                    lane_rows()));
    }
  }
  return any;
}

// The gradient of each group's wire, for the rows of each lane. Called by a warp, with the first of
// the wire's readers. With soft links and votes all candidate readers count by their weight,
// otherwise only those that read the wire. Returns whether there is any gradient.
template <bool kSoft>
__device__ __forceinline__ bool collect(const Block& block, const Range& range, Reader reader,
                                        Rows& d) {
  const Memory& memory = block.memory;
#pragma unroll
  for (int k = 0; k < kWords; ++k) d.word[k] = {0.0f, 0.0f, 0.0f, 0.0f};
  bool any = add_rules<kSoft>(block, range, d);
  int most = range.end - range.begin;  // most readers of a wire, over the groups of this warp
#pragma unroll
  for (int offset = kGroup; offset < 32; offset *= 2)
    most = max(most, __shfl_xor_sync(kAll, most, offset));
  for (int start = 0; start < most; start += kGroup) {
    if (start > 0) reader = find_reader<kSoft>(block, find_candidate(block, range, start));
    const float own_low = reader.share * reader.slope.low;
    const float own_high = reader.share * reader.slope.high;
    u32 places = __ballot_sync(kAll, own_low != 0.0f || own_high != 0.0f);
    any |= places >> (lane_of() & ~(kGroup - 1)) & ((1u << kGroup) - 1);
    places |= places >> 16;
    places |= places >> 8;
    for (places &= (1u << kGroup) - 1; places; places &= places - 1) {
      const int place = __ffs(places) - 1;
      const int input = __shfl_sync(kAll, reader.input, place, kGroup);
      const float low = __shfl_sync(kAll, own_low, place, kGroup);
      const float high = __shfl_sync(kAll, own_high, place, kGroup);
      const float* gradient = memory.gradient + (input >> 1) * kStride + lane_rows();
#pragma unroll
      for (int k = 0; k < kWords; ++k)
        add_chosen(d.word[k], memory.words[(input ^ 1) * kWords + k] >> lane_rows(), low, high,
                   *reinterpret_cast<const float4*>(gradient + 32 * k));
    }
  }
  const float factor = block.plan.grad_factor;
#pragma unroll
  for (int k = 0; k < kWords; ++k) {
    float4& x = d.word[k];
    x = {x.x * factor, x.y * factor, x.z * factor, x.w * factor};
  }
  return any;
}

constexpr int kAtOnce = kThreads / kGroup;  // wires that a block processes at once
__device__ inline int group_of() { return threadIdx.x / kGroup; }

// The gates that a block processes: from `base`, in a level that ends before `end`. It starts with
// the last level; a negative level means that all are done.
struct Round {
  int level, base, end;
};

__device__ __forceinline__ Round round_after(const Round& round, const int* starts) {
  if (round.base + kAtOnce < round.end) return {round.level, round.base + kAtOnce, round.end};
  const int level = round.level - 1;
  if (level < 0) return {level, 0, 0};
  return {level, __ldg(starts + level), __ldg(starts + level + 1)};
}

template <bool kSoft>
__device__ inline void backward_gates(const Block& block) {
  const Plan& plan = block.plan;
  const int* starts = block.pools.level_start + plan.level;
  const auto range_of = [&](const Round& round) {
    const int gate = round.base + group_of();
    return find_range(block, plan.n_literals + gate, gate < round.end);
  };
  // Memory is read ahead, in a pipeline over rounds of wires. While one round is computed, the
  // readers of the next round are loaded, the candidates of the round after it, and the ranges of
  // the round after that.
  Round now = round_after({plan.n_levels, 0, 0}, starts), next = round_after(now, starts);
  Round third = round_after(next, starts);
  Range range = range_of(now), next_range = range_of(next), third_range = range_of(third);
  Candidate next_candidate = find_candidate(block, next_range, 0);
  Reader reader = find_reader<kSoft>(block, find_candidate(block, range, 0));
  while (now.level >= 0) {
    const Round later = round_after(third, starts);
    const Range later_range = range_of(later);
    const Candidate third_candidate = find_candidate(block, third_range, 0);
    const Reader next_reader = find_reader<kSoft>(block, next_candidate);
    Rows d;
    const bool any = collect<kSoft>(block, range, reader, d);
    const int gate = now.base + group_of();
    if (gate < now.end) {
      float* gradient = block.memory.gradient + gate * kStride + lane_rows();
#pragma unroll
      for (int k = 0; k < kWords; ++k) *reinterpret_cast<float4*>(gradient + 32 * k) = d.word[k];
      if (!kSoft && lane_rows() == 0) block.memory.reached[gate] = any;
    }
    if (next.level != now.level) __syncthreads();
    now = next, next = third, third = later;
    range = next_range, next_range = third_range, third_range = later_range;
    next_candidate = third_candidate;
    reader = next_reader;
  }
}

// Sums of g, ga, gb and gab over the rows of a gate, which determine the gradients of its
// functions. They are stored in the four floats of padding after the gate's gradients; see kStride.
__device__ inline float* gate_sums(const Block& block, int gate) {
  return block.memory.gradient + gate * kStride + kRows;
}

__device__ inline void sum_gates(const Block& block) {
  for (int i = threadIdx.x; i < 4 * block.plan.n_gates; i += kThreads) {
    const int g = i >> 2;
    float& kept = gate_sums(block, g)[i & 3];
    float sum = block.step.pass > 0 ? kept : 0.0f;
    if (!block.step.trains_links() && !block.memory.reached[g]) {
      kept = sum;
      continue;
    }
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      const u32 a = block.memory.words[2 * g * kWords + k];
      const u32 b = block.memory.words[(2 * g + 1) * kWords + k];
      const u32 word = (i & 1 ? a : kAll) & (i & 2 ? b : kAll);
      sum += masked_sum(block.memory.gradient + g * kStride + 32 * k, word);
    }
    kept = sum;
  }
}

// d loss / d mixture weight of a candidate: the gradient of its input, summed over the rows in
// which the candidate is 1, plus `pull`, the sum over earlier rows. Except for XOR and XNOR, one of
// a hard gate's two slopes is 0 or both are equal, so that one sum is usually enough.
__device__ __forceinline__ float pull_of_link(const Block& block, const Slope& slope, int input,
                                              int wire, float pull) {
  const Memory& memory = block.memory;
  const bool twice = slope.low != 0.0f && slope.high != 0.0f && slope.low != slope.high;
  const u32 where_low = slope.low != 0.0f ? kAll : 0;
  const u32 where_high = slope.high != 0.0f && !twice ? kAll : 0;
  const float factor = where_low ? slope.low : slope.high;
  const float* rows = memory.gradient + (input >> 1) * kStride;
  const u32 *bits = memory.bits + wire * kWords, *others = memory.words + (input ^ 1) * kWords;
#pragma unroll 1
  for (int k = 0; k < kWords; ++k, rows += 32) {
    const u32 word = bits[k], other = others[k];
    float sum = factor * masked_sum(rows, word & ((~other & where_low) | (other & where_high)));
    if (twice) sum = fmaf(slope.high, masked_sum(rows, word & other), sum);
    pull += sum;
  }
  return pull;
}

// The gradient of an output, summed over the rows in which the rule of a vote is 1. The bias is the
// weight of a rule that is always 1.
__device__ __forceinline__ float pull_of_vote(const Block& block, int vote) {
  const bool is_weight = block.plan.predicts_number();
  const bool is_bias = is_weight && vote == block.plan.n_rules;
  const int c = is_weight ? 0 : vote / block.plan.n_rules, r = vote - c * block.plan.n_rules;
  const int wire = is_bias ? 0 : block.memory.rules[r];
  float pull = block.step.pass > 0 ? block.pools.gradient[block.plan.votes + vote] : 0.0f;
#pragma unroll
  for (int k = 0; k < kWords; ++k)
    pull += masked_sum(block.memory.score + c * kStride + 32 * k,
                       is_bias ? kAll : block.memory.bits[wire * kWords + k]);
  return pull;
}
