// The forward pass: rows to bits, bits through hard gates, votes, and the loss of a block.
#include <algorithm>
#include <type_traits>

#include "trainer.h"

namespace dln::DLN_LEVEL {

void Trainer::load_block(const int64_t* rows, int n) {
  const Table& table = job_.table;
  for (int r = 0; r < kRows; ++r) {
    if (r >= n) {  // an empty place: its weight is zero
      class_[r] = -1;
      number_[r] = weight_[r] = 0.0f;
      continue;
    }
    const float* row = table.cells + rows[r] * table.n_columns;
    for (size_t i = 0; i < columns_.size(); ++i) cells_[i * kRows + r] = row[columns_[i]];
    if (table.classes) class_[r] = table.classes[rows[r]];
    if (table.numbers) number_[r] = table.numbers[rows[r]];
    weight_[r] = table.weight[rows[r]];
  }
  if (table.offset) load_offsets(rows, n);
}

void Trainer::load_offsets(const int64_t* rows, int n) {
  const int outputs = net_.n_outputs();
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < outputs; ++c)
      offset_[c * kRows + r] = r < n ? job_.table.offset[rows[r] * outputs + c] : 0.0f;
}

// Rows are in random order. Without prefetching, each row of a large table would wait for memory.
void Trainer::prefetch(const int64_t* rows, const int64_t* end) const {
  const Table& table = job_.table;
  const int64_t n = std::min<int64_t>(kRows, end - rows);
  for (const int64_t* row = rows; row < rows + n; ++row) {
    const float* cells = table.cells + *row * table.n_columns;
    for (const int32_t column : fetched_) __builtin_prefetch(cells + column, 0, 2);
    __builtin_prefetch(table.classes + *row, 0, 2);  // an address that is not used does no harm
    __builtin_prefetch(table.numbers + *row, 0, 2);
    __builtin_prefetch(table.weight + *row, 0, 2);
  }
}

void Trainer::forward() {
  for (int i = 0; i < net_.n_literals; ++i) {
    const float* cells = &cells_[static_cast<size_t>(cell_of_[i]) * kRows];
    switch (LiteralKind(net_.literal_kind[i])) {
      case LiteralKind::above: bits_[i] = above(cells, cutoffs_.value[i]); break;
      case LiteralKind::among: bits_[i] = equal(cells, cutoffs_.value[i]); break;
      case LiteralKind::missing: bits_[i] = missing(cells); break;
    }
  }
  for (int g = 0; g < net_.n_gates; ++g)
    bits_[net_.n_literals + g] =
        evaluate_gate<uint64_t>(code_[g], bits_[source_[2 * g]], bits_[source_[2 * g + 1]]);
}

void Trainer::add_points() {
  if (net_.predicts_number())
    add_weights();
  else
    count_votes();
}

void Trainer::add_weights() {
  const float* weight = weights_.value.data();
  Gradient sum;
  for (int i = 0; i < kChunks; ++i)
    sum[i] = load(&offset_[i * kLanes]) + fill(weight[net_.n_rules]);
  for (int32_t rule : voters_[0]) {
    const uint64_t& word = bits_[rule_wire_[rule]];
    for (int i = 0; i < kChunks; ++i)
      sum[i] = add_where(sum[i], chunk_bits(word, i), fill(weight[rule]));
  }
  for (int i = 0; i < kChunks; ++i) store(&score_[i * kLanes], sum[i]);
}

void Trainer::count_votes() {
  for (int c = 0; c < net_.n_classes; ++c) {
    Gradient sum;
    for (int i = 0; i < kChunks; ++i) sum[i] = load(&offset_[c * kRows + i * kLanes]);
    for (int32_t rule : voters_[c]) {
      const uint64_t& word = bits_[net_.rule_wire[rule]];
      for (int i = 0; i < kChunks; ++i)
        sum[i] = add_where(sum[i], chunk_bits(word, i), fill(1.0f));
    }
    for (int i = 0; i < kChunks; ++i) store(&score_[c * kRows + i * kLanes], sum[i]);
  }
}

// Count correct predictions by class. Numbers are scored by their loss.
void Trainer::score_block(int n) {
  if (net_.predicts_number()) return;
  int32_t winner[kRows];
  for (int i = 0; i < kRows; i += kLanes) store(winner + i, best_output(points_of(i)));
  for (int r = 0; r < n; ++r) {
    ++total_[class_[r]];
    right_[class_[r]] += winner[r] == class_[r];
  }
}

// Replace the points by the gradient of `scale` times the weighted loss, and add the loss to a total.
void Trainer::loss_gradient(float scale, double& total) {
  float losses[kRows];
  with_loss(options_, [&](const auto& loss) {
    using Target = typename std::remove_cvref_t<decltype(loss)>::Target;
    for (int i = 0; i < kRows; i += kLanes) {
      const v16f weight = load(weight_ + i);
      store(losses + i, weight * loss.differentiate(points_of(i), targets(i, Target{}),
                                                    weight * fill(scale)));
    }
  });
  for (float loss : losses) total += loss;
}

}  // namespace dln::DLN_LEVEL
