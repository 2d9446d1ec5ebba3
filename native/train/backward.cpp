// The backward pass: from the gradient of the class sums to sums for every parameter.
#include <algorithm>
#include <type_traits>

#include "trainer.h"

namespace dln::DLN_LEVEL {

namespace {

DLN_INLINE void load_rows(const float* rows, Gradient& d) {
  for (int i = 0; i < kChunks; ++i) d[i] = load(rows + i * kLanes);
}

// The sum of a gradient over the rows whose bit is set, in 16 lanes.
DLN_INLINE v16f masked_sum(const Gradient& d, const uint64_t& word) {
  v16f sum = keep(chunk_bits(word, 0), d[0]);
  for (int i = 1; i < kChunks; ++i) sum = add_where(sum, chunk_bits(word, i), d[i]);
  return sum;
}

// Candidates whose sums are computed while the gradient of their input is in registers.
constexpr int kCandidates = 4;

// For up to 4 candidates of the 16 inputs of a tile, add the sums of d loss / d input over the rows
// where the candidate is 1. Inputs that are not active have no gradient.
template <int kCount>
DLN_INLINE void add_link_sums(const float* inputs, const uint8_t* active, const uint64_t* bits,
                              const int32_t* wires, float* gradient) {
  LaneSums sums[kCount];
  for (int lane = 0; lane < kLanes; ++lane) {
    if (active[lane]) {
      Gradient d;
      load_rows(inputs + lane * kRows, d);
#pragma GCC unroll 4
      for (int k = 0; k < kCount; ++k)
        sums[k].set(lane, masked_sum(d, bits[wires[k * kLanes + lane]]));
    } else {
#pragma GCC unroll 4
      for (int k = 0; k < kCount; ++k) sums[k].clear(lane);
    }
  }
  for (int k = 0; k < kCount; ++k)
    store(gradient + k * kLanes, load(gradient + k * kLanes) + sums[k].total());
}

}  // namespace

// Add to the gradient of a wire.
void Trainer::pass_on(int wire, const Gradient& d) {
  float* sum = &wire_gradient_[static_cast<size_t>(wire) * kRows];
  if (reached_[wire]) {
    for (int i = 0; i < kChunks; ++i) store(sum + i * kLanes, load(sum + i * kLanes) + d[i]);
  } else {
    for (int i = 0; i < kChunks; ++i) store(sum + i * kLanes, d[i]);
    reached_[wire] = 1;
  }
}

// The complete gradient of a wire: what its readers passed on and, with soft links, its share of
// every input that might read it. Returns false if there is none.
bool Trainer::collect(int wire, bool soft, Gradient& d) {
  bool any = reached_[wire];
  if (!any && !soft) return false;
  Gradient sum = {};  // a local variable stays in registers
  if (any) load_rows(&wire_gradient_[static_cast<size_t>(wire) * kRows], sum);
  if (soft) {
    // Listed first: a branch on each reader would often be mispredicted.
    int32_t* readers = active_readers_.data();
    int count = 0;
    for (int e = reader_start_[wire]; e < reader_start_[wire + 1]; ++e) {
      readers[count] = e;
      count += input_active_[reader_input_[e]];
    }
    for (int j = 0; j < count; ++j) {
      const int e = readers[j];
      const v16f share = fill(link_probability_[reader_slot_[e]]);
      const float* input = &input_gradient_[static_cast<size_t>(reader_input_[e]) * kRows];
      for (int i = 0; i < kChunks; ++i) sum[i] += share * load(input + i * kLanes);
    }
    any |= count > 0;
  }
  if (any && options_.grad_factor != 1.0f)
    for (int i = 0; i < kChunks; ++i) sum[i] = sum[i] * fill(options_.grad_factor);
  for (int i = 0; i < kChunks; ++i) d[i] = sum[i];
  return any;
}

void Trainer::backward_votes(bool soft) {
  const bool soft_rules = soft && options_.vote_gradient == VoteGradient::soft;
  for (int r = 0; r < net_.n_rules; ++r) {
    if (!soft_rules) break;
    Gradient d = {};
    for (int c = 0; c < net_.n_classes; ++c) {
      const v16f weight = fill(vote_weight_[static_cast<size_t>(c) * n_rules_padded_ + r]);
      for (int i = 0; i < kChunks; ++i) d[i] += weight * load(&score_[c * kRows + i * kLanes]);
    }
    pass_on(net_.rule_wire[r], d);
  }
  for (int c = 0; c < net_.n_classes; ++c) {
    Gradient d;
    load_rows(&score_[c * kRows], d);
    if (!soft_rules) {
      for (int32_t rule : voters_[c]) pass_on(net_.rule_wire[rule], d);
    }
    if (soft)
      add_rule_sums(d, net_.n_rules,
                    &vote_logits_.gradient[static_cast<size_t>(c) * n_rules_padded_]);
  }
}

// Add the sums of a gradient over the rows where each of the first `count` rules is 1.
void Trainer::add_rule_sums(const Gradient& d, int count, float* gradient) {
  for (int r = 0; r < count; r += kLanes) {
    LaneSums sums;
    for (int lane = 0; lane < kLanes; ++lane)
      sums.set(lane, r + lane < count ? masked_sum(d, bits_[rule_wire_[r + lane]]) : v16f{});
    store(gradient + r, load(gradient + r) + sums.total());
  }
}

// The head of a number is linear: rules get their weight times the gradient of the number.
void Trainer::backward_weights(bool trains) {
  Gradient d;
  load_rows(score_.data(), d);
  for (int32_t rule : voters_[0]) {
    Gradient to;
    for (int i = 0; i < kChunks; ++i) to[i] = fill(weights_.value[rule]) * d[i];
    pass_on(rule_wire_[rule], to);
  }
  if (trains) add_rule_sums(d, net_.n_weights(), weights_.gradient.data());
}

// Sum this block's gate gradients over its rows, for the 16 gates of a tile.
void Trainer::backward_gate_tile(int tile) {
  for (int j = 0; j < 4; ++j) {
    float* sums = &gate_sums_[(static_cast<size_t>(tile) * 4 + j) * kLanes];
    store(sums, load(sums) + partial_[j].total());
    for (int lane = 0; lane < kLanes; ++lane) partial_[j].clear(lane);
  }
}

// Sum d loss / d input over the rows where each candidate is 1, for the 16 inputs of a tile.
void Trainer::backward_link_tile(int tile) {
  const float* inputs = &input_gradient_[static_cast<size_t>(tile) * kLanes * kRows];
  const uint8_t* active = &input_active_[static_cast<size_t>(tile) * kLanes];
  const auto add = [&](auto count, int k) {
    const size_t slot = (static_cast<size_t>(tile) * net_.n_links + k) * kLanes;
    add_link_sums<count()>(inputs, active, bits_.data(), &link_wire_[slot],
                           &link_logits_.gradient[slot]);
  };
  int k = 0;
  for (; k + kCandidates <= net_.n_links; k += kCandidates)
    add(std::integral_constant<int, kCandidates>{}, k);
  for (; k < net_.n_links; ++k) add(std::integral_constant<int, 1>{}, k);
}

// Pass the gradient of a gate on to its inputs, and sum it for the functions of the gate.
void Trainer::backward_gate(int gate, Phase phase, const Gradient& d) {
  const bool trains_gates = phase != Phase::links, trains_links = phase != Phase::gates;
  const int32_t source_a = source_[2 * gate], source_b = source_[2 * gate + 1];
  const uint64_t &a = bits_[source_a], &b = bits_[source_b], both = a & b;
  if (trains_gates) {
    v16f sums[4] = {};
    for (int i = 0; i < kChunks; ++i) {
      sums[0] += d[i];
      sums[1] = add_where(sums[1], chunk_bits(a, i), d[i]);
      sums[2] = add_where(sums[2], chunk_bits(b, i), d[i]);
      sums[3] = add_where(sums[3], chunk_bits(both, i), d[i]);
    }
    for (int j = 0; j < 4; ++j) partial_[j].set(gate % kLanes, sums[j]);
  }
  // Differs from the paper: unless the mixture gradient is requested, the gradient passes through
  // the hard gate, also while gates are trained.
  const Bilinear c = trains_gates && options_.gate_gradient == GateGradient::mixture
                         ? mixture_[gate]
                         : bilinear(code_[gate]);
  // Some functions depend on one input or on none.
  const bool reads_a = c.c1 != 0.0f || c.c3 != 0.0f, reads_b = c.c2 != 0.0f || c.c3 != 0.0f;
  const auto times = [&](const uint64_t& other, float low, float high, auto&& use) {
    for (int i = 0; i < kChunks; ++i)
      use(i, d[i] * choose(chunk_bits(other, i), fill(high), fill(low)));
  };
  if (trains_links) {
    input_active_[2 * gate] = reads_a;
    input_active_[2 * gate + 1] = reads_b;
    float* inputs = &input_gradient_[static_cast<size_t>(2 * gate) * kRows];
    times(b, c.c1, c.c1 + c.c3, [&](int i, v16f x) { store(inputs + i * kLanes, x); });
    times(a, c.c2, c.c2 + c.c3, [&](int i, v16f x) { store(inputs + kRows + i * kLanes, x); });
    return;
  }
  const auto wants = [&](int wire) {
    return wire >= net_.n_literals || (options_.threshold_rate > 0.0f && trains_literal(wire));
  };
  Gradient to;
  const auto keep_it = [&](int i, v16f x) { to[i] = x; };
  if (reads_a && wants(source_a)) {
    times(b, c.c1, c.c1 + c.c3, keep_it);
    pass_on(source_a, to);
  }
  if (reads_b && wants(source_b)) {
    times(a, c.c2, c.c2 + c.c3, keep_it);
    pass_on(source_b, to);
  }
}

void Trainer::backward_gates(Phase phase) {
  const bool trains_gates = phase != Phase::links, trains_links = phase != Phase::gates;
  for (int g = net_.n_gates - 1; g >= 0; --g) {
    Gradient d;
    if (collect(net_.n_literals + g, trains_links, d))
      backward_gate(g, phase, d);
    else
      input_active_[2 * g] = input_active_[2 * g + 1] = 0;
    if (trains_gates && g % kLanes == 0) backward_gate_tile(g / kLanes);
    if (trains_links && 2 * g % kLanes == 0) backward_link_tile(2 * g / kLanes);
  }
}

// The sigmoid of s(x - b) replaces the step; its derivative is y (1 - y).
void Trainer::backward_literals(bool soft) {
  constexpr int kGroup = kLanes / 2;  // two sums per literal, 16 sums at a time
  LaneSums sums;
  for (int place = 0; place < kLanes; ++place) sums.clear(place);
  int group[kGroup], size = 0;
  const auto flush = [&] {
    const v16f total = sums.total();
    for (int j = 0; j < size; ++j) {
      cutoffs_.gradient[group[j]] += total[j];
      slopes_.gradient[group[j]] += total[j + kGroup];
    }
    size = 0;
  };
  for (int wire = 0; wire < net_.n_literals; ++wire) {
    Gradient d;
    if (!trains_literal(wire) || !collect(wire, soft, d)) continue;
    const float* cells = &cells_[static_cast<size_t>(cell_of_[wire]) * kRows];
    const float cutoff = cutoffs_.value[wire], slope = slopes_.value[wire];
    v16f to_cutoff = {}, to_slope = {};
    for (int i = 0; i < kChunks; ++i) {
      const v16f distance = load(cells + i * kLanes) - fill(cutoff);
      const v16i known = distance * distance < fill(1e30f);  // false for missing values
      const v16f finite = select(known, distance, fill(0.0f));
      const v16f e = exp_nonpositive(minus_magnitude(finite * fill(slope)));
      const v16f one_plus = fill(1.0f) + e;
      const v16f flow = select(known, d[i] * e / (one_plus * one_plus), fill(0.0f));
      to_cutoff -= flow;
      to_slope += flow * finite;
    }
    sums.set(size, to_cutoff * fill(slope));
    sums.set(size + kGroup, to_slope);
    group[size] = wire;
    if (++size == kGroup) flush();
  }
  if (size > 0) flush();
}

void Trainer::backward(Phase phase) {
  const bool soft = phase != Phase::gates;
  std::fill(reached_.begin(), reached_.end(), uint8_t{0});
  if (net_.predicts_number())
    backward_weights(soft);
  else
    backward_votes(soft);
  backward_gates(phase);
  if (phase != Phase::links && options_.threshold_rate > 0.0f) backward_literals(soft);
}

}  // namespace dln::DLN_LEVEL
