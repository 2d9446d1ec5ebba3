// From sums over rows to gradients, from gradients to parameters, and from parameters to the values
// that the next step reads: probabilities, hard gates, links and votes.
#pragma once

#include "lanes.h"
#include "literals.h"

// What to do with a list of candidates: only read its logits, train them, or return their
// gradients.
enum Mode { kRefresh, kTrain, kProbe };

// One step of Adam.
__device__ inline void adam(Parameter& p, float gradient, float rate, float epsilon) {
  constexpr float kFirst = 0.9f, kSecond = 0.999f;
  p.first = fmaf(kFirst, p.first, (1.0f - kFirst) * gradient);
  p.second = fmaf(kSecond, p.second, (1.0f - kSecond) * gradient * gradient);
  p.value -= __fdividef(rate * p.first, sqrtf(p.second) + epsilon);
}

// Parameters are read and written as a whole: sixteen bytes in one instruction.
__device__ inline Parameter load(const Parameter* p) {
  const float4 x = *reinterpret_cast<const float4*>(p);
  return {x.x, x.y, x.z, x.w};
}
__device__ inline void store(Parameter* to, const Parameter& p) {
  *reinterpret_cast<float4*>(to) = {p.value, p.first, p.second, p.probability};
}

// Lists of candidates, each with its own softmax: the functions of gates, the links of inputs.
struct Lists {
  Parameter* logits;
  float* gradient;
  int count, n_candidates;
  float inverse_temperature, rate, epsilon;
};

// The largest logit and the first candidate that has it, returned to all lanes of a group.
template <int kLanes>
__device__ __forceinline__ int first_best(float value, float& top) {
  top = value;
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    top = fmaxf(top, __shfl_xor_sync(kAll, top, offset));
  const u32 best = __ballot_sync(kAll, value == top) >> (lane_of() & ~(kLanes - 1));
  // If training has diverged, logits may be NaN, and then no candidate equals the largest.
  return best ? (__ffs(best) - 1) & (kLanes - 1) : 0;
}

// One candidate per lane. `prepare` loads the data of a candidate besides its logit, `pull` returns
// d loss / d probability, and `choose` takes the result; it is called by every lane.
template <Mode mode, int kLanes, typename Frozen, typename Prepare, typename Pull, typename Choose>
__device__ __forceinline__ void visit_short_lists(const Lists& lists, Frozen frozen,
                                                  Prepare prepare, Pull pull, Choose choose) {
  constexpr int per_warp = 32 / kLanes, stride = kWarps * per_warp;
  const int n = lists.n_candidates, k = lane_of() & (kLanes - 1), step = stride * n;
  const int end = k < n ? lists.count : 0;  // 0 if the lists have no candidate for this lane
  Parameter* const logits = in_registers(lists.logits);
  int list = threadIdx.x / kLanes, at = list * n + k;
  const Parameter none = {-infinity(), 0.0f, 0.0f, 0.0f};
  Parameter next = list < end ? load(logits + at) : none;
  int extra = list < end ? prepare(at) : 0;
  for (int first = warp_of() * per_warp; first < lists.count;
       first += stride, list += stride, at += step) {
    const bool real = list < end;
    const int own = extra;
    Parameter p = next;
    // The next values are fetched while these are processed.
    if (list + stride < end) {
      next = load(logits + at + step);
      extra = prepare(at + step);
    } else {
      next = none;
    }
    const bool fixed = list < lists.count && frozen(list);
    if (mode != kRefresh) {
      const float pulled = real ? pull(list, k, own) : 0.0f;
      const float mean = group_sum<kLanes>(p.probability * pulled);
      const float gradient = p.probability * (pulled - mean) * lists.inverse_temperature;
      if (mode == kProbe) {
        if (real) lists.gradient[at] = gradient;
        continue;
      }
      if (real && !fixed) adam(p, gradient, lists.rate, lists.epsilon);
    }
    float top;
    const int best = first_best<kLanes>(p.value, top);
    const float e = real ? __expf((p.value - top) * lists.inverse_temperature) : 0.0f;
    const float total = group_sum<kLanes>(e);
    p.probability = fixed ? static_cast<float>(k == best) : __fdividef(e, total);
    if (real) store(logits + at, p);
    choose(list, k, best, __shfl_sync(kAll, own, best, kLanes), real ? p.probability : 0.0f);
  }
}

// One list per warp, if there are more candidates than lanes.
template <Mode mode, typename Frozen, typename Prepare, typename Pull, typename Choose>
__device__ inline void visit_long_lists(const Lists& lists, Frozen frozen, Prepare prepare,
                                        Pull pull, Choose choose) {
  const int n = lists.n_candidates;
  for (int list = warp_of(); list < lists.count; list += kWarps) {
    Parameter* logits = lists.logits + static_cast<i64>(list) * n;
    float* gradient = lists.gradient + static_cast<i64>(list) * n;
    const bool fixed = frozen(list);
    float mean = 0.0f;
    if (mode != kRefresh) {
      for (int k = lane_of(); k < n; k += 32) {
        gradient[k] = pull(list, k, prepare(list * n + k));
        mean = fmaf(logits[k].probability, gradient[k], mean);
      }
      mean = group_sum<32>(mean);
    }
    float top = -infinity();
    int best = 0;
    for (int k = lane_of(); k < n; k += 32) {
      Parameter p = load(logits + k);
      if (mode != kRefresh) {
        gradient[k] = p.probability * (gradient[k] - mean) * lists.inverse_temperature;
        if (mode == kTrain && !fixed) {
          adam(p, gradient[k], lists.rate, lists.epsilon);
          store(logits + k, p);
        }
      }
      if (p.value > top || k < 32) {
        top = p.value;
        best = k;
      }
    }
    if (mode == kProbe) continue;
    const float own = top;
    for (int offset = 16; offset > 0; offset >>= 1)
      top = fmaxf(top, __shfl_xor_sync(kAll, top, offset));
    best = own == top ? best : n - 1;
    for (int offset = 16; offset > 0; offset >>= 1)
      best = min(best, __shfl_xor_sync(kAll, best, offset));
    float total = 0.0f;
    for (int k = lane_of(); k < n; k += 32)
      total += __expf((logits[k].value - top) * lists.inverse_temperature);
    total = group_sum<32>(total);
    for (int k = lane_of(); k < n; k += 32) {
      const float e = __expf((logits[k].value - top) * lists.inverse_temperature);
      logits[k].probability = fixed ? static_cast<float>(k == best) : __fdividef(e, total);
    }
    choose(list, lane_of(), best, prepare(list * n + best), 0.0f);
  }
}

// Whether any gate is frozen. If so, is_frozen checks a single gate.
__device__ inline bool any_frozen(const Block& block) {
  return block.plan.first_freeze <= block.step.epoch;
}

__device__ inline bool is_frozen(const Block& block, int gate) {
  return __ldg(block.pools.gate_freeze + block.plan.gate + gate) <= block.step.epoch;
}

template <Mode mode, int kLanes>
__device__ inline void visit_gate_lists(const Block& block) {
  const Pools& pools = block.pools;
  const Plan& plan = block.plan;
  const Lists lists{pools.parameters + plan.gates, pools.gradient + plan.gates, plan.n_gates,
                    plan.n_choices, block.step.inverse_temperature, block.step.rate,
                    block.step.epsilon};
  const bool freezes = any_frozen(block);
  const int own = lane_of() & (kLanes - 1);  // the choice that this lane processes in every list
  const u32 code = plan.choice[own < plan.n_choices ? own : 0];
  const Slope a = hard_slope(code, 0), b = hard_slope(code, 1);
  const float c0 = code >> 3 & 1, c3 = a.high - a.low;
  visit_short_lists<mode, kLanes>(
      lists, [&](int g) { return freezes && is_frozen(block, g); }, [](int) { return 0; },
      [&](int g, int, int) {
        const float4 sums = *reinterpret_cast<const float4*>(gate_sums(block, g));
        return c0 * sums.x + a.low * sums.y + b.low * sums.z + c3 * sums.w;
      },
      [&](int g, int k, int best, int, float p) {
        if (k == 0 && g < plan.n_gates) block.memory.code[g] = plan.choice[best];
        if (plan.gate_gradient != dln::GateGradient::mixture) return;
        const float4 sum = {group_sum<kLanes>(p * a.low), group_sum<kLanes>(p * a.high),
                            group_sum<kLanes>(p * b.low), group_sum<kLanes>(p * b.high)};
        if (k == 0 && g < plan.n_gates) pools.mixture[plan.gate + g] = sum;
      });
}

template <Mode mode>
__device__ inline void visit_gates(const Block& block) {
  if (block.plan.n_choices <= 8)
    visit_gate_lists<mode, 8>(block);
  else
    visit_gate_lists<mode, 16>(block);
}

// Whether a step of links is plain: all rows in one pass, hard slopes, no gate frozen.
__device__ inline bool is_plain(const Block& block) {
  return block.step.n_passes == 1 && !is_mixed(block) && !any_frozen(block);
}

// A plain step (see is_plain) takes fewer instructions.
template <Mode mode, bool kPlain>
__device__ inline void visit_links(const Block& block) {
  const Pools& pools = block.pools;
  const Plan& plan = block.plan;
  const int n = plan.n_links;
  const int* wires = in_registers(pools.link_wire + plan.link);
  const Lists lists{pools.parameters + plan.links, pools.gradient + plan.links,
                    2 * plan.n_gates, n, block.step.inverse_temperature, block.step.rate,
                    block.step.epsilon};
  const bool mixed = !kPlain && is_mixed(block), adds = !kPlain && block.step.pass > 0;
  const bool freezes = !kPlain && any_frozen(block);
  const auto frozen = [&](int input) { return freezes && is_frozen(block, input >> 1); };
  const auto wire_of = [&](int slot) { return __ldg(wires + slot); };
  const auto pull = [&](int input, int k, int wire) {
    const float before = adds ? lists.gradient[input * n + k] : 0.0f;
    return pull_of_link(block, slope_of(block, mixed, input >> 1, input & 1), input, wire, before);
  };
  const auto choose = [&](int input, int k, int best, int wire, float) {
    if (k != 0 || input >= lists.count) return;
    block.memory.source[input] = wire;
    block.memory.chosen[input] = best;
  };
  if (n <= 8)
    visit_short_lists<mode, 8>(lists, frozen, wire_of, pull, choose);
  else if (n <= 16)
    visit_short_lists<mode, 16>(lists, frozen, wire_of, pull, choose);
  else if (n <= 32)
    visit_short_lists<mode, 32>(lists, frozen, wire_of, pull, choose);
  else
    visit_long_lists<mode>(lists, frozen, wire_of, pull, choose);
}

template <Mode mode>
__device__ inline void visit_weights(const Block& block) {
  const Plan& plan = block.plan;
  const bool frozen = plan.vote_freeze <= block.step.epoch;
  for (int i = threadIdx.x; i < plan.n_weights; i += kThreads) {
    Parameter* weight = block.pools.parameters + plan.votes + i;
    Parameter p = load(weight);
    if (mode != kRefresh) {
      const float gradient = frozen ? 0.0f : pull_of_vote(block, i);
      if (mode == kProbe) {
        block.pools.gradient[plan.votes + i] = gradient;
        continue;
      }
      if (!frozen) adam(p, gradient, block.step.rate * plan.weight_rate, block.step.epsilon);
    }
    const float2 limit = block.pools.limits[plan.limit + i];
    p.value = fminf(fmaxf(p.value, limit.x), limit.y);
    store(weight, p);
    block.memory.votes[i] = p.value != 0.0f;
    block.memory.shares[i] = p.value;
  }
}

template <Mode mode>
__device__ inline void visit_votes(const Block& block) {
  if (block.plan.predicts_number()) return visit_weights<mode>(block);
  const Plan& plan = block.plan;
  const bool frozen = plan.vote_freeze <= block.step.epoch;
  for (int vote = kThreads - 1 - threadIdx.x; vote < plan.n_classes * plan.n_rules;
       vote += kThreads) {
    Parameter* logit = block.pools.parameters + plan.votes + vote;
    Parameter p = load(logit);
    if (mode != kRefresh) {
      const float gradient = pull_of_vote(block, vote) * (p.probability * (1.0f - p.probability));
      if (mode == kProbe) {
        block.pools.gradient[plan.votes + vote] = gradient;
        continue;
      }
      if (!frozen) adam(p, gradient, block.step.rate, block.step.epsilon);
    }
    const bool on = head::vote_is_on(p.value, plan.vote_limit);
    const float e = __expf(-fabsf(p.value));
    const float share = (p.value < 0.0f ? e : 1.0f) / (1.0f + e);
    p.probability = frozen ? static_cast<float>(on) : share;
    store(logit, p);
    block.memory.votes[vote] = on;
    block.memory.shares[vote] = p.probability;
  }
}

// After a pass that is not the last one of its batch: store the sums for the next pass.
__device__ inline void keep_link_pulls(const Block& block) {
  const Plan& plan = block.plan;
  const bool mixed = is_mixed(block), adds = block.step.pass > 0;
  const int* wires = block.pools.link_wire + plan.link;
  float* pulls = block.pools.gradient + plan.links;
  for (int slot = threadIdx.x; slot < 2 * plan.n_gates * plan.n_links; slot += kThreads) {
    const int input = slot / plan.n_links;
    const Slope slope = slope_of(block, mixed, input >> 1, input & 1);
    pulls[slot] =
        pull_of_link(block, slope, input, __ldg(wires + slot), adds ? pulls[slot] : 0.0f);
  }
  for (int vote = threadIdx.x; vote < plan.n_votes(); vote += kThreads)
    block.pools.gradient[plan.votes + vote] = pull_of_vote(block, vote);
}

// The parameters of a literal, whether they are trained, and where its readers begin and end.
struct Literal {
  Parameter cutoff, slope;
  bool trains;
  int begin, end;
};

__device__ __forceinline__ Literal load_literal(const Block& block, int wire) {
  const Plan& plan = block.plan;
  const int* starts = block.pools.reader_start + plan.wire + wire;
  return {load(block.pools.parameters + plan.parameter + wire),
          load(block.pools.parameters + plan.slopes + wire), trains_literal(block, wire),
          __ldg(starts), __ldg(starts + 1)};
}

template <Mode mode, bool by_input>
__device__ inline void visit_literals(const Block& block) {
  const Plan& plan = block.plan;
  Literal next = {};
  if (threadIdx.x < plan.n_literals) next = load_literal(block, threadIdx.x);
  for (int i = threadIdx.x; i < plan.n_literals; i += kThreads) {
    Literal own = next;
    // The next values are fetched while these are processed.
    if (i + kThreads < plan.n_literals) next = load_literal(block, i + kThreads);
    float *to_cutoff = block.pools.gradient + plan.parameter + i,
          *to_slope = block.pools.gradient + plan.slopes + i;
    float2 gradient = {0.0f, 0.0f};
    if (own.trains && (!by_input || block.step.pass > 0)) gradient = {*to_cutoff, *to_slope};
    if (own.trains && by_input) gradient = add_pulls(block, own.begin, own.end, gradient);
    if (mode == kProbe || !block.step.is_last()) {
      *to_cutoff = gradient.x;
      *to_slope = gradient.y;
      continue;
    }
    if (own.trains) {
      const float rate = block.step.rate * plan.threshold_rate;
      adam(own.cutoff, gradient.x, rate, block.step.epsilon);
      adam(own.slope, gradient.y, rate, block.step.epsilon);
      store(block.pools.parameters + plan.parameter + i, own.cutoff);
    }
    own.slope.value = fmaxf(own.slope.value, kMinSlope);
    store(block.pools.parameters + plan.slopes + i, own.slope);
  }
}

__device__ inline void refresh(const Block& block) {
  for (int r = threadIdx.x; r < block.plan.n_rules; r += kThreads)
    block.memory.rules[r] = __ldg(block.pools.rule_wire + block.plan.rule + r);
  call<visit_gates<kRefresh>>();
  call<visit_links<kRefresh, false>>();
  visit_votes<kRefresh>(block);
  __syncthreads();
}

// Use the gradients of the gates of one pass: add up sums and, after the last pass of a batch,
// train.
template <Mode mode>
__device__ inline void update(const Block& block) {
  const Step& step = block.step;
  const bool trains_thresholds = step.trains_gates() && block.plan.threshold_rate > 0.0f;
  const bool by_input = !step.trains_links() && !block.plan.rules_on_literals;
  if (step.trains_gates()) call<sum_gates>();
  if (trains_thresholds) {
    if (by_input)
      call<pull_literals_by_input>();
    else if (step.trains_links())
      call<pull_literals_by_wire<true>>();
    else
      call<pull_literals_by_wire<false>>();
  }
  if (step.trains_links()) {
    // Wait, because the gradients of literals read the probabilities that are changed now.
    if (trains_thresholds) __syncthreads();
    if (step.is_last()) {
      if (is_plain(block))
        call<visit_links<mode, true>>();
      else
        call<visit_links<mode, false>>();
      call<visit_votes<mode>>();
    } else {
      call<keep_link_pulls>();
    }
  }
  __syncthreads();
  if (trains_thresholds) {
    if (by_input)
      call<visit_literals<mode, true>>();
    else
      call<visit_literals<mode, false>>();
  }
  if (step.trains_gates() && step.is_last()) call<visit_gates<mode>>();
  __syncthreads();
}
