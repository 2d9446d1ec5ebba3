// One tree on coded columns, grown best first by histograms.
//
// A column is a code for each row: 0 is missing, then parts of numbers in their order, or groups of
// categories. A test of a number is `code > c` or `code == 0`, a test of a category `code == c`; rows
// that pass go to the right. A node's feature is the number of its column, plus the number of columns
// if it tests for equality; a leaf has the feature -1. Pulls and holds, the derivatives of the loss, are whole numbers, so sums
// of them are exact: the tree does not depend on the order of the rows or on the number of threads.
// `dln.train.coded_trees` defines the same in NumPy, and a test compares the two.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace dln {
namespace {

template <typename T>
using Values = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

enum Tests : uint8_t { kNone = 0, kMissing = 1, kAbove = 2, kAmong = 3 };

constexpr int kCodes = 256;
constexpr size_t kFewCells = 1 << 16;  // below this, a thread takes longer to start than the work

// Sums over the rows of a leaf: rows, holds, and the pull of each output.
struct Sums {
  int64_t* at;
  int64_t& rows() const { return at[0]; }
  int64_t& hold() const { return at[1]; }
  int64_t* pull() const { return at + 2; }
};

struct Split {
  double gain = 0.0;  // 0: none
  int column = -1;
  int code = 0;
  bool equal = false;
};

struct Leaf {
  size_t begin, end;  // its rows
  int node;
  std::vector<int64_t> sums;  // (columns, codes, 2 + outputs)
  Split split;
};

class Grower {
 public:
  Grower(const Matrix<uint8_t>& codes, const Values<int32_t>& rows, const Matrix<int32_t>& pulls,
         const Values<int32_t>& holds, const Values<uint8_t>& tests, const Values<int8_t>& signs,
         int n_leaves, int64_t least_rows, double penalty, int n_threads)
      : codes_(codes.data()), n_rows_(codes.shape(1)), n_columns_(static_cast<int>(codes.shape(0))),
        tests_(tests.data()), signs_(signs.data()), n_leaves_(n_leaves), least_rows_(least_rows),
        penalty_(penalty), n_threads_(n_threads), n_outputs_(static_cast<int>(pulls.shape(0))),
        width_(2 + n_outputs_), rows_(rows.data(), rows.data() + rows.shape(0)),
        holds_(holds.data(), holds.data() + holds.shape(0)),
        pulls_(pulls.data(), pulls.data() + pulls.size()), moved_rows_(rows_.size()),
        moved_(rows_.size()), goes_right_(rows_.size()) {}

  void grow() {
    add_node();
    std::vector<Leaf> leaves(1);
    Leaf& root = leaves[0];
    root.begin = 0;
    root.end = rows_.size();
    root.node = 0;
    add_up(root);
    find_split(root);
    while (static_cast<int>(leaves.size()) < n_leaves_) {
      size_t best = 0;
      for (size_t i = 1; i < leaves.size(); ++i)
        if (leaves[i].split.gain > leaves[best].split.gain) best = i;
      if (!(leaves[best].split.gain > 0.0)) break;
      leaves.push_back(divide(leaves[best], static_cast<int>(leaves.size()) + 1 < n_leaves_));
    }
  }

  std::vector<int32_t> feature, code, left, right;

 private:
  int add_node() {
    feature.push_back(-1);
    code.push_back(0);
    left.push_back(-1);
    right.push_back(-1);
    return static_cast<int>(feature.size()) - 1;
  }

  // Run a function for each column that has tests. Columns share nothing that is written.
  template <typename Function>
  void for_columns(size_t n_rows, Function run) {
    std::atomic<int> next{0};
    const auto loop = [&] {
      for (int c; (c = next.fetch_add(1)) < n_columns_;)
        if (tests_[c] != kNone) run(c);
    };
    std::vector<std::thread> others;
    const int wanted = n_rows * n_columns_ < kFewCells ? 1 : std::min(n_threads_, n_columns_);
    try {
      for (int i = 1; i < wanted; ++i) others.emplace_back(loop);
    } catch (const std::system_error&) {
      // Without another thread the work takes longer.
    }
    loop();
    for (std::thread& thread : others) thread.join();
  }

  void add_up(Leaf& leaf) {
    leaf.sums.assign(static_cast<size_t>(n_columns_) * kCodes * width_, 0);
    for_columns(leaf.end - leaf.begin, [&](int c) {
      const uint8_t* codes = codes_ + static_cast<size_t>(c) * n_rows_;
      int64_t* sums = &leaf.sums[static_cast<size_t>(c) * kCodes * width_];
      if (n_outputs_ == 1) {
        for (size_t i = leaf.begin; i < leaf.end; ++i) {
          int64_t* own = sums + 3 * static_cast<size_t>(codes[rows_[i]]);
          own[0] += 1;
          own[1] += holds_[i];
          own[2] += pulls_[i];
        }
        return;
      }
      for (size_t i = leaf.begin; i < leaf.end; ++i) {
        int64_t* own = sums + width_ * static_cast<size_t>(codes[rows_[i]]);
        own[0] += 1;
        own[1] += holds_[i];
        for (int k = 0; k < n_outputs_; ++k) own[2 + k] += pulls_[k * rows_.size() + i];
      }
    });
  }

  double score(const int64_t* sums) const {
    double squares = 0.0;
    for (int k = 0; k < n_outputs_; ++k) {
      const double pull = static_cast<double>(sums[2 + k]);
      squares += pull * pull;
    }
    return squares / (static_cast<double>(sums[1]) + penalty_);
  }

  void find_split(Leaf& leaf) {
    leaf.split = Split();
    if (static_cast<int64_t>(leaf.end - leaf.begin) < 2 * least_rows_) return;
    std::vector<Split> found(n_columns_);
    for_columns((leaf.end - leaf.begin) / 8, [&](int c) { found[c] = best_of(leaf, c); });
    for (const Split& split : found)
      if (split.gain > leaf.split.gain) leaf.split = split;
  }

  Split best_of(const Leaf& leaf, int c) const {
    const int64_t* sums = &leaf.sums[static_cast<size_t>(c) * kCodes * width_];
    std::vector<int64_t> all(width_, 0), rest(width_), side(width_);
    for (int code = 0; code < kCodes; ++code)
      for (int k = 0; k < width_; ++k) all[k] += sums[code * width_ + k];
    const double before = score(all.data());
    Split best;
    best.column = c;
    const auto consider = [&](int code, bool equal, int sign) {
      for (int k = 0; k < width_; ++k) rest[k] = all[k] - side[k];
      if (side[0] < least_rows_ || rest[0] < least_rows_) return;
      if (sign != 0) {  // the right side, `side`, pulls further in the direction
        const double over = static_cast<double>(side[2]) / (static_cast<double>(side[1]) + penalty_);
        const double under = static_cast<double>(rest[2]) / (static_cast<double>(rest[1]) + penalty_);
        if (sign > 0 ? over <= under : over >= under) return;
      }
      const double gain = (score(side.data()) + score(rest.data())) - before;
      if (gain > best.gain) best = {gain, c, code, equal};
    };
    const int last = tests_[c] == kAmong ? kCodes : 1;
    for (int code = 0; code < last; ++code) {
      if (sums[code * width_] == 0) continue;
      std::copy_n(sums + code * width_, width_, side.begin());
      consider(code, true, 0);
    }
    if (tests_[c] != kAbove) return best;
    side = all;
    for (int k = 0; k < width_; ++k) side[k] -= sums[k];
    for (int code = 1; code < kCodes; ++code) {
      if (sums[code * width_] == 0) continue;  // the same split as before it
      for (int k = 0; k < width_; ++k) side[k] -= sums[code * width_ + k];
      consider(code, false, signs_[c]);
    }
    return best;
  }

  // Move the rows of a leaf that pass to its end. The leaf keeps the others; return the new leaf.
  Leaf divide(Leaf& leaf, bool goes_on) {
    const Split split = leaf.split;
    const uint8_t* codes = codes_ + static_cast<size_t>(split.column) * n_rows_;
    for (size_t i = leaf.begin; i < leaf.end; ++i)
      goes_right_[i] = split.equal ? codes[rows_[i]] == split.code : codes[rows_[i]] > split.code;
    size_t middle = leaf.begin;
    for (size_t i = leaf.begin; i < leaf.end; ++i) middle += !goes_right_[i];
    move(rows_.data(), moved_rows_.data(), leaf.begin, leaf.end);
    move(holds_.data(), moved_.data(), leaf.begin, leaf.end);
    for (int k = 0; k < n_outputs_; ++k)
      move(&pulls_[k * rows_.size()], moved_.data(), leaf.begin, leaf.end);

    const int node = leaf.node;
    feature[node] = split.column + (split.equal ? n_columns_ : 0);
    code[node] = split.code;
    left[node] = add_node();
    right[node] = add_node();
    Leaf other{middle, leaf.end, right[node], {}, {}};
    leaf.end = middle;
    leaf.node = left[node];
    leaf.split = Split();
    if (!goes_on) return other;
    // Only the smaller side is added up; the larger one is the rest.
    const bool other_is_smaller = other.end - other.begin <= leaf.end - leaf.begin;
    other.sums = std::move(leaf.sums);
    if (other_is_smaller) std::swap(other.sums, leaf.sums);
    Leaf& small = other_is_smaller ? other : leaf;
    Leaf& large = other_is_smaller ? leaf : other;
    add_up(small);
    for_columns(kCodes * width_, [&](int c) {
      const size_t first = static_cast<size_t>(c) * kCodes * width_;
      for (size_t i = first; i < first + static_cast<size_t>(kCodes) * width_; ++i)
        large.sums[i] -= small.sums[i];
    });
    find_split(leaf);
    find_split(other);
    return other;
  }

  template <typename T>
  void move(T* values, T* spare, size_t begin, size_t end) {
    size_t kept = begin, moved = 0;
    for (size_t i = begin; i < end; ++i) {
      if (goes_right_[i])
        spare[moved++] = values[i];
      else
        values[kept++] = values[i];
    }
    std::copy_n(spare, moved, values + kept);
  }

  const uint8_t* codes_;
  const size_t n_rows_;
  const int n_columns_;
  const uint8_t* tests_;
  const int8_t* signs_;
  const int n_leaves_;
  const int64_t least_rows_;
  const double penalty_;
  const int n_threads_, n_outputs_, width_;
  std::vector<int32_t> rows_, holds_, pulls_, moved_rows_, moved_;
  std::vector<uint8_t> goes_right_;
};

template <typename T>
Result<T> give(std::vector<T> values) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* data = kept->data();
  const size_t size = kept->size();
  nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {data, {size}, owner};
}

void require(bool is_right, const char* message) {
  if (!is_right) throw std::invalid_argument(message);
}

nb::tuple grow_tree(Matrix<uint8_t> codes, Values<int32_t> rows, Matrix<int32_t> pulls,
                    Values<int32_t> holds, Values<uint8_t> tests, Values<int8_t> signs,
                    int n_leaves, int64_t least_rows, double penalty, int n_threads) {
  require(tests.shape(0) == codes.shape(0) && signs.shape(0) == codes.shape(0),
          "tests or signs differ in length from the columns");
  require(pulls.shape(1) == rows.shape(0) && holds.shape(0) == rows.shape(0),
          "pulls or holds differ in length from the rows");
  require(pulls.shape(0) >= 1 && rows.shape(0) >= 1, "there are no outputs or no rows");
  require(n_leaves >= 1 && n_leaves <= 1 << 20, "n_leaves is out of range");
  require(least_rows >= 1 && penalty > 0.0 && n_threads >= 1, "an option is out of range");
  for (size_t c = 0; c < tests.shape(0); ++c) {
    require(tests.data()[c] <= kAmong, "a number of tests is unknown");
    require(signs.data()[c] == 0 || pulls.shape(0) == 1, "signs need a single output");
  }
  for (size_t i = 0; i < rows.shape(0); ++i) {
    require(rows.data()[i] >= 0 && static_cast<size_t>(rows.data()[i]) < codes.shape(1),
            "a row is out of range");
    require(holds.data()[i] >= 0, "a hold is negative");
  }
  Grower grower(codes, rows, pulls, holds, tests, signs, n_leaves, least_rows, penalty, n_threads);
  {
    nb::gil_scoped_release release;
    grower.grow();
  }
  return nb::make_tuple(give(std::move(grower.feature)), give(std::move(grower.code)),
                        give(std::move(grower.left)), give(std::move(grower.right)));
}

Result<int32_t> find_leaves(Matrix<uint8_t> codes, Values<int32_t> feature, Values<int32_t> code,
                            Values<int32_t> left, Values<int32_t> right, int n_threads) {
  const size_t n_nodes = feature.shape(0), n_rows = codes.shape(1), n_columns = codes.shape(0);
  require(n_nodes >= 1 && code.shape(0) == n_nodes && left.shape(0) == n_nodes &&
              right.shape(0) == n_nodes,
          "the parts of the tree differ in length");
  struct Node {
    const uint8_t* codes;  // null: a leaf
    int32_t code, left, right;
    bool equal;
  };
  std::vector<Node> nodes(n_nodes, Node{nullptr, 0, 0, 0, false});
  for (size_t node = 0; node < n_nodes; ++node) {
    if (feature.data()[node] < 0) continue;
    const size_t own = static_cast<size_t>(feature.data()[node]);
    require(own < 2 * n_columns, "a feature is out of range");
    for (const int32_t child : {left.data()[node], right.data()[node]})
      require(child > static_cast<int32_t>(node) && static_cast<size_t>(child) < n_nodes,
              "a child is out of range");
    nodes[node] = {codes.data() + own % n_columns * n_rows, code.data()[node], left.data()[node],
                   right.data()[node], own >= n_columns};
  }
  std::vector<int32_t> leaves(n_rows);
  {
    nb::gil_scoped_release release;
    constexpr size_t kBlock = 1 << 14;
    std::atomic<size_t> next{0};
    const auto loop = [&] {
      for (size_t first; (first = next.fetch_add(kBlock)) < n_rows;)
        for (size_t row = first; row < std::min(n_rows, first + kBlock); ++row) {
          int32_t at = 0;
          while (nodes[at].codes) {
            const Node& node = nodes[at];
            const int own = node.codes[row];
            at = (node.equal ? own == node.code : own > node.code) ? node.right : node.left;
          }
          leaves[row] = at;
        }
    };
    std::vector<std::thread> others;
    const size_t wanted = std::min<size_t>(std::max(n_threads, 1), (n_rows + kBlock - 1) / kBlock);
    try {
      for (size_t i = 1; i < wanted; ++i) others.emplace_back(loop);
    } catch (const std::system_error&) {
      // Without another thread the work takes longer.
    }
    loop();
    for (std::thread& thread : others) thread.join();
  }
  return give(std::move(leaves));
}

}  // namespace
}  // namespace dln

void bind_trees(nb::module_& module) {
  module.def("grow_tree", &dln::grow_tree, "codes"_a, "rows"_a, "pulls"_a, "holds"_a, "tests"_a,
             "signs"_a, "n_leaves"_a, "least_rows"_a, "penalty"_a, "n_threads"_a,
             "Grow a tree best first: the feature, code, left and right child of each node.");
  module.def("find_leaves", &dln::find_leaves, "codes"_a, "feature"_a, "code"_a, "left"_a,
             "right"_a, "n_threads"_a, "The leaf of each row of coded columns.");
}
