// The splits of a decision tree on one column: the first cutoffs of an encoder.
//
// The tree is grown best first by the Gini impurity, as scikit-learn's DecisionTreeClassifier with a
// limited number of leaves grows it, and a test compares the two. A column is sorted once, and rows with
// the same value are added up first. Sums of float32 weights are exact in double unless the weights
// differ by many orders of magnitude, so their order does not matter.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace dln {
namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr float kSame = 1e-7f;  // values this close are not separated
constexpr double kPure = std::numeric_limits<double>::epsilon();

// Rows with the same value: the smallest and largest of them, and the weight of each class.
struct Groups {
  std::vector<float> low, high;
  std::vector<double> weight;  // (groups, classes)
  int n_classes;

  int size() const { return static_cast<int>(low.size()); }
  const double* of(int group) const { return &weight[static_cast<size_t>(group) * n_classes]; }
};

Groups group_rows(const Column<float>& values, const Column<int32_t>& target,
                  const Column<float>& weight) {
  Groups groups;
  groups.n_classes = 1;
  std::vector<std::pair<float, uint32_t>> order;
  order.reserve(values.shape(0));
  for (size_t row = 0; row < values.shape(0); ++row) {
    if (std::isnan(values.data()[row])) throw std::invalid_argument("a value is missing");
    if (target.data()[row] < 0) throw std::invalid_argument("a target is negative");
    if (!(weight.data()[row] >= 0.0f)) throw std::invalid_argument("a weight is negative or NaN");
    if (weight.data()[row] == 0.0f) continue;
    groups.n_classes = std::max(groups.n_classes, target.data()[row] + 1);
    order.emplace_back(values.data()[row], static_cast<uint32_t>(row));
  }
  std::sort(order.begin(), order.end());
  for (const auto& [value, row] : order) {
    if (groups.low.empty() || value > groups.high.back() + kSame) {
      groups.low.push_back(value);
      groups.high.push_back(value);
      groups.weight.resize(groups.weight.size() + groups.n_classes, 0.0);
    }
    groups.high.back() = value;
    groups.weight[groups.weight.size() - groups.n_classes + target.data()[row]] +=
        weight.data()[row];
  }
  return groups;
}

// A node of the tree: groups from `begin` to before `end`, to be divided at `cut`.
struct Node {
  int begin, end, cut;  // cut == end: a leaf
  double impurity, impurity_left, impurity_right, improvement;
};

class Tree {
 public:
  explicit Tree(Groups groups)
      : groups_(std::move(groups)), left_(groups_.n_classes), all_(groups_.n_classes) {
    for (double w : groups_.weight) total_ += w;
  }

  // Cutoffs in the order in which they are found, so the first k are those of a tree with k.
  std::vector<double> grow(int n_splits) {
    std::vector<double> cutoffs;
    if (groups_.size() == 0) return cutoffs;
    const auto worse = [](const Node& x, const Node& y) { return x.improvement < y.improvement; };
    std::vector<Node> open{divide(0, groups_.size(), std::nan(""))};
    while (!open.empty() && static_cast<int>(cutoffs.size()) < n_splits) {
      std::pop_heap(open.begin(), open.end(), worse);
      const Node node = open.back();
      open.pop_back();
      if (node.cut == node.end) continue;
      cutoffs.push_back(groups_.high[node.cut - 1] / 2.0 + groups_.low[node.cut] / 2.0);
      const Node children[] = {divide(node.begin, node.cut, node.impurity_left),
                               divide(node.cut, node.end, node.impurity_right)};
      for (const Node& child : children) {
        open.push_back(child);
        std::push_heap(open.begin(), open.end(), worse);
      }
    }
    return cutoffs;
  }

 private:
  // Find the best cut of a node. The impurity of the root is not known yet: NaN.
  Node divide(int begin, int end, double impurity) {
    std::fill(all_.begin(), all_.end(), 0.0);
    std::fill(left_.begin(), left_.end(), 0.0);
    double weight = 0.0, squares = 0.0;
    for (int group = begin; group < end; ++group)
      for (int c = 0; c < groups_.n_classes; ++c) all_[c] += groups_.of(group)[c];
    for (double w : all_) {
      weight += w;
      squares += w * w;
    }
    if (std::isnan(impurity)) impurity = 1.0 - squares / (weight * weight);
    Node best{begin, end, end, impurity, 0.0, 0.0, 0.0};
    if (impurity <= kPure) return best;
    double best_score = -std::numeric_limits<double>::infinity(), weight_left = 0.0;
    double best_left = 0.0;
    for (int cut = begin + 1; cut < end; ++cut) {
      double squares_left = 0.0, squares_right = 0.0;
      for (int c = 0; c < groups_.n_classes; ++c) {
        const double w = groups_.of(cut - 1)[c];
        left_[c] += w;
        weight_left += w;
        const double right = all_[c] - left_[c];
        squares_left += left_[c] * left_[c];
        squares_right += right * right;
      }
      const double weight_right = weight - weight_left;
      const double left = 1.0 - squares_left / (weight_left * weight_left);
      const double right = 1.0 - squares_right / (weight_right * weight_right);
      const double score = -weight_right * right - weight_left * left;
      if (score > best_score) {
        best_score = score;
        best_left = weight_left;
        best.cut = cut;
        best.impurity_left = left;
        best.impurity_right = right;
      }
    }
    if (best.cut == end) return best;
    best.improvement = (weight / total_) *
                       (impurity - ((weight - best_left) / weight * best.impurity_right) -
                        (best_left / weight * best.impurity_left));
    if (best.improvement + kPure < 0.0) {
      best.cut = end;
      best.improvement = 0.0;
    }
    return best;
  }

  const Groups groups_;
  std::vector<double> left_, all_;
  double total_ = 0.0;
};

nb::ndarray<nb::numpy, double, nb::ndim<1>> tree_splits(Column<float> values,
                                                        Column<int32_t> target,
                                                        Column<float> weight, int n_splits) {
  if (target.shape(0) != values.shape(0) || weight.shape(0) != values.shape(0))
    throw std::invalid_argument("values, target and weight differ in length");
  if (values.shape(0) >= std::numeric_limits<int32_t>::max())
    throw std::invalid_argument("too many rows");
  std::vector<double> found;
  {
    nb::gil_scoped_release release;
    found = Tree(group_rows(values, target, weight)).grow(n_splits);
  }
  double* data = new double[found.size()];
  std::copy(found.begin(), found.end(), data);
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return {data, {found.size()}, owner};
}

}  // namespace
}  // namespace dln

void bind_splits(nb::module_& module) {
  module.def("tree_splits", &dln::tree_splits, "values"_a, "target"_a, "weight"_a, "n_splits"_a,
             "The first splits of a tree on one column, grown best first by the Gini impurity.");
}
