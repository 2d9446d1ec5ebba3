// Check the proof that no row of a box fulfils all demands of a goal.
//
// This code shares nothing with the search but the tables of votes. It trusts nothing in a proof: what
// is out of range, incomplete or too large for exact sums makes it return false. The argument is in
// check_certificate.py, which does the same with the Python standard library.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "goal.h"
#include "problem.h"
#include "proof.h"

namespace dln::search {

class Checker {
 public:
  explicit Checker(const Problem& problem) : p_(problem) {}

  bool check(const Box& box, const std::vector<Demand>& goal, const Proof& proof) {
    if (p_.has_definitions) return false;
    goal_ = &goal;
    proof_ = &proof;
    at_ = 0;
    Allowed allowed(p_.atom[p_.n_columns], 0);
    for (int v = 0; v < p_.n_columns; ++v)
      for (int i = 0; i < box.size[v]; ++i) allowed[p_.atom[v] + box.begin(p_, v)[i]] = 1;
    return check_node(allowed, nullptr, 0) && at_ == proof.tree.size();
  }

 private:
  static constexpr int most_depth = 4096;  // so that no proof exhausts the stack

  using Allowed = std::vector<std::uint8_t>;  // of each atom of a column: whether the box contains it

  struct Axis {
    int variable;
    std::vector<int> pattern;  // of each atom; -1 outside the box
    std::vector<int> example;  // of each pattern: its first atom
    std::size_t message;       // of the first pattern
  };
  struct Group {
    std::vector<int> members;
    std::vector<Axis> axes;  // of the variables on which the votes of the members depend
    std::size_t first_cell, n_cells;
  };
  struct Groups {
    Allowed allowed;
    std::vector<std::int32_t> tokens;
    std::vector<int> first_atom;  // of each column, in the box
    std::vector<Group> all;
    std::size_t n_messages = 0, n_cells = 0;
    std::map<int, std::vector<Number>> votes;  // by class, of each cell
  };

  bool has_next(std::size_t n) const { return n <= proof_->tree.size() - at_; }

  bool is_empty(const Allowed& allowed) const {
    for (int v = 0; v < p_.n_columns; ++v)
      if (std::none_of(allowed.begin() + p_.atom[v], allowed.begin() + p_.atom[v + 1],
                       [](std::uint8_t one) { return one != 0; }))
        return true;
    return false;
  }

  bool check_node(const Allowed& allowed, Groups* groups, int depth) {
    if (!has_next(1) || depth > most_depth) return false;
    const std::int32_t token = proof_->tree[at_++];
    if (token == Proof::regroup) return check_regrouping(allowed, depth);
    if (token < 0) return check_leaf(allowed, groups, -1 - token);
    if (token >= p_.n_columns || !has_next(1)) return false;
    const std::int32_t n = proof_->tree[at_++];
    if (n < 0 || !has_next(n)) return false;
    Allowed inside = allowed, outside = allowed;
    const std::size_t first = p_.atom[token];
    std::fill(inside.begin() + first, inside.begin() + p_.atom[token + 1], 0);
    for (int i = 0; i < n; ++i) {
      const std::int32_t atom = proof_->tree[at_++];
      if (atom < 0 || atom >= p_.n_atoms[token]) return false;
      inside[first + atom] = allowed[first + atom];
      outside[first + atom] = 0;
    }
    return check_node(inside, groups, depth + 1) && check_node(outside, groups, depth + 1);
  }

  bool check_regrouping(const Allowed& allowed, int depth) {
    const std::size_t first = at_;
    if (!has_next(1)) return false;
    const std::int32_t n_groups = proof_->tree[at_++];
    std::vector<std::uint8_t> seen(p_.factors.size(), 0);
    std::vector<std::vector<int>> members;
    for (std::int32_t g = 0; g < n_groups; ++g) {
      if (!has_next(1)) return false;
      const std::int32_t n = proof_->tree[at_++];
      if (n < 0 || !has_next(n)) return false;
      members.emplace_back(proof_->tree.begin() + at_, proof_->tree.begin() + at_ + n);
      at_ += n;
      for (int f : members.back()) {
        if (f < 0 || f >= static_cast<int>(seen.size()) || seen[f]) return false;
        seen[f] = 1;
      }
    }
    if (std::find(seen.begin(), seen.end(), 0) != seen.end()) return false;
    if (is_empty(allowed)) return check_node(allowed, nullptr, depth + 1);
    std::vector<std::int32_t> tokens(proof_->tree.begin() + first, proof_->tree.begin() + at_);
    // Proofs about the same box often begin with the same groups.
    std::unique_ptr<Groups> groups;
    if (kept_ && kept_->allowed == allowed && kept_->tokens == tokens)
      groups = std::move(kept_);
    else
      groups = make_groups(allowed, std::move(tokens), std::move(members));
    const bool is_right = groups && check_node(allowed, groups.get(), depth + 1);
    if (first == 1) kept_ = std::move(groups);
    return is_right;
  }

  std::unique_ptr<Groups> make_groups(const Allowed& allowed, std::vector<std::int32_t> tokens,
                                      std::vector<std::vector<int>> members) const {
    auto groups = std::make_unique<Groups>();
    groups->allowed = allowed;
    groups->tokens = std::move(tokens);
    for (int v = 0; v < p_.n_columns; ++v) {
      int atom = 0;
      while (!allowed[p_.atom[v] + atom]) ++atom;
      groups->first_atom.push_back(atom);
    }
    for (std::vector<int>& of_group : members) {
      Group group{std::move(of_group), {}, groups->n_cells, 1};
      std::map<int, std::vector<const Place*>> places;
      for (int f : group.members)
        for (std::size_t at = p_.factors[f].first_place; at < p_.factors[f].last_place; ++at)
          places[p_.places[at].variable].push_back(&p_.places[at]);
      for (const auto& [variable, of_variable] : places) {
        Axis axis = make_axis(variable, of_variable, allowed);
        if (axis.example.size() == 1) continue;
        axis.message = groups->n_messages;
        groups->n_messages += axis.example.size();
        group.n_cells *= axis.example.size();
        if (group.n_cells > (std::size_t{1} << 26)) return nullptr;
        group.axes.push_back(std::move(axis));
      }
      groups->n_cells += group.n_cells;
      groups->all.push_back(std::move(group));
    }
    return groups;
  }

  // Number the atoms of a box so that equal numbers mean equal patterns in all places.
  Axis make_axis(int variable, const std::vector<const Place*>& places, const Allowed& allowed) const {
    Axis axis{variable, std::vector<int>(p_.n_atoms[variable], -1), {}, 0};
    std::map<std::vector<int>, int> known;
    std::vector<int> key(places.size());
    for (int atom = 0; atom < p_.n_atoms[variable]; ++atom) {
      if (!allowed[p_.atom[variable] + atom]) continue;
      for (std::size_t i = 0; i < places.size(); ++i)
        key[i] = p_.pattern[places[i]->pattern + atom];
      const auto [where, is_new] = known.try_emplace(key, static_cast<int>(axis.example.size()));
      if (is_new) axis.example.push_back(atom);
      axis.pattern[atom] = where->second;
    }
    return axis;
  }

  const std::vector<Number>& votes_of(Groups& groups, int c) const {
    std::vector<Number>& votes = groups.votes[c];
    if (!votes.empty() || groups.n_cells == 0) return votes;
    votes.assign(groups.n_cells, 0);
    std::vector<int> row = groups.first_atom;
    for (const Group& group : groups.all)
      for (std::size_t cell = 0; cell < group.n_cells; ++cell) {
        std::size_t rest = cell;
        for (std::size_t i = group.axes.size(); i-- > 0;) {
          const Axis& axis = group.axes[i];
          row[axis.variable] = axis.example[rest % axis.example.size()];
          rest /= axis.example.size();
        }
        for (int f : group.members) {
          const Factor& factor = p_.factors[f];
          std::size_t place_in_table = factor.first_cell;
          for (std::size_t at = factor.first_place; at < factor.last_place; ++at) {
            const Place& place = p_.places[at];
            place_in_table += static_cast<std::size_t>(p_.pattern[place.pattern + row[place.variable]]) *
                              place.stride;
          }
          votes[group.first_cell + cell] += p_.table[c][place_in_table];
        }
      }
    return votes;
  }

  bool check_leaf(const Allowed& allowed, Groups* groups, std::int32_t leaf) {
    if (leaf >= proof_->n_leaves()) return false;
    if (is_empty(allowed)) return true;
    if (!groups) return false;
    const std::int64_t first = proof_->starts[leaf], last = proof_->starts[leaf + 1];
    if (first < 0 || last - first != static_cast<std::int64_t>(groups->n_messages) ||
        last > static_cast<std::int64_t>(proof_->messages.size()))
      return false;
    const Number* messages = proof_->messages.data() + first;
    const Number* multipliers = proof_->multipliers.data() + leaf * goal_->size();
    // So that no sum overflows.
    const Number most_message = (Number{1} << 60) / (static_cast<Number>(groups->n_messages) + 1);
    for (std::size_t i = 0; i < groups->n_messages; ++i)
      if (messages[i] > most_message || messages[i] < -most_message) return false;
    Number total = 0;
    values_.assign(groups->n_cells, 0);
    for (std::size_t d = 0; d < goal_->size(); ++d) {
      const Demand& demand = (*goal_)[d];
      const Number m = multipliers[d];
      const Number most = (Number{1} << 60) / (p_.vote_sum + std::abs(demand.by)) /
                          static_cast<Number>(goal_->size());
      if (m < 0 || m > most) return false;
      total += m * (demand.by - p_.base[demand.more] + p_.base[demand.less]);
      const std::vector<Number>& more = votes_of(*groups, demand.more);
      const std::vector<Number>& less = votes_of(*groups, demand.less);
      for (std::size_t cell = 0; cell < values_.size(); ++cell) values_[cell] += m * (less[cell] - more[cell]);
    }
    unary_.assign(allowed.size(), 0);
    for (const Group& group : groups->all) {
      total += least_cell(group, allowed, messages);
      for (const Axis& axis : group.axes)
        for (int atom = 0; atom < p_.n_atoms[axis.variable]; ++atom)
          if (allowed[p_.atom[axis.variable] + atom])
            unary_[p_.atom[axis.variable] + atom] += messages[axis.message + axis.pattern[atom]];
    }
    for (int v = 0; v < p_.n_columns; ++v) {
      Number least = infinite;
      for (std::size_t a = p_.atom[v]; a < p_.atom[v + 1]; ++a)
        if (allowed[a]) least = std::min(least, unary_[a]);
      total += least;
    }
    return total > 0;
  }

  // The least value of an allowed cell, less its messages.
  Number least_cell(const Group& group, const Allowed& allowed, const Number* messages) {
    std::vector<std::vector<std::uint8_t>> possible;
    for (const Axis& axis : group.axes) {
      possible.emplace_back(axis.example.size(), 0);
      for (int atom = 0; atom < p_.n_atoms[axis.variable]; ++atom)
        if (allowed[p_.atom[axis.variable] + atom]) possible.back()[axis.pattern[atom]] = 1;
    }
    return least_from(group, possible, messages, 0, group.first_cell);
  }

  Number least_from(const Group& group, const std::vector<std::vector<std::uint8_t>>& possible,
                    const Number* messages, std::size_t i, std::size_t cell) const {
    if (i == group.axes.size()) return values_[cell];
    std::size_t stride = 1;
    for (std::size_t j = i + 1; j < group.axes.size(); ++j) stride *= group.axes[j].example.size();
    Number least = infinite;
    for (std::size_t k = 0; k < possible[i].size(); ++k)
      if (possible[i][k])
        least = std::min(least, least_from(group, possible, messages, i + 1, cell + k * stride) -
                                    messages[group.axes[i].message + k]);
    return least;
  }

  const Problem& p_;
  const std::vector<Demand>* goal_ = nullptr;
  const Proof* proof_ = nullptr;
  std::size_t at_ = 0;
  std::unique_ptr<Groups> kept_;
  std::vector<Number> values_, unary_;
};

}  // namespace dln::search
