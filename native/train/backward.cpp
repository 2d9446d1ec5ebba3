// The backward pass: from the gradient of the class sums to sums for every parameter.
#include <algorithm>

#include "trainer.h"

namespace dln::DLN_LEVEL {

namespace {

[[gnu::always_inline]] inline v16f masked_sum(const float* rows, const uint64_t& word) {
  v16f sum = keep(chunk_bits(word, 0), load(rows));
  for (int i = 1; i < kChunks; ++i)
    sum = add_where(sum, chunk_bits(word, i), load(rows + i * kLanes));
  return sum;
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
bool Trainer::collect(int wire, bool soft, Gradient& d) const {
  bool any = reached_[wire];
  for (int i = 0; i < kChunks; ++i)
    d[i] = any ? load(&wire_gradient_[static_cast<size_t>(wire) * kRows + i * kLanes]) : v16f{};
  if (soft) {
    for (int e = reader_start_[wire]; e < reader_start_[wire + 1]; ++e) {
      const v16f share = fill(link_probability_[reader_slot_[e]]);
      const float* input = &input_gradient_[static_cast<size_t>(reader_input_[e]) * kRows];
      for (int i = 0; i < kChunks; ++i) d[i] += share * load(input + i * kLanes);
    }
    any |= reader_start_[wire] < reader_start_[wire + 1];
  }
  if (any && options_.grad_factor != 1.0f)
    for (int i = 0; i < kChunks; ++i) d[i] = d[i] * fill(options_.grad_factor);
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
    const float* rows = &score_[c * kRows];
    if (!soft_rules) {
      Gradient d;
      for (int i = 0; i < kChunks; ++i) d[i] = load(rows + i * kLanes);
      for (int32_t rule : voters_[c]) pass_on(net_.rule_wire[rule], d);
    }
    if (!soft) continue;
    float* gradient = &vote_logits_.gradient[static_cast<size_t>(c) * n_rules_padded_];
    for (int r = 0; r < n_rules_padded_; r += kLanes) {
      v16f sums[kLanes];
      for (int lane = 0; lane < kLanes; ++lane)
        sums[lane] = r + lane < net_.n_rules
                         ? masked_sum(rows, bits_[net_.rule_wire[r + lane]])
                         : v16f{};
      store(gradient + r, load(gradient + r) + sum16(sums));
    }
  }
}

// Sum this block's gate gradients over its rows, for the 16 gates of a tile.
void Trainer::backward_gate_tile(int tile) {
  for (int j = 0; j < 4; ++j) {
    float* sums = &gate_sums_[(static_cast<size_t>(tile) * 4 + j) * kLanes];
    store(sums, load(sums) + sum16(partial_[j]));
    for (v16f& p : partial_[j]) p = v16f{};
  }
}

// Sum d loss / d input over the rows where each candidate is 1, for the 16 inputs of a tile.
void Trainer::backward_link_tile(int tile) {
  const float* inputs = &input_gradient_[static_cast<size_t>(tile) * kLanes * kRows];
  for (int k = 0; k < net_.n_links; ++k) {
    const size_t slot = (static_cast<size_t>(tile) * net_.n_links + k) * kLanes;
    v16f sums[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      sums[lane] = masked_sum(inputs + lane * kRows, bits_[link_wire_[slot + lane]]);
    store(&link_logits_.gradient[slot], load(&link_logits_.gradient[slot]) + sum16(sums));
  }
}

void Trainer::backward_gates(Phase phase) {
  const bool trains_gates = phase != Phase::links, trains_links = phase != Phase::gates;
  const bool trains_thresholds = trains_gates && options_.threshold_rate > 0.0f;
  for (int g = net_.n_gates - 1; g >= 0; --g) {
    const uint64_t &a = bits_[source_[2 * g]], &b = bits_[source_[2 * g + 1]], both = a & b;
    Gradient d, to_a, to_b;
    const bool any = collect(net_.n_literals + g, trains_links, d);
    if (any) {
      // Differs from the paper: unless the mixture gradient is requested, the gradient passes
      // through the hard gate, also while gates are trained.
      const Bilinear c =
          trains_gates && options_.gate_gradient == GateGradient::mixture ? mixture_[g]
                                                                          : bilinear(code_[g]);
      for (int i = 0; i < kChunks; ++i) {
        to_a[i] = d[i] * choose(chunk_bits(b, i), fill(c.c1 + c.c3), fill(c.c1));
        to_b[i] = d[i] * choose(chunk_bits(a, i), fill(c.c2 + c.c3), fill(c.c2));
      }
    } else {
      for (int i = 0; i < kChunks; ++i) to_a[i] = to_b[i] = v16f{};
    }
    if (trains_gates && any) {
      v16f sums[4] = {};
      for (int i = 0; i < kChunks; ++i) {
        sums[0] += d[i];
        sums[1] = add_where(sums[1], chunk_bits(a, i), d[i]);
        sums[2] = add_where(sums[2], chunk_bits(b, i), d[i]);
        sums[3] = add_where(sums[3], chunk_bits(both, i), d[i]);
      }
      for (int j = 0; j < 4; ++j) partial_[j][g % kLanes] = sums[j];
    }
    if (trains_links) {
      float* inputs = &input_gradient_[static_cast<size_t>(2 * g) * kRows];
      for (int i = 0; i < kChunks; ++i) {
        store(inputs + i * kLanes, to_a[i]);
        store(inputs + kRows + i * kLanes, to_b[i]);
      }
    } else if (any) {
      const auto wants = [&](int wire) {
        return wire >= net_.n_literals || (trains_thresholds && trains_literal(wire));
      };
      if (wants(source_[2 * g])) pass_on(source_[2 * g], to_a);
      if (wants(source_[2 * g + 1])) pass_on(source_[2 * g + 1], to_b);
    }
    if (trains_gates && g % kLanes == 0) backward_gate_tile(g / kLanes);
    if (trains_links && 2 * g % kLanes == 0) backward_link_tile(2 * g / kLanes);
  }
}

// The sigmoid of s(x - b) replaces the step; its derivative is y (1 - y).
void Trainer::backward_literals(bool soft) {
  constexpr int kGroup = kLanes / 2;  // two sums per literal, 16 sums at a time
  v16f sums[kLanes] = {};
  int group[kGroup], size = 0;
  const auto flush = [&] {
    const v16f total = sum16(sums);
    for (int j = 0; j < size; ++j) {
      cutoffs_.gradient[group[j]] += total[j];
      slopes_.gradient[group[j]] += total[j + kGroup];
    }
    size = 0;
  };
  for (int wire = 0; wire < net_.n_literals; ++wire) {
    Gradient d;
    if (!trains_literal(wire) || !collect(wire, soft, d)) continue;
    const float* cells = &cells_[static_cast<size_t>(net_.literal_column[wire]) * kRows];
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
    sums[size] = to_cutoff * fill(slope);
    sums[size + kGroup] = to_slope;
    group[size] = wire;
    if (++size == kGroup) flush();
  }
  if (size > 0) flush();
}

void Trainer::backward(Phase phase) {
  const bool soft = phase != Phase::gates;
  std::fill(reached_.begin(), reached_.end(), uint8_t{0});
  backward_votes(soft);
  backward_gates(phase);
  if (phase != Phase::links && options_.threshold_rate > 0.0f) backward_literals(soft);
}

}  // namespace dln::DLN_LEVEL
