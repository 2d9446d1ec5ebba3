// The forward pass: rows to bits, bits through hard gates, votes, and the loss of a block.
#include <algorithm>
#include <cmath>

#include "trainer.h"

namespace dln::DLN_LEVEL {

namespace {

// All rows of a gate at once: the algebraic normal form of its truth table.
uint64_t evaluate_gate(uint8_t code, uint64_t a, uint64_t b) {
  const auto spread = [](int bit) { return -static_cast<uint64_t>(bit & 1); };
  const int t00 = code >> 3, t01 = code >> 2, t10 = code >> 1, t11 = code;
  return spread(t00) ^ (spread(t00 ^ t10) & a) ^ (spread(t00 ^ t01) & b) ^
         (spread(t00 ^ t01 ^ t10 ^ t11) & a & b);
}

}  // namespace

void Trainer::load_block(const int64_t* rows, int n) {
  const Table& table = job_.table;
  for (int r = 0; r < kRows; ++r) {
    if (r >= n) {  // an empty place: its weight is zero
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

// Rows are in random order. Without prefetching, each row of a large table would wait for memory.
void Trainer::prefetch(const int64_t* rows, const int64_t* end) const {
  constexpr int kLine = 64 / sizeof(float);
  const Table& table = job_.table;
  const int64_t n = std::min<int64_t>(kRows, end - rows);
  for (const int64_t* row = rows; row < rows + n; ++row) {
    const float* cells = table.cells + *row * table.n_columns;
    for (int c = 0; c < table.n_columns; c += kLine) __builtin_prefetch(cells + c, 0, 2);
    __builtin_prefetch(cells + table.n_columns - 1, 0, 2);
    __builtin_prefetch(table.target + *row, 0, 2);
    __builtin_prefetch(table.weight + *row, 0, 2);
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

// Count correct predictions by class; the first class wins a tie.
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
    v16f chosen = {}, others = {};
    for (int c = 0; c < net_.n_classes; ++c) {
      const v16f e = exp_nonpositive((load(&score_[c * kRows + i * kLanes]) - top) * inverse_tau);
      chosen += select(target == fill(c), e, fill(0.0f));
      others += select(target == fill(c), fill(0.0f), e);
      store(&score_[c * kRows + i * kLanes], e);
    }
    const v16f total = chosen + others;
    // Use the odds against the class instead of its probability. If the class is nearly certain,
    // the probability is nearly 1 and its logarithm only a rounding error. For a row with a tiny
    // probability the odds stay finite.
    store(row_loss_ + i * kLanes, others / larger(chosen, total * fill(1.17549435e-38f)));
    // The gradient of the true class is minus the sum of the others. 1 - p would only be a rounding
    // error if the class is nearly certain.
    const v16f part = weight / total * inverse_tau;
    for (int c = 0; c < net_.n_classes; ++c) {
      const v16f e = load(&score_[c * kRows + i * kLanes]);
      const v16f slope = select(target == fill(c), fill(0.0f) - others, e) * part;
      store(&score_[c * kRows + i * kLanes], slope);
    }
  }
  for (int r = 0; r < kRows; ++r) loss_ += weight_[r] * std::log1p(row_loss_[r]);
}

}  // namespace dln::DLN_LEVEL
