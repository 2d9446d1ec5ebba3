// The backward pass: from the gradient of the votes to the gradient of every gate, and from there
// to sums over rows for every parameter.
#pragma once

#include "network.h"

// d gate / d input where the other input is 0, and where it is 1.
struct Slope {
  float low, high;
};

// Of input a (side 0) or b (side 1) through the hard gate.
__device__ inline Slope hard_slope(u32 code, int side) {
  const int t00 = code >> 3 & 1, t01 = code >> 2 & 1, t10 = code >> 1 & 1, t11 = code & 1;
  return {static_cast<float>((side ? t01 : t10) - t00),
          static_cast<float>(t11 - (side ? t10 : t01))};
}

// Differs from the paper: unless the mixture is asked for, through the hard gate, also while the
// gates are being trained.
__device__ inline bool is_mixed(const Block& block) {
  return block.plan.mixture && block.step.trains_gates();
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

// Who reads a group's wire: where its readers and rules begin and end, and kGroup of the readers,
// one to a lane, each with its share of the gradient where its other input is 0, and where it is 1.
struct Readers {
  int begin, end, rule, rule_end;
  int input;
  float low, high;
};

template <bool kSoft>
__device__ __forceinline__ void load_readers(const Block& block, int start, Readers& readers) {
  const bool mixed = is_mixed(block);
  const int e = readers.begin + start + (lane_of() & (kGroup - 1));
  readers.input = 2 * block.plan.n_gates - 1;  // whose gradient is always there
  readers.low = readers.high = 0.0f;
  if (e >= readers.end) return;
  const int slot = __ldg(block.pools.reader_slot + e);
  const int input = __ldg(block.pools.reader_input + e);
  const float share =
      kSoft ? block.pools.parameters[block.plan.links + slot].probability
            : static_cast<float>(block.memory.chosen[input] == slot - input * block.plan.n_links);
  const Slope slope = slope_of(block, mixed, input >> 1, input & 1);
  readers.input = input;
  readers.low = share * slope.low;
  readers.high = share * slope.high;
}

template <bool kSoft>
__device__ __forceinline__ Readers find_readers(const Block& block, int wire, bool wanted) {
  Readers readers = {0, 0, 0, 0, 0, 0.0f, 0.0f};
  if (wanted) {
    const int* reader_start = block.pools.reader_start + block.plan.wire + wire;
    const int* rule_start = block.pools.rule_start + block.plan.wire + wire;
    readers.begin = __ldg(reader_start);
    readers.end = __ldg(reader_start + 1);
    readers.rule = __ldg(rule_start);
    readers.rule_end = __ldg(rule_start + 1);
  }
  load_readers<kSoft>(block, 0, readers);
  return readers;
}

// Add what the rules that read a group's wire pass on; says whether they do.
template <bool kSoft>
__device__ __forceinline__ bool add_rules(const Block& block, const Readers& readers, Rows& d) {
  const Memory& memory = block.memory;
  bool any = false;
  for (int e = readers.rule; e < readers.rule_end; ++e) {
    const int r = __ldg(block.pools.rule_reader + e);
    for (int c = 0; c < block.plan.n_classes; ++c) {
      const int vote = c * block.plan.n_rules + r;
      const float part = kSoft ? memory.shares[vote] : static_cast<float>(memory.votes[vote]);
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

// The gradient of each group's wire, for the rows of each lane; a warp calls. With soft links and
// votes it is the wire's share of all that might read it, otherwise of those that do. Says whether
// anything arrived.
template <bool kSoft>
__device__ __forceinline__ bool collect(const Block& block, Readers& readers, Rows& d) {
  const Memory& memory = block.memory;
#pragma unroll
  for (int k = 0; k < kWords; ++k) d.word[k] = {0.0f, 0.0f, 0.0f, 0.0f};
  bool any = add_rules<kSoft>(block, readers, d);
  int most = readers.end - readers.begin;  // of the groups of this warp
#pragma unroll
  for (int offset = kGroup; offset < 32; offset *= 2)
    most = max(most, __shfl_xor_sync(kAll, most, offset));
  for (int start = 0; start < most; start += kGroup) {
    if (start > 0) load_readers<kSoft>(block, start, readers);
    u32 places = __ballot_sync(kAll, readers.low != 0.0f || readers.high != 0.0f);
    any |= places >> (lane_of() & ~(kGroup - 1)) & ((1u << kGroup) - 1);
    places |= places >> 16;
    places |= places >> 8;
    for (places &= (1u << kGroup) - 1; places; places &= places - 1) {
      const int place = __ffs(places) - 1;
      const int input = __shfl_sync(kAll, readers.input, place, kGroup);
      const float low = __shfl_sync(kAll, readers.low, place, kGroup);
      const float high = __shfl_sync(kAll, readers.high, place, kGroup);
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

constexpr int kAtOnce = kThreads / kGroup;  // wires that a block is at
__device__ inline int group_of() { return threadIdx.x / kGroup; }

template <bool kSoft>
__device__ inline void backward_gates(const Block& block) {
  const Plan& plan = block.plan;
  const int* starts = block.pools.level_start + plan.level;
  int end = plan.n_gates;
  Readers ahead;
  for (int level = plan.n_levels - 1; level >= 0; --level) {
    const int begin = __ldg(starts + level), before = level > 0 ? __ldg(starts + level - 1) : 0;
    if (end == plan.n_gates)
      ahead = find_readers<kSoft>(block, plan.n_literals + begin + group_of(),
                                  begin + group_of() < end);
    for (int base = begin; base < end; base += kAtOnce) {
      const int gate = base + group_of();
      Readers readers = ahead;
      // Who reads the wires that come next is fetched while these are at work.
      const bool stays = base + kAtOnce < end;
      const int next = stays ? gate + kAtOnce : before + group_of();
      ahead = find_readers<kSoft>(block, plan.n_literals + next, next < (stays ? end : begin));
      Rows d;
      const bool any = collect<kSoft>(block, readers, d);
      if (gate < end) {
        float* gradient = block.memory.gradient + gate * kStride + lane_rows();
#pragma unroll
        for (int k = 0; k < kWords; ++k)
          *reinterpret_cast<float4*>(gradient + 32 * k) = d.word[k];
        if (!kSoft && lane_rows() == 0) block.memory.reached[gate] = any;
      }
    }
    end = begin;
    __syncthreads();
  }
}

// Sums of g, ga, gb and gab over the rows of a gate: its functions' gradients follow from them.
// They are kept in the four places that part a gate's gradients from the next one's.
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

// d loss / d mixture weight of a candidate: its input's gradient, summed over the rows where it is
// 1, and `pull`, that of the rows before. Of a hard gate's two slopes one is 0 or both are alike,
// unless it is an exclusive or, so that mostly one sum does.
__device__ __forceinline__ float pull_of_link(const Block& block, bool mixed, int input, int wire,
                                              float pull) {
  const Memory& memory = block.memory;
  const Slope slope = slope_of(block, mixed, input >> 1, input & 1);
  const bool low = slope.low != 0.0f, differ = slope.low != slope.high;
  const bool twice = low && differ && slope.high != 0.0f;
  const float factor = low ? slope.low : slope.high;
  const float* rows = memory.gradient + (input >> 1) * kStride;
  const u32 *bits = memory.bits + wire * kWords, *others = memory.words + (input ^ 1) * kWords;
#pragma unroll 1
  for (int k = 0; k < kWords; ++k, rows += 32) {
    const u32 word = bits[k], other = others[k];
    float sum = factor * masked_sum(rows, word & (low ? (differ ? ~other : kAll) : other));
    if (twice) sum = fmaf(slope.high, masked_sum(rows, word & other), sum);
    pull += sum;
  }
  return pull;
}

__device__ __forceinline__ float pull_of_vote(const Block& block, int vote) {
  const int c = vote / block.plan.n_rules, r = vote - c * block.plan.n_rules;
  const int wire = block.memory.rules[r];
  float pull = block.step.pass > 0 ? block.pools.gradient[block.plan.votes + vote] : 0.0f;
#pragma unroll
  for (int k = 0; k < kWords; ++k)
    pull += masked_sum(block.memory.score + c * kStride + 32 * k,
                       block.memory.bits[wire * kWords + k]);
  return pull;
}

__device__ inline bool trains_literal(const Block& block, int wire) {
  return __ldg(block.pools.literal_kind + block.plan.literal + wire) == kAbove &&
         __ldg(block.pools.literal_freeze + block.plan.literal + wire) > block.step.epoch;
}

// What rows give the cutoff and the slope of a literal: through the sigmoid that stands for the step,
// s(x - b) with derivative y (1 - y). The slope's factor in the first is left out.
__device__ __forceinline__ void pull_row(float d, float cell, float cutoff, float exponent,
                                         float2& sum) {
  const float distance = cell - cutoff;
  const bool known = fabsf(distance) < 1e15f;  // false where the cell is missing
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

// Through hard links: what each input gives the literal that it reads; a thread takes an input and
// 32 rows, of those inputs that a gradient reaches.
__device__ inline void pull_literals_by_input(const Block& block) {
  __shared__ int n_inputs;
  const Plan& plan = block.plan;
  const Memory& memory = block.memory;
  const bool mixed = is_mixed(block);
  u32* inputs = memory.bits;  // no longer needed in a phase of gates
  if (threadIdx.x == 0) n_inputs = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * plan.n_gates; i += kThreads)
    if (memory.reached[i >> 1] && memory.source[i] < plan.n_literals &&
        trains_literal(block, memory.source[i]))
      inputs[atomicAdd(&n_inputs, 1)] = i;
  __syncthreads();
  float2* pulls = block.pools.pulls + 2 * plan.gate * kWords;
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

// Add to `sum` what the inputs that read a literal give it; a thread takes a literal. Several
// readers are looked at together: one load need not wait for the other.
__device__ inline float2 add_pulls(const Block& block, int wire, float2 sum) {
  constexpr int kTogether = 4;
  const Plan& plan = block.plan;
  const float2* pulls = block.pools.pulls + 2 * plan.gate * kWords;
  const int* starts = block.pools.reader_start + plan.wire + wire;
  const int begin = __ldg(starts), end = __ldg(starts + 1);
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

// The general way to the same: the whole gradient of every literal; a group takes a literal.
template <bool kSoft>
__device__ inline void pull_literals_by_wire(const Block& block) {
  const Plan& plan = block.plan;
  const bool upper = lane_of() & (kGroup / 2);  // half of a group sums for the slope
  const auto wanted = [&](int wire) {
    return wire < plan.n_literals && trains_literal(block, wire);
  };
  Readers ahead = find_readers<kSoft>(block, group_of(), wanted(group_of()));
  for (int base = 0; base < plan.n_literals; base += kAtOnce) {
    const int wire = base + group_of();
    Readers readers = ahead;
    ahead = find_readers<kSoft>(block, wire + kAtOnce, wanted(wire + kAtOnce));
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
    collect<kSoft>(block, readers, d);
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
