// Train one network: the hard circuit forward, its relaxation's gradient backward, Adam.
//
// A block is 64 rows: a wire's values are the bits of one word, a gradient is four vectors of 16
// floats. Parameters are kept in tiles of 16 inputs or gates ([tile][candidate][lane]), so that
// every softmax, argmax and update is a loop over vectors without any step across lanes.
#include "train_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "random.h"
#include "simd.h"

namespace dln::DLN_LEVEL {
namespace {

using Floats = std::vector<float>;
using Gradient = v16f[kChunks];  // of one wire, for the rows of a block

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr float kMinSlope = 0.01f;  // Differs from the paper: a slope never changes its sign

int tiles(int n) { return (n + kLanes - 1) / kLanes; }

struct Bilinear { float c0, c1, c2, c3; };  // c0 + c1 a + c2 b + c3 ab

Bilinear bilinear(uint8_t code) {
  const float t00 = code >> 3 & 1, t01 = code >> 2 & 1, t10 = code >> 1 & 1, t11 = code & 1;
  return {t00, t10 - t00, t01 - t00, t00 - t01 - t10 + t11};
}

// All rows of a gate at once: the algebraic normal form of its truth table.
uint64_t evaluate_gate(uint8_t code, uint64_t a, uint64_t b) {
  const auto spread = [](int bit) { return -static_cast<uint64_t>(bit & 1); };
  const int t00 = code >> 3, t01 = code >> 2, t10 = code >> 1, t11 = code;
  return spread(t00) ^ (spread(t00 ^ t10) & a) ^ (spread(t00 ^ t01) & b) ^
         (spread(t00 ^ t01 ^ t10 ^ t11) & a & b);
}

// Parameters with their gradient and Adam's two moments.
struct Parameters {
  Floats value, gradient, first, second;

  void resize(size_t n) {
    value.assign(n, 0.0f);
    gradient.assign(n, 0.0f);
    first.assign(n, 0.0f);
    second.assign(n, 0.0f);
  }
  void clear_gradient() { std::fill(gradient.begin(), gradient.end(), 0.0f); }
};

// Adam's bias-corrected rate and epsilon for the t-th step of a group of parameters.
struct AdamStep {
  static constexpr float kFirst = 0.9f, kSecond = 0.999f;
  double first_power = 1.0, second_power = 1.0;
  float scale = 0.0f, epsilon = 0.0f;

  void advance() {
    first_power *= kFirst;
    second_power *= kSecond;
    const double correction = std::sqrt(1.0 - second_power);
    scale = static_cast<float>(correction / (1.0 - first_power));
    epsilon = static_cast<float>(1e-8 * correction);
  }

  void apply(Parameters& p, float rate) const {
    const float step = rate * scale, tiny = epsilon;
    float* __restrict value = p.value.data();
    float* __restrict first = p.first.data();
    float* __restrict second = p.second.data();
    const float* __restrict gradient = p.gradient.data();
    for (size_t i = 0; i < p.value.size(); ++i) {
      first[i] = kFirst * first[i] + (1.0f - kFirst) * gradient[i];
      second[i] = kSecond * second[i] + (1.0f - kSecond) * gradient[i] * gradient[i];
      value[i] -= step * first[i] / (std::sqrt(second[i]) + tiny);
    }
  }
};

// [tile][candidate][lane] of the arrays that hold one row of candidates per input or gate.
struct TileLayout {
  int n, n_candidates;
  size_t size() const { return static_cast<size_t>(tiles(n)) * n_candidates * kLanes; }
  size_t at(int i, int candidate) const {
    return (static_cast<size_t>(i / kLanes) * n_candidates + candidate) * kLanes + i % kLanes;
  }
  void pack(const float* rows, Floats& tiled) const {
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n_candidates; ++k) tiled[at(i, k)] = rows[i * n_candidates + k];
  }
  void unpack(const Floats& tiled, float* rows) const {
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n_candidates; ++k) rows[i * n_candidates + k] = tiled[at(i, k)];
  }
};

// Softmax of one tile over its candidates, and the candidate with the largest logit per lane.
v16i softmax_tile(const float* logits, float* probabilities, int n_candidates) {
  v16f top = load(logits);
  v16i best = fill(0);
  for (int k = 1; k < n_candidates; ++k) {
    const v16f logit = load(logits + k * kLanes);
    best = select(top < logit, fill(k), best);
    top = larger(logit, top);
  }
  v16f total = {};
  for (int k = 0; k < n_candidates; ++k) {
    const v16f e = exp_nonpositive(load(logits + k * kLanes) - top);
    store(probabilities + k * kLanes, e);
    total += e;
  }
  const v16f scale = fill(1.0f) / total;
  for (int k = 0; k < n_candidates; ++k)
    store(probabilities + k * kLanes, load(probabilities + k * kLanes) * scale);
  return best;
}

// From d loss / d mixture weight to d loss / d logit, in place: p (G - sum p G).
void softmax_gradient_tile(const float* probabilities, float* gradient, int n_candidates) {
  v16f mean = {};
  for (int k = 0; k < n_candidates; ++k)
    mean += load(probabilities + k * kLanes) * load(gradient + k * kLanes);
  for (int k = 0; k < n_candidates; ++k) {
    const v16f p = load(probabilities + k * kLanes);
    store(gradient + k * kLanes, p * (load(gradient + k * kLanes) - mean));
  }
}

[[gnu::always_inline]] inline v16f masked_sum(const float* rows, const uint64_t& word) {
  v16f sum = keep(chunk_bits(word, 0), load(rows));
  for (int i = 1; i < kChunks; ++i)
    sum = add_where(sum, chunk_bits(word, i), load(rows + i * kLanes));
  return sum;
}

double balanced_accuracy(const std::vector<int64_t>& right, const std::vector<int64_t>& total) {
  double sum = 0.0;
  int present = 0;
  for (size_t c = 0; c < total.size(); ++c)
    if (total[c] > 0) {
      sum += static_cast<double>(right[c]) / static_cast<double>(total[c]);
      ++present;
    }
  return present ? sum / present : std::numeric_limits<double>::quiet_NaN();
}

class Trainer {
 public:
  explicit Trainer(Job& job)
      : job_(job), net_(job.network), options_(job.options), random_(job.options.seed),
        n_wires_(net_.n_literals + net_.n_gates), n_inputs_(2 * net_.n_gates),
        link_layout_{n_inputs_, net_.n_links}, gate_layout_{net_.n_gates, net_.n_choices} {
    allocate();
    pack();
    refresh_gates();
    refresh_links();
    refresh_votes();
  }

  void run(const std::atomic<bool>& stop);
  Gradients gradients(const std::vector<int64_t>& rows, Phase phase);

 private:
  // Set-up.
  void allocate();
  void pack();
  void unpack();
  void list_readers();

  // One step.
  void accumulate(const int64_t* rows, int n, const int64_t* end, Phase phase);
  void prefetch(const int64_t* rows, const int64_t* end) const;
  void load_block(const int64_t* rows, int n);
  void forward();
  void count_votes();
  void loss_gradient(float scale);
  void score_block(int n);
  void backward(Phase phase);
  void backward_votes(bool soft);
  void backward_gates(Phase phase);
  void backward_gate_tile(int tile);
  void backward_link_tile(int tile);
  void backward_literals(bool soft);
  bool collect(int wire, bool soft, Gradient& d) const;
  void pass_on(int wire, const Gradient& d);
  void clear_gradients();
  void finish_gradients(Phase phase);
  void update(Phase phase, float rate);

  // What follows from the parameters.
  void refresh_gates();
  void refresh_links();
  void refresh_votes();

  // Bookkeeping.
  Phase phase_of(int epoch, int64_t batch) const;
  void finish();
  double evaluate(const std::vector<int64_t>& rows);
  int live_gates() const;
  bool trains_literal(int wire) const {
    return net_.literal_kind[wire] == static_cast<uint8_t>(LiteralKind::above);
  }

  Job& job_;
  Network& net_;
  const Options& options_;
  Random random_;
  const int n_wires_, n_inputs_;
  const TileLayout link_layout_, gate_layout_;
  int n_rules_padded_ = 0;

  Parameters cutoffs_, slopes_, gate_logits_, link_logits_, vote_logits_;
  AdamStep gate_steps_, link_steps_;

  std::vector<int32_t> link_wire_;                            // tiled, as link_logits_
  std::vector<int32_t> reader_start_, reader_slot_, reader_input_;  // by wire: who may read it
  Floats link_probability_, gate_probability_;                // tiled
  std::vector<int32_t> source_;                               // (n_inputs) the hard link
  std::vector<uint8_t> code_;                                 // (n_gates) the hard gate
  std::vector<Bilinear> choice_;                              // (n_choices)
  Floats vote_weight_;                                        // (n_classes, n_rules_padded) soft
  std::vector<std::vector<int32_t>> voters_;                  // by class: rules whose link is on

  Floats cells_;                       // (n_columns, 64)
  int32_t target_[kRows];
  float weight_[kRows];
  std::vector<uint64_t> bits_;         // (n_wires)
  Floats score_;                       // (n_classes, 64), then its gradient
  float row_loss_[kRows];
  Floats input_gradient_;              // (padded n_inputs, 64)
  Floats wire_gradient_;               // (n_wires, 64), valid where reached_
  std::vector<uint8_t> reached_;       // (n_wires)
  Floats gate_sums_;                   // [tile][4][lane]: sums of g, ga, gb, gab
  v16f partial_[4][kLanes] = {};       // the same for one tile and block, before summing lanes

  double loss_ = 0.0, weight_total_ = 0.0;
  std::vector<int64_t> right_, total_;
};

void Trainer::allocate() {
  const int literals = net_.n_literals, gates = net_.n_gates, classes = net_.n_classes;
  n_rules_padded_ = tiles(net_.n_rules) * kLanes;
  cutoffs_.resize(literals);
  slopes_.resize(literals);
  gate_logits_.resize(gate_layout_.size());
  link_logits_.resize(link_layout_.size());
  vote_logits_.resize(static_cast<size_t>(classes) * n_rules_padded_);
  link_wire_.assign(link_layout_.size(), 0);
  link_probability_.assign(link_layout_.size(), 0.0f);
  gate_probability_.assign(gate_layout_.size(), 0.0f);
  source_.assign(tiles(n_inputs_) * kLanes, 0);
  code_.assign(gates, 0);
  for (int k = 0; k < net_.n_choices; ++k) choice_.push_back(bilinear(net_.gate_choice[k]));
  vote_weight_.assign(vote_logits_.value.size(), 0.0f);
  voters_.resize(classes);
  cells_.assign(static_cast<size_t>(job_.table.n_columns) * kRows, 0.0f);
  bits_.assign(n_wires_, 0);
  score_.assign(static_cast<size_t>(classes) * kRows, 0.0f);
  input_gradient_.assign(static_cast<size_t>(tiles(n_inputs_)) * kLanes * kRows, 0.0f);
  wire_gradient_.assign(static_cast<size_t>(n_wires_) * kRows, 0.0f);
  reached_.assign(n_wires_, 0);
  gate_sums_.assign(static_cast<size_t>(tiles(gates)) * 4 * kLanes, 0.0f);
  right_.assign(classes, 0);
  total_.assign(classes, 0);
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
}

// Candidates masked with -infinity pad a short list; nothing flows through them.
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
  std::vector<int32_t> next(reader_start_.begin(), reader_start_.end() - 1);
  each_link([&](int input, size_t slot, int wire) {
    reader_slot_[next[wire]] = static_cast<int32_t>(slot);
    reader_input_[next[wire]++] = input;
  });
}

void Trainer::refresh_gates() {
  for (int tile = 0; tile < tiles(net_.n_gates); ++tile) {
    const size_t start = static_cast<size_t>(tile) * net_.n_choices * kLanes;
    const v16i best = softmax_tile(&gate_logits_.value[start], &gate_probability_[start],
                                   net_.n_choices);
    const int end = std::min(kLanes, net_.n_gates - tile * kLanes);
    for (int lane = 0; lane < end; ++lane)
      code_[tile * kLanes + lane] = net_.gate_choice[best[lane]];
  }
}

void Trainer::refresh_links() {
  for (int tile = 0; tile < tiles(n_inputs_); ++tile) {
    const size_t start = static_cast<size_t>(tile) * net_.n_links * kLanes;
    const v16i best = softmax_tile(&link_logits_.value[start], &link_probability_[start],
                                   net_.n_links);
    for (int lane = 0; lane < kLanes; ++lane)
      source_[tile * kLanes + lane] = link_wire_[start + best[lane] * kLanes + lane];
  }
}

void Trainer::refresh_votes() {
  const double threshold = options_.vote_threshold;
  const float limit = static_cast<float>(std::log(threshold / (1.0 - threshold)));
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
      if (logit[r] >= limit) voters_[c].push_back(r);
  }
}

// ---- forward ----

void Trainer::load_block(const int64_t* rows, int n) {
  const Table& table = job_.table;
  for (int r = 0; r < kRows; ++r) {
    if (r >= n) {  // an empty place: it weighs nothing
      target_[r] = -1;
      weight_[r] = 0.0f;
      continue;
    }
    const float* row = table.cells + rows[r] * table.n_columns;
    for (int c = 0; c < table.n_columns; ++c) cells_[c * kRows + r] = row[c];
    target_[r] = table.target[rows[r]];
    weight_[r] = table.weight[rows[r]];
  }
}

// Rows come in random order: in a large table each of them is a wait for memory otherwise.
void Trainer::prefetch(const int64_t* rows, const int64_t* end) const {
  constexpr int kLine = 64 / sizeof(float);
  const Table& table = job_.table;
  const int64_t n = std::min<int64_t>(kRows, end - rows);
  for (const int64_t* row = rows; row < rows + n; ++row) {
    const float* cells = table.cells + *row * table.n_columns;
    for (int c = 0; c < table.n_columns; c += kLine) __builtin_prefetch(cells + c);
    __builtin_prefetch(cells + table.n_columns - 1);
    __builtin_prefetch(table.target + *row);
    __builtin_prefetch(table.weight + *row);
  }
}

void Trainer::forward() {
  for (int i = 0; i < net_.n_literals; ++i) {
    const float* cells = &cells_[static_cast<size_t>(net_.literal_column[i]) * kRows];
    switch (static_cast<LiteralKind>(net_.literal_kind[i])) {
      case LiteralKind::above: bits_[i] = above(cells, cutoffs_.value[i]); break;
      case LiteralKind::equals: bits_[i] = equal(cells, cutoffs_.value[i]); break;
      case LiteralKind::missing: bits_[i] = missing(cells); break;
    }
  }
  for (int g = 0; g < net_.n_gates; ++g)
    bits_[net_.n_literals + g] =
        evaluate_gate(code_[g], bits_[source_[2 * g]], bits_[source_[2 * g + 1]]);
}

void Trainer::count_votes() {
  for (int c = 0; c < net_.n_classes; ++c) {
    Gradient sum = {};
    for (int32_t rule : voters_[c]) {
      const uint64_t& word = bits_[net_.rule_wire[rule]];
      for (int i = 0; i < kChunks; ++i)
        sum[i] = add_where(sum[i], chunk_bits(word, i), fill(1.0f));
    }
    for (int i = 0; i < kChunks; ++i) store(&score_[c * kRows + i * kLanes], sum[i]);
  }
}

// Count right answers by class; the first class wins a tie.
void Trainer::score_block(int n) {
  int32_t winner[kRows];
  for (int i = 0; i < kChunks; ++i) {
    v16f top = load(&score_[i * kLanes]);
    v16i best = fill(0);
    for (int c = 1; c < net_.n_classes; ++c) {
      const v16f score = load(&score_[c * kRows + i * kLanes]);
      best = select(top < score, fill(c), best);
      top = larger(score, top);
    }
    store(winner + i * kLanes, best);
  }
  for (int r = 0; r < n; ++r) {
    ++total_[target_[r]];
    right_[target_[r]] += winner[r] == target_[r];
  }
}

// Replace the scores by the gradient of `scale` times the weighted cross-entropy.
void Trainer::loss_gradient(float scale) {
  const v16f inverse_tau = fill(1.0f / options_.tau);
  for (int i = 0; i < kChunks; ++i) {
    const v16i target = load(target_ + i * kLanes);
    const v16f weight = load(weight_ + i * kLanes) * fill(scale);
    v16f top = load(&score_[i * kLanes]);
    for (int c = 1; c < net_.n_classes; ++c)
      top = larger(load(&score_[c * kRows + i * kLanes]), top);
    v16f total = {}, chosen = {};
    for (int c = 0; c < net_.n_classes; ++c) {
      const v16f e = exp_nonpositive((load(&score_[c * kRows + i * kLanes]) - top) * inverse_tau);
      chosen += select(target == fill(c), e, fill(0.0f));
      total += e;
      store(&score_[c * kRows + i * kLanes], e);
    }
    // At least the smallest normal number: the logarithm of a lost row stays finite.
    store(row_loss_ + i * kLanes, larger(chosen / total, fill(1.17549435e-38f)));
    const v16f part = weight / total;
    for (int c = 0; c < net_.n_classes; ++c) {
      const v16f e = load(&score_[c * kRows + i * kLanes]);
      store(&score_[c * kRows + i * kLanes],
            (e * part - select(target == fill(c), weight, fill(0.0f))) * inverse_tau);
    }
  }
  for (int r = 0; r < kRows; ++r) loss_ -= weight_[r] * std::log(row_loss_[r]);
}

// ---- backward ----

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

// The whole gradient of a wire: what was passed on, and with soft links its share of every input
// that might read it. Returns false where nothing arrived.
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
  for (int r = 0; r < net_.n_rules; ++r) {
    if (!soft) break;
    Gradient d = {};
    for (int c = 0; c < net_.n_classes; ++c) {
      const v16f weight = fill(vote_weight_[static_cast<size_t>(c) * n_rules_padded_ + r]);
      for (int i = 0; i < kChunks; ++i) d[i] += weight * load(&score_[c * kRows + i * kLanes]);
    }
    pass_on(net_.rule_wire[r], d);
  }
  for (int c = 0; c < net_.n_classes; ++c) {
    const float* rows = &score_[c * kRows];
    if (!soft) {
      Gradient d;
      for (int i = 0; i < kChunks; ++i) d[i] = load(rows + i * kLanes);
      for (int32_t rule : voters_[c]) pass_on(net_.rule_wire[rule], d);
      continue;
    }
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
      // Differs from the paper: through the hard gate, also while the gates are being trained.
      const Bilinear c = bilinear(code_[g]);
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

// Through the sigmoid that stands for the step: s(x - b) with derivative y (1 - y).
void Trainer::backward_literals(bool soft) {
  constexpr int kGroup = kLanes / 2;  // two sums a literal, 16 sums at a time
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
      const v16i known = distance * distance < fill(1e30f);  // false where the cell is missing
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

void Trainer::clear_gradients() {
  for (Parameters* p : {&cutoffs_, &slopes_, &gate_logits_, &link_logits_, &vote_logits_})
    p->clear_gradient();
  std::fill(gate_sums_.begin(), gate_sums_.end(), 0.0f);
}

// Forward and backward over n rows, in blocks; leaves sums that finish_gradients completes. The
// list of rows goes on until `end`: what comes next is fetched while a block is at work.
void Trainer::accumulate(const int64_t* rows, int n, const int64_t* end, Phase phase) {
  double total = 0.0;
  for (int r = 0; r < n; ++r) total += job_.table.weight[rows[r]];
  if (total <= 0.0) return;
  for (int start = 0; start < n; start += kRows) {
    const int size = std::min(kRows, n - start);
    load_block(rows + start, size);
    prefetch(rows + start + size, end);
    forward();
    count_votes();
    score_block(size);
    loss_gradient(static_cast<float>(1.0 / total));
    backward(phase);
  }
  weight_total_ += total;
}

// From sums over rows to the gradients of the logits.
void Trainer::finish_gradients(Phase phase) {
  if (phase != Phase::links)
    for (int tile = 0; tile < tiles(net_.n_gates); ++tile) {
      const float* sums = &gate_sums_[static_cast<size_t>(tile) * 4 * kLanes];
      const size_t start = static_cast<size_t>(tile) * net_.n_choices * kLanes;
      for (int k = 0; k < net_.n_choices; ++k) {
        const Bilinear& c = choice_[k];
        store(&gate_logits_.gradient[start + k * kLanes],
              load(sums) * fill(c.c0) + load(sums + kLanes) * fill(c.c1) +
                  load(sums + 2 * kLanes) * fill(c.c2) + load(sums + 3 * kLanes) * fill(c.c3));
      }
      softmax_gradient_tile(&gate_probability_[start], &gate_logits_.gradient[start],
                            net_.n_choices);
    }
  if (phase != Phase::gates) {
    for (int tile = 0; tile < tiles(n_inputs_); ++tile) {
      const size_t start = static_cast<size_t>(tile) * net_.n_links * kLanes;
      softmax_gradient_tile(&link_probability_[start], &link_logits_.gradient[start],
                            net_.n_links);
    }
    for (size_t i = 0; i < vote_weight_.size(); i += kLanes) {
      const v16f w = load(&vote_weight_[i]);
      store(&vote_logits_.gradient[i], load(&vote_logits_.gradient[i]) * (w * (fill(1.0f) - w)));
    }
  }
}

void Trainer::update(Phase phase, float rate) {
  if (phase != Phase::links) {
    gate_steps_.advance();
    gate_steps_.apply(gate_logits_, rate);
    if (options_.threshold_rate > 0.0f) {
      gate_steps_.apply(cutoffs_, rate * options_.threshold_rate);
      gate_steps_.apply(slopes_, rate * options_.threshold_rate);
      for (float& slope : slopes_.value) slope = std::max(slope, kMinSlope);
    }
    refresh_gates();
  }
  if (phase != Phase::gates) {
    link_steps_.advance();
    link_steps_.apply(link_logits_, rate);
    link_steps_.apply(vote_logits_, rate);
    refresh_links();
    refresh_votes();
  }
}

// ---- the run ----

Phase Trainer::phase_of(int epoch, int64_t batch) const {
  switch (options_.schedule) {
    case Schedule::epochs:
      return epoch / options_.phase_epochs % 2 == 0 ? Phase::gates : Phase::links;
    case Schedule::batches: return batch % 2 == 0 ? Phase::gates : Phase::links;
    default: return Phase::both;
  }
}

double Trainer::evaluate(const std::vector<int64_t>& rows) {
  std::fill(right_.begin(), right_.end(), 0);
  std::fill(total_.begin(), total_.end(), 0);
  for (size_t start = 0; start < rows.size(); start += kRows) {
    const int size = static_cast<int>(std::min<size_t>(kRows, rows.size() - start));
    load_block(rows.data() + start, size);
    forward();
    count_votes();
    score_block(size);
  }
  return balanced_accuracy(right_, total_);
}

int Trainer::live_gates() const {
  std::vector<uint8_t> live(n_wires_, 0);
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

void Trainer::run(const std::atomic<bool>& stop) {
  const int64_t n = static_cast<int64_t>(job_.rows.size());
  const int64_t n_batches = (n + options_.batch_size - 1) / options_.batch_size;
  const double n_steps = static_cast<double>(n_batches) * options_.epochs;
  double best = -1.0, step = 0.0;
  int64_t batch_number = 0;
  for (int epoch = 0; epoch < options_.epochs; ++epoch) {
    random_.shuffle(job_.rows);
    loss_ = weight_total_ = 0.0;
    std::fill(right_.begin(), right_.end(), 0);
    std::fill(total_.begin(), total_.end(), 0);
    for (int64_t batch = 0; batch < n_batches; ++batch, ++batch_number, step += 1.0) {
      if (stop.load(std::memory_order_relaxed)) return finish();
      // Batches of nearly equal size: no row is dropped and none is in a tiny batch.
      const int64_t start = n * batch / n_batches, end = n * (batch + 1) / n_batches;
      const Phase phase = phase_of(epoch, batch_number);
      clear_gradients();
      accumulate(&job_.rows[start], static_cast<int>(end - start), job_.rows.data() + n, phase);
      finish_gradients(phase);
      const double decay = 0.5 * (1.0 + cosine(step / n_steps));
      const double factor = options_.final_rate + (1.0 - options_.final_rate) * decay;
      update(phase, static_cast<float>(options_.rate * factor));
    }
    EpochRecord record{};
    record.loss = static_cast<float>(loss_ / std::max(weight_total_, 1e-30));
    record.train_accuracy = static_cast<float>(balanced_accuracy(right_, total_));
    record.valid_accuracy = std::numeric_limits<float>::quiet_NaN();
    record.live_gates = static_cast<float>(live_gates());
    const bool look = options_.eval_every > 0 && !job_.valid_rows.empty() &&
                      ((epoch + 1) % options_.eval_every == 0 || epoch + 1 == options_.epochs);
    if (look) {
      const double accuracy = evaluate(job_.valid_rows);
      record.valid_accuracy = static_cast<float>(accuracy);
      if (accuracy >= best) {  // a later look wins a tie: it was trained longer
        best = accuracy;
        job_.best_epoch = epoch;
        if (options_.keep_best) unpack();
      }
    }
    job_.history.push_back(record);
    job_.epochs_done.store(epoch + 1, std::memory_order_release);
    const bool stale = options_.patience > 0 && job_.best_epoch >= 0 &&
                       epoch - job_.best_epoch >= options_.patience;
    if (stale) break;
  }
  finish();
}

// Hand the parameters over, unless those of the best look have been handed over already.
void Trainer::finish() {
  if (!options_.keep_best || job_.best_epoch < 0) unpack();
}

Gradients Trainer::gradients(const std::vector<int64_t>& rows, Phase phase) {
  clear_gradients();
  accumulate(rows.data(), static_cast<int>(rows.size()), rows.data() + rows.size(), phase);
  finish_gradients(phase);
  Gradients result;
  result.cutoff = cutoffs_.gradient;
  result.slope = slopes_.gradient;
  result.link_logit.resize(static_cast<size_t>(n_inputs_) * net_.n_links);
  result.gate_logit.resize(static_cast<size_t>(net_.n_gates) * net_.n_choices);
  result.vote_logit.resize(static_cast<size_t>(net_.n_classes) * net_.n_rules);
  link_layout_.unpack(link_logits_.gradient, result.link_logit.data());
  gate_layout_.unpack(gate_logits_.gradient, result.gate_logit.data());
  for (int c = 0; c < net_.n_classes; ++c)
    std::copy_n(vote_logits_.gradient.begin() + c * n_rules_padded_, net_.n_rules,
                result.vote_logit.begin() + c * net_.n_rules);
  result.loss = static_cast<float>(loss_ / std::max(weight_total_, 1e-30));
  return result;
}

}  // namespace

void train(Job& job, const std::atomic<bool>& stop) { Trainer(job).run(stop); }

Gradients gradients(Job& job, const std::vector<int64_t>& rows, Phase phase) {
  return Trainer(job).gradients(rows, phase);
}

}  // namespace dln::DLN_LEVEL
