// A training run: set-up, batches and phases, updates and validation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "denormals.h"
#include "trainer.h"

namespace dln::DLN_LEVEL {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr float kMinSlope = 0.01f;  // Differs from the paper: a slope never changes its sign

double balanced_accuracy(const Buffer<int64_t>& right, const Buffer<int64_t>& total) {
  double sum = 0.0;
  int present = 0;
  for (size_t c = 0; c < total.size(); ++c)
    if (total[c] > 0) {
      sum += static_cast<double>(right[c]) / static_cast<double>(total[c]);
      ++present;
    }
  return present ? sum / present : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void Trainer::allocate() {
  const int literals = net_.n_literals, gates = net_.n_gates, classes = net_.n_classes;
  n_rules_padded_ = tiles(net_.n_rules) * kLanes;
  cutoffs_.resize(literals);
  slopes_.resize(literals);
  gate_logits_.resize(gate_layout_.size());
  link_logits_.resize(link_layout_.size());
  vote_logits_.resize(static_cast<size_t>(classes) * n_rules_padded_);
  const size_t weights = static_cast<size_t>(tiles(net_.n_weights())) * kLanes;
  weights_.resize(weights);
  weight_low_.assign(weights, 0.0f);
  weight_high_.assign(weights, 0.0f);
  link_wire_.assign(link_layout_.size(), 0);
  link_probability_.assign(link_layout_.size(), 0.0f);
  gate_probability_.assign(gate_layout_.size(), 0.0f);
  source_.assign(tiles(n_inputs_) * kLanes, 0);
  code_.assign(gates, 0);
  for (int k = 0; k < net_.n_choices; ++k) choice_.push_back(bilinear(net_.gate_choice[k]));
  vote_weight_.assign(vote_logits_.value.size(), 0.0f);
  rule_wire_.assign(net_.rule_wire, net_.rule_wire + net_.n_rules);
  rule_wire_.push_back(n_wires_);
  voters_.resize(net_.n_outputs());
  list_columns();
  cells_.assign(columns_.size() * kRows, 0.0f);
  bits_.assign(n_wires_ + 1, 0);
  bits_[n_wires_] = ~uint64_t{0};
  offset_.assign(static_cast<size_t>(net_.n_outputs()) * kRows, 0.0f);
  score_.assign(static_cast<size_t>(net_.n_outputs()) * kRows, 0.0f);
  input_gradient_.assign(static_cast<size_t>(tiles(n_inputs_)) * kLanes * kRows, 0.0f);
  wire_gradient_.assign(static_cast<size_t>(n_wires_) * kRows, 0.0f);
  input_active_.assign(static_cast<size_t>(tiles(n_inputs_)) * kLanes, 0);
  for (LaneSums& sums : partial_)
    for (int lane = 0; lane < kLanes; ++lane) sums.clear(lane);
  reached_.assign(n_wires_, 0);
  gate_sums_.assign(static_cast<size_t>(tiles(gates)) * 4 * kLanes, 0.0f);
  if (options_.gate_gradient == GateGradient::mixture) mixture_.resize(gates);
  layer_frozen_.assign(net_.n_layers, 0);
  gate_frozen_.assign(gates, 0);
  gate_pruned_.assign(gates, 0);
  right_.assign(classes, 0);
  total_.assign(classes, 0);
}

// A wide table has many columns that no literal reads.
void Trainer::list_columns() {
  constexpr int32_t kLine = 64 / sizeof(float);
  Buffer<int32_t> place(job_.table.n_columns, -1);
  for (int i = 0; i < net_.n_literals; ++i) place[net_.literal_column[i]] = 0;
  for (int32_t column = 0; column < job_.table.n_columns; ++column) {
    if (place[column] < 0) continue;
    place[column] = static_cast<int32_t>(columns_.size());
    columns_.push_back(column);
    if (fetched_.empty() || column - fetched_.back() >= kLine) fetched_.push_back(column);
  }
  // A row may begin within a line, so that its last column is in one more.
  if (!columns_.empty()) fetched_.push_back(columns_.back());
  cell_of_.resize(net_.n_literals);
  for (int i = 0; i < net_.n_literals; ++i) cell_of_[i] = place[net_.literal_column[i]];
}

void Trainer::pack() {
  std::copy_n(net_.literal_value, net_.n_literals, cutoffs_.value.begin());
  std::copy_n(net_.slope, net_.n_literals, slopes_.value.begin());
  gate_layout_.pack(net_.gate_logit, gate_logits_.value);
  link_layout_.pack(net_.link_logit, link_logits_.value);
  for (int i = 0; i < n_inputs_; ++i)
    for (int k = 0; k < net_.n_links; ++k)
      link_wire_[link_layout_.at(i, k)] = net_.link_wire[i * net_.n_links + k];
  std::fill(vote_logits_.value.begin(), vote_logits_.value.end(), kMinusInfinity);
  for (int c = 0; c < net_.n_classes; ++c)
    std::copy_n(net_.vote_logit + c * net_.n_rules, net_.n_rules,
                vote_logits_.value.begin() + c * n_rules_padded_);
  const int n_weights = net_.n_weights();
  std::copy_n(net_.weight, n_weights, weights_.value.begin());
  std::copy_n(net_.weight_limit, n_weights, weight_low_.begin());
  std::copy_n(net_.weight_limit + n_weights, n_weights, weight_high_.begin());
  list_readers();
}

void Trainer::unpack() {
  std::copy_n(cutoffs_.value.begin(), net_.n_literals, net_.literal_value);
  std::copy_n(slopes_.value.begin(), net_.n_literals, net_.slope);
  gate_layout_.unpack(gate_logits_.value, net_.gate_logit);
  link_layout_.unpack(link_logits_.value, net_.link_logit);
  for (int c = 0; c < net_.n_classes; ++c)
    std::copy_n(vote_logits_.value.begin() + c * n_rules_padded_, net_.n_rules,
                net_.vote_logit + c * net_.n_rules);
  std::copy_n(weights_.value.begin(), net_.n_weights(), net_.weight);
}

// Candidates masked with -infinity pad a short list. They have no probability and no gradient.
void Trainer::list_readers() {
  reader_start_.assign(n_wires_ + 1, 0);
  const auto each_link = [&](auto&& visit) {
    for (int i = 0; i < n_inputs_; ++i)
      for (int k = 0; k < net_.n_links; ++k) {
        const size_t slot = link_layout_.at(i, k);
        if (link_logits_.value[slot] != kMinusInfinity) visit(i, slot, link_wire_[slot]);
      }
  };
  each_link([&](int, size_t, int wire) { ++reader_start_[wire + 1]; });
  std::partial_sum(reader_start_.begin(), reader_start_.end(), reader_start_.begin());
  reader_slot_.resize(reader_start_.back());
  reader_input_.resize(reader_start_.back());
  int most = 0;
  for (int wire = 0; wire < n_wires_; ++wire)
    most = std::max(most, reader_start_[wire + 1] - reader_start_[wire]);
  active_readers_.assign(most + 1, 0);
  Buffer<int32_t> next(reader_start_.begin(), reader_start_.end() - 1);
  each_link([&](int input, size_t slot, int wire) {
    reader_slot_[next[wire]] = static_cast<int32_t>(slot);
    reader_input_[next[wire]++] = input;
  });
}

void Trainer::refresh_gates() {
  for (int tile = 0; tile < tiles(net_.n_gates); ++tile) refresh_gate_tile(tile);
}

void Trainer::refresh_links() {
  for (int tile = 0; tile < tiles(n_inputs_); ++tile) refresh_link_tile(tile);
}

void Trainer::refresh_gate_tile(int tile) {
  const size_t start = gate_layout_.tile_start(tile);
  float* probability = &gate_probability_[start];
  int32_t best[kLanes];
  store(best, softmax_tile(&gate_logits_.value[start], probability, net_.n_choices,
                           inverse_temperature_));
  const int end = std::min(kLanes, net_.n_gates - tile * kLanes);
  for (int lane = 0; lane < end; ++lane) {
    const int gate = tile * kLanes + lane;
    code_[gate] = net_.gate_choice[best[lane]];
    if (any_frozen_ && gate_frozen_[gate])
      settle_lane(probability, net_.n_choices, lane, best[lane]);
    if (options_.gate_gradient == GateGradient::mixture) {
      Bilinear sum{};
      for (int k = 0; k < net_.n_choices; ++k) {
        const float p = probability[k * kLanes + lane];
        const Bilinear& c = choice_[k];
        sum = {sum.c0 + p * c.c0, sum.c1 + p * c.c1, sum.c2 + p * c.c2, sum.c3 + p * c.c3};
      }
      mixture_[gate] = sum;
    }
  }
}

void Trainer::refresh_link_tile(int tile) {
  const size_t start = link_layout_.tile_start(tile);
  int32_t best[kLanes];
  store(best, softmax_tile(&link_logits_.value[start], &link_probability_[start], net_.n_links,
                           inverse_temperature_));
  for (int lane = 0; lane < kLanes; ++lane) {
    const int input = tile * kLanes + lane;
    source_[input] = link_wire_[start + best[lane] * kLanes + lane];
    if (any_frozen_ && input < n_inputs_ && gate_frozen_[input / 2])
      settle_lane(&link_probability_[start], net_.n_links, lane, best[lane]);
  }
}

void Trainer::refresh_votes() {
  if (net_.predicts_number()) return refresh_weights();
  for (int c = 0; c < net_.n_classes; ++c) {
    const float* logit = &vote_logits_.value[static_cast<size_t>(c) * n_rules_padded_];
    float* weight = &vote_weight_[static_cast<size_t>(c) * n_rules_padded_];
    for (int r = 0; r < n_rules_padded_; r += kLanes) {
      const v16f x = load(logit + r);
      const v16f e = exp_nonpositive(minus_magnitude(x));
      store(weight + r, select(x < fill(0.0f), e, fill(1.0f)) / (fill(1.0f) + e));
    }
    voters_[c].clear();
    for (int r = 0; r < net_.n_rules; ++r)
      if (vote_is_on(logit[r], options_.vote_limit)) voters_[c].push_back(r);
    if (votes_frozen_) {
      std::fill_n(weight, n_rules_padded_, 0.0f);
      for (int32_t r : voters_[c]) weight[r] = 1.0f;
    }
  }
}

void Trainer::refresh_weights() {
  for (size_t i = 0; i < weights_.value.size(); ++i)
    weights_.value[i] = std::min(std::max(weights_.value[i], weight_low_[i]), weight_high_[i]);
  voters_[0].clear();
  for (int r = 0; r < net_.n_rules; ++r)
    if (weights_.value[r] != 0.0f) voters_[0].push_back(r);
}

// Only those that a phase adds to.
void Trainer::clear_gradients(Phase phase) {
  if (phase != Phase::links) {
    cutoffs_.clear_gradient();
    slopes_.clear_gradient();
    std::fill(gate_sums_.begin(), gate_sums_.end(), 0.0f);
  }
  if (phase != Phase::gates) {
    link_logits_.clear_gradient();
    vote_logits_.clear_gradient();
    weights_.clear_gradient();
  }
}

// Forward and backward over n rows, in blocks; leaves sums that `update` completes. The
// list of rows continues until `end`, and the next rows are fetched while a block is computed.
// Returns false if it was asked to stop before it was done.
bool Trainer::accumulate(const int64_t* rows, int n, const int64_t* end, Phase phase) {
  double total = 0.0;
  for (int r = 0; r < n; ++r) total += job_.table.weight[rows[r]];
  if (total <= 0.0) return true;
  for (int start = 0; start < n; start += kRows) {
    if (stopped()) return false;
    const int size = std::min(kRows, n - start);
    load_block(rows + start, size);
    prefetch(rows + start + size, end);
    forward();
    add_points();
    score_block(size);
    loss_gradient(static_cast<float>(1.0 / total), loss_);
    backward(phase);
  }
  weight_total_ += total;
  return true;
}

// From sums over rows to the gradients of the logits.
void Trainer::finish_gate_tile(int tile) {
  const float* sums = &gate_sums_[static_cast<size_t>(tile) * 4 * kLanes];
  float* gradient = &gate_logits_.gradient[gate_layout_.tile_start(tile)];
  for (int k = 0; k < net_.n_choices; ++k) {
    const Bilinear& c = choice_[k];
    store(gradient + k * kLanes,
          load(sums) * fill(c.c0) + load(sums + kLanes) * fill(c.c1) +
              load(sums + 2 * kLanes) * fill(c.c2) + load(sums + 3 * kLanes) * fill(c.c3));
  }
  softmax_gradient_tile(&gate_probability_[gate_layout_.tile_start(tile)], gradient,
                        net_.n_choices, inverse_temperature_);
}

void Trainer::finish_link_tile(int tile) {
  const size_t start = link_layout_.tile_start(tile);
  softmax_gradient_tile(&link_probability_[start], &link_logits_.gradient[start], net_.n_links,
                        inverse_temperature_);
}

void Trainer::finish_votes() {
  for (size_t i = 0; i < vote_weight_.size(); i += kLanes) {
    const v16f w = load(&vote_weight_[i]);
    store(&vote_logits_.gradient[i], load(&vote_logits_.gradient[i]) * (w * (fill(1.0f) - w)));
  }
  if (votes_frozen_) weights_.clear_gradient();
}

// Complete the gradients, take a step and derive what depends on the parameters. A tile goes
// through all of it while it is in the cache.
void Trainer::update(Phase phase, float rate) {
  if (phase != Phase::links) {
    gate_steps_.advance();
    for (int tile = 0; tile < tiles(net_.n_gates); ++tile) {
      finish_gate_tile(tile);
      gate_steps_.apply(gate_logits_, rate, gate_layout_.tile_start(tile),
                        gate_layout_.tile_start(tile + 1));
      refresh_gate_tile(tile);
    }
    if (options_.threshold_rate > 0.0f) {
      gate_steps_.apply(cutoffs_, rate * options_.threshold_rate);
      gate_steps_.apply(slopes_, rate * options_.threshold_rate);
      for (float& slope : slopes_.value) slope = std::max(slope, kMinSlope);
    }
  }
  if (phase != Phase::gates) {
    link_steps_.advance();
    for (int tile = 0; tile < tiles(n_inputs_); ++tile) {
      finish_link_tile(tile);
      link_steps_.apply(link_logits_, rate, link_layout_.tile_start(tile),
                        link_layout_.tile_start(tile + 1));
      refresh_link_tile(tile);
    }
    finish_votes();
    link_steps_.apply(vote_logits_, rate);
    link_steps_.apply(weights_, rate * options_.weight_rate);
    refresh_votes();
  }
}

Phase Trainer::phase_of(int epoch, int64_t batch) const {
  switch (options_.phases) {
    case Phases::epochs:
      return epoch / options_.phase_epochs % 2 == 0 ? Phase::gates : Phase::links;
    case Phases::batches: return batch % 2 == 0 ? Phase::gates : Phase::links;
    default: return Phase::both;
  }
}

// The balanced accuracy of classes, or minus the mean loss of numbers.
double Trainer::evaluate(RowList rows) {
  double loss = 0.0, weight = 0.0;
  std::fill(right_.begin(), right_.end(), 0);
  std::fill(total_.begin(), total_.end(), 0);
  for (int64_t start = 0; start < rows.size && !stopped(); start += kRows) {
    const int size = static_cast<int>(std::min<int64_t>(kRows, rows.size - start));
    load_block(rows.data + start, size);
    forward();
    add_points();
    score_block(size);
    if (!net_.predicts_number()) continue;
    loss_gradient(1.0f, loss);
    for (float w : weight_) weight += w;
  }
  if (net_.predicts_number()) return -loss / std::max(weight, 1e-30);
  return balanced_accuracy(right_, total_);
}

int Trainer::live_gates() const {
  Buffer<uint8_t> live(n_wires_, 0);
  for (const auto& rules : voters_)
    for (int32_t rule : rules) live[net_.rule_wire[rule]] = 1;
  int count = 0;
  for (int g = net_.n_gates - 1; g >= 0; --g)
    if (live[net_.n_literals + g]) {
      live[source_[2 * g]] = live[source_[2 * g + 1]] = 1;
      ++count;
    }
  return count;
}

// Batches of nearly equal size: no row is dropped and no batch is tiny. Or batches of one size, and
// the rest is dropped.
int64_t Trainer::batches() const {
  const int64_t n = job_.rows.size, size = options_.batch_size;
  return options_.last_batch == LastBatch::drop ? std::max<int64_t>(1, n / size)
                                                : (n + size - 1) / size;
}

int64_t Trainer::batch_start(int64_t batch) const {
  return options_.last_batch == LastBatch::drop ? options_.batch_size * batch
                                                : job_.rows.size * batch / batches();
}

int64_t Trainer::batch_end(int64_t batch) const {
  return options_.last_batch == LastBatch::drop
             ? std::min<int64_t>(job_.rows.size, batch_start(batch) + options_.batch_size)
             : batch_start(batch + 1);
}

void Trainer::run(const std::atomic<bool>& stop) {
  stop_ = &stop;
  const int64_t n_batches = batches();
  const double n_steps = static_cast<double>(n_batches) * options_.epochs;
  Position at;
  bool continues = !job_.start.empty();
  if (continues)
    load_state(at);
  else if (options_.trace_every > 0)
    record_trace(0);
  for (; at.epoch < options_.epochs; ++at.epoch, at.batch = 0) {
    const int epoch = at.epoch;
    if (!continues) {
      begin_epoch(epoch);
      order_.begin(random_);
      loss_ = weight_total_ = 0.0;
      std::fill(right_.begin(), right_.end(), 0);
      std::fill(total_.begin(), total_.end(), 0);
    }
    continues = false;
    for (; at.batch < n_batches; ++at.batch, ++at.batch_number, at.step += 1.0) {
      if (at.batch_number >= job_.state_from.load(std::memory_order_relaxed)) {
        job_.state_from.store(Job::kNoState, std::memory_order_relaxed);
        save_state(at);
      }
      const int64_t start = batch_start(at.batch), end = batch_end(at.batch);
      const Phase phase = phase_of(epoch, at.batch_number);
      clear_gradients(phase);
      const int64_t* rows = order_.take(start, end, random_);
      if (!accumulate(rows, static_cast<int>(end - start), order_.end(), phase))
        return finish();
      const double decay = 0.5 * (1.0 + cosine(at.step / n_steps));
      const double factor = options_.final_rate + (1.0 - options_.final_rate) * decay;
      update(phase, static_cast<float>(options_.learning_rate * factor));
      job_.epochs_visited.store(epoch + static_cast<double>(at.batch + 1) / n_batches,
                                std::memory_order_relaxed);
    }
    EpochRecord record{};
    record.loss = static_cast<float>(loss_ / std::max(weight_total_, 1e-30));
    record.train_score = net_.predicts_number()
                             ? -record.loss
                             : static_cast<float>(balanced_accuracy(right_, total_));
    record.valid_score = std::numeric_limits<float>::quiet_NaN();
    record.live_gates = static_cast<float>(live_gates());
    const bool last = epoch + 1 == options_.epochs;
    const bool look = options_.eval_every > 0 && job_.valid_rows.size > 0 &&
                      ((epoch + 1) % options_.eval_every == 0 || last);
    if (look) {
      const double on_valid = evaluate(job_.valid_rows);
      const bool both = options_.validation_score == ValidationScore::both;
      const double score = both ? on_valid + evaluate(job_.rows) : on_valid;
      if (stopped()) return finish();
      record.valid_score = static_cast<float>(on_valid);
      if (score >= at.best) {  // on a tie the later epoch wins: it was trained longer
        at.best = score;
        job_.best_epoch = epoch;
        if (options_.keep_best) unpack();
      }
    }
    job_.history.push_back(record);
    job_.epochs_done.store(epoch + 1, std::memory_order_release);
    const bool stale = options_.patience > 0 && job_.best_epoch >= 0 &&
                       epoch - job_.best_epoch >= options_.patience;
    if (options_.trace_every > 0 && ((epoch + 1) % options_.trace_every == 0 || last || stale))
      record_trace(epoch + 1);
    if (stale) break;
  }
  if (job_.keeps_state) {
    at.epoch = options_.epochs;
    save_state(at);
  }
  finish();
}

// Copy the parameters to the network, unless those of the best validation are there already.
void Trainer::finish() {
  if (!options_.keep_best || job_.best_epoch < 0) unpack();
}

void Trainer::points(RowList rows, float* out) {
  for (int64_t start = 0; start < rows.size; start += kRows) {
    const int size = static_cast<int>(std::min<int64_t>(kRows, rows.size - start));
    load_block(rows.data + start, size);
    forward();
    add_points();
    for (int r = 0; r < size; ++r)
      for (int c = 0; c < net_.n_outputs(); ++c)
        *out++ = score_[static_cast<size_t>(c) * kRows + r];
  }
}

void Trainer::gradients(RowList rows, Phase phase, Gradients& result) {
  begin_epoch(0);
  clear_gradients(phase);
  accumulate(rows.data, static_cast<int>(rows.size), rows.data + rows.size, phase);
  if (phase != Phase::links)
    for (int tile = 0; tile < tiles(net_.n_gates); ++tile) finish_gate_tile(tile);
  if (phase != Phase::gates) {
    for (int tile = 0; tile < tiles(n_inputs_); ++tile) finish_link_tile(tile);
    finish_votes();
  }
  std::copy(cutoffs_.gradient.begin(), cutoffs_.gradient.end(), result.cutoff.begin());
  std::copy(slopes_.gradient.begin(), slopes_.gradient.end(), result.slope.begin());
  link_layout_.unpack(link_logits_.gradient, result.link_logit.data());
  gate_layout_.unpack(gate_logits_.gradient, result.gate_logit.data());
  for (int c = 0; c < net_.n_classes; ++c)
    std::copy_n(vote_logits_.gradient.begin() + c * n_rules_padded_, net_.n_rules,
                result.vote_logit.begin() + c * net_.n_rules);
  std::copy_n(weights_.gradient.begin(), net_.n_weights(), result.weight.begin());
  result.loss = static_cast<float>(loss_ / std::max(weight_total_, 1e-30));
}

void train(Job& job, const std::atomic<bool>& stop) {
  const FlushDenormals flush;
  Trainer(job).run(stop);
}

void gradients(Job& job, RowList rows, Phase phase, Gradients& out) {
  const FlushDenormals flush;
  Trainer(job).gradients(rows, phase, out);
}

void points(Job& job, RowList rows, float* out) {
  const FlushDenormals flush;
  Trainer(job).points(rows, out);
}

// The order of the rows in the first two epochs, taken in parts of seven rows.
void order(RowList rows, uint64_t seed, int64_t window, int64_t block, int64_t* out) {
  Random random(seed);
  RowOrder found(rows.data, rows.size, window, block);
  for (int epoch = 0; epoch < 2; ++epoch) {
    found.begin(random);
    for (int64_t start = 0, end; start < rows.size; start = end) {
      end = std::min<int64_t>(rows.size, start + 7);
      out = std::copy_n(found.take(start, end, random), end - start, out);
    }
  }
}

}  // namespace dln::DLN_LEVEL
