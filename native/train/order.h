// The order in which an epoch visits the rows of a job.
//
// Up to kWindow rows are shuffled as a whole. A longer list is cut into blocks of consecutive rows, the
// blocks are shuffled, and then the rows of as many blocks as fill a window. So only a window of rows
// is in use at a time, and it is read block by block: the table may be a mapped file that is larger
// than the memory. src/dln/train/shuffle.py has the same order in Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "buffer.h"
#include "random.h"

namespace dln::DLN_LEVEL {

constexpr int64_t kWindow = int64_t{1} << 22, kBlock = int64_t{1} << 12;

class RowOrder {
 public:
  RowOrder(const int64_t* rows, int64_t n, int64_t window = kWindow, int64_t block = kBlock)
      : rows_(rows), n_(n), window_(window), block_(block), is_short_(n <= window) {
    if (is_short_)
      order_.assign(rows, rows + n);
    else
      blocks_.resize((n + block - 1) / block);
  }

  // Start the next epoch.
  void begin(Random& random) {
    first_ = next_block_ = 0;
    if (is_short_) return random.shuffle(order_);
    order_.clear();
    std::iota(blocks_.begin(), blocks_.end(), int64_t{0});
    random.shuffle(blocks_);
  }

  // The rows from `start` to before `end`. Rows before `start` are forgotten.
  const int64_t* take(int64_t start, int64_t end, Random& random) {
    while (!is_short_ && first_ + static_cast<int64_t>(order_.size()) < end) {
      order_.erase(order_.begin(), order_.begin() + (start - first_));
      first_ = start;
      add_window(random);
    }
    return order_.data() + (start - first_);
  }

  // The end of the rows that are known so far.
  const int64_t* end() const { return order_.data() + order_.size(); }

 private:
  void add_window(Random& random) {
    const int64_t old = static_cast<int64_t>(order_.size());
    const int64_t n_blocks = static_cast<int64_t>(blocks_.size());
    const int64_t last = std::min(n_blocks, next_block_ + std::max<int64_t>(1, window_ / block_));
    for (; next_block_ < last; ++next_block_) {
      const int64_t begin = blocks_[next_block_] * block_;
      order_.insert(order_.end(), rows_ + begin, rows_ + std::min(n_, begin + block_));
    }
    random.shuffle(order_, old);
  }

  const int64_t* rows_;
  int64_t n_, window_, block_;
  bool is_short_;
  int64_t first_ = 0, next_block_ = 0;  // the place of the first row of order_ in the epoch
  Buffer<int64_t> blocks_, order_;
};

}  // namespace dln::DLN_LEVEL
