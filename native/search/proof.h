// Why a box has no row that fulfils all demands; check.h checks it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "problem.h"

namespace dln::search {

// Why a box has no row that fulfils all demands: a tree of boxes, and messages for each of its leaves.
struct Proof {
  static constexpr std::int32_t regroup = std::numeric_limits<std::int32_t>::min();

  // Nodes in preorder. A leaf is -1 - k, where k is the number of its messages. A split is a variable,
  // a number of atoms and these atoms: the first child has these atoms of the variable, the second
  // child the others of the box. A regrouping has one child: it is `regroup`, the number of groups,
  // and for each group its size and its factors. Messages are for the groups, see regroup.h.
  std::vector<std::int32_t> tree;
  std::vector<Number> messages;
  std::vector<std::int64_t> starts{0};  // where the messages of each leaf begin, and their end
  std::vector<Number> multipliers;      // (n_leaves, n_demands)

  std::int32_t n_leaves() const { return static_cast<std::int32_t>(starts.size()) - 1; }

  void add_leaf(const std::vector<Number>& message, const std::vector<Number>& multiplier) {
    messages.insert(messages.end(), message.begin(), message.end());
    multipliers.insert(multipliers.end(), multiplier.begin(), multiplier.end());
    tree.push_back(-1 - n_leaves());
    starts.push_back(static_cast<std::int64_t>(messages.size()));
  }
  void add_regrouping(const std::vector<std::vector<int>>& groups) {
    tree.insert(tree.end(), {regroup, static_cast<std::int32_t>(groups.size())});
    for (const std::vector<int>& members : groups) {
      tree.push_back(static_cast<std::int32_t>(members.size()));
      tree.insert(tree.end(), members.begin(), members.end());
    }
  }
  void add_split(int variable, const std::vector<std::int32_t>& atoms) {
    tree.insert(tree.end(), {variable, static_cast<std::int32_t>(atoms.size())});
    tree.insert(tree.end(), atoms.begin(), atoms.end());
  }
};

}  // namespace dln::search
