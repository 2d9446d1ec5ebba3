// Changes from epoch to epoch: temperatures fall, layers freeze, gates are pruned.
//
// A frozen gate or link has all its probability on its best choice. Its gradient is then exactly 0,
// and Adam's first moment is cleared, so it does not change. No other loop needs to check for it.
#include <algorithm>
#include <limits>

#include "trainer.h"

namespace dln::DLN_LEVEL {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

}  // namespace

void Trainer::begin_epoch(int epoch) {
  const Schedule& schedule = job_.schedule;
  const float inverse = 1.0f / schedule.temperature[epoch];
  bool changed = inverse != inverse_temperature_;
  inverse_temperature_ = inverse;
  for (int layer = 0; layer < net_.n_layers; ++layer)
    if (schedule.layer_freeze[layer] <= epoch && !layer_frozen_[layer]) {
      freeze_layer(layer);
      changed = true;
    }
  if (schedule.vote_freeze <= epoch && !votes_frozen_) {
    freeze_votes();
    changed = true;
  }
  if (changed) refresh_gates();
  changed |= prune(epoch);
  if (changed) {
    refresh_links();
    refresh_votes();
  }
}

void Trainer::freeze_layer(int layer) {
  layer_frozen_[layer] = 1;
  any_frozen_ = true;
  for (int g = net_.layer_start[layer]; g < net_.layer_start[layer + 1]; ++g) {
    gate_frozen_[g] = 1;
    for (int k = 0; k < net_.n_choices; ++k) gate_logits_.first[gate_layout_.at(g, k)] = 0.0f;
    for (int input : {2 * g, 2 * g + 1})
      for (int k = 0; k < net_.n_links; ++k)
        link_logits_.first[link_layout_.at(input, k)] = 0.0f;
  }
  for (int wire = 0; wire < net_.n_literals; ++wire)
    if (net_.literal_layer[wire] == layer) cutoffs_.first[wire] = slopes_.first[wire] = 0.0f;
}

void Trainer::freeze_votes() {
  votes_frozen_ = true;
  std::fill(vote_logits_.first.begin(), vote_logits_.first.end(), 0.0f);
  std::fill(weights_.first.begin(), weights_.first.end(), 0.0f);
}

// In each layer, prune the gates that are furthest from a decision first, up to the layer's limit.
bool Trainer::prune(int epoch) {
  const Schedule& schedule = job_.schedule;
  if (epoch < schedule.prune_first || epoch > schedule.prune_last) return false;
  const int64_t done = epoch - schedule.prune_first + 1;
  const int64_t all = schedule.prune_last - schedule.prune_first + 1;
  Floats top(net_.n_gates, 0.0f);
  for (int g = 0; g < net_.n_gates; ++g)
    for (int k = 0; k < net_.n_choices; ++k)
      top[g] = std::max(top[g], gate_probability_[gate_layout_.at(g, k)]);
  Buffer<int32_t> n_left(n_inputs_, 0);
  for (int i = 0; i < n_inputs_; ++i)
    for (int k = 0; k < net_.n_links; ++k)
      n_left[i] += link_logits_.value[link_layout_.at(i, k)] != kMinusInfinity;

  // Frozen gates and the gates that they read are kept.
  Buffer<uint8_t> kept(n_wires_, 0);
  for (int g = 0; g < net_.n_gates; ++g)
    if (gate_frozen_[g])
      kept[net_.n_literals + g] = kept[source_[2 * g]] = kept[source_[2 * g + 1]] = 1;
  if (votes_frozen_)
    for (const auto& rules : voters_)
      for (int32_t rule : rules) kept[net_.rule_wire[rule]] = 1;

  bool any = false;
  for (int layer = 0; layer < net_.n_layers; ++layer) {
    int64_t room = schedule.layer_prune[layer] * done / all;
    Buffer<int32_t> weak;
    for (int g = net_.layer_start[layer]; g < net_.layer_start[layer + 1]; ++g) {
      room -= gate_pruned_[g];
      const bool open = !gate_pruned_[g] && !kept[net_.n_literals + g];
      if (open && top[g] < schedule.convergence) weak.push_back(g);
    }
    std::sort(weak.begin(), weak.end(), [&](int32_t x, int32_t y) {
      return top[x] != top[y] ? top[x] < top[y] : x < y;
    });
    for (size_t i = 0; i < weak.size() && room > 0; ++i)
      if (try_to_prune(weak[i], n_left)) {
        --room;
        any = true;
      }
  }
  if (any) list_readers();
  return any;
}

// Mask a gate for all inputs that may read it, unless an input would have nothing left to read.
bool Trainer::try_to_prune(int gate, Buffer<int32_t>& n_left) {
  const int wire = net_.n_literals + gate;
  const int start = reader_start_[wire], end = reader_start_[wire + 1];
  for (int e = start; e < end; ++e) --n_left[reader_input_[e]];
  bool last = false;
  for (int e = start; e < end; ++e) last |= n_left[reader_input_[e]] == 0;
  if (last) {
    for (int e = start; e < end; ++e) ++n_left[reader_input_[e]];
    return false;
  }
  for (int e = start; e < end; ++e) link_logits_.value[reader_slot_[e]] = kMinusInfinity;
  for (int r = 0; r < net_.n_rules; ++r) {
    if (net_.rule_wire[r] != wire) continue;
    for (int c = 0; c < net_.n_classes; ++c)
      vote_logits_.value[static_cast<size_t>(c) * n_rules_padded_ + r] = kMinusInfinity;
    if (net_.predicts_number()) weight_low_[r] = weight_high_[r] = 0.0f;
  }
  gate_pruned_[gate] = 1;
  return true;
}

// Append cutoffs, slopes, gate logits, link logits, vote logits and weights, in the network's shapes.
void Trainer::record_trace(int epochs_done) {
  job_.trace_epochs.push_back(epochs_done);
  const auto grow = [&](size_t n) { return grow_trace(job_, n); };
  std::copy(cutoffs_.value.begin(), cutoffs_.value.end(), grow(net_.n_literals));
  std::copy(slopes_.value.begin(), slopes_.value.end(), grow(net_.n_literals));
  gate_layout_.unpack(gate_logits_.value,
                      grow(static_cast<size_t>(net_.n_gates) * net_.n_choices));
  link_layout_.unpack(link_logits_.value, grow(static_cast<size_t>(n_inputs_) * net_.n_links));
  for (int c = 0; c < net_.n_classes; ++c)
    std::copy_n(vote_logits_.value.begin() + c * n_rules_padded_, net_.n_rules,
                grow(net_.n_rules));
  std::copy_n(weights_.value.begin(), net_.n_weights(), grow(net_.n_weights()));
}

}  // namespace dln::DLN_LEVEL
