// A problem and a box -> a smaller problem about the rows of the box.
//
// In a box, atoms that no factor distinguishes are one atom, and a column with one atom is a
// constant. Factors that then read the same variables are added up to one table, and so is a factor
// whose variables another one reads too. The bound of fewer, larger tables is tighter and takes less
// time. If the box has few rows, there is a single table and the bound is exact.
//
// The order of everything is defined, so that a checker finds the same numbers: the variables of a
// group ascend, and a pattern is numbered by its first atom.
#pragma once

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "problem.h"

namespace dln::search {

struct Regrouped {
  Problem problem;                              // its variables are the free ones
  std::vector<int> variable;                    // of each variable: its number in the original
  std::vector<std::vector<std::int32_t>> atoms;  // of each atom: those of the original, ascending
  std::vector<std::vector<int>> members;        // of each group, constants last: factors
  std::vector<Number> messages;                 // sums of the given ones
};

class Regrouper {
 public:
  static constexpr double small = 4096;  // so many rows are one table

  // `classes` are those that a goal names; only their votes are kept.
  Regrouper(const Problem& problem, const Box& box, const std::vector<int>& classes)
      : p_(problem), classes_(classes) {
    merge_atoms(box);
    group_factors(box);
    absorb();
  }

  Regrouped make(const std::vector<Number>& messages) {
    Regrouped made;
    Problem& q = made.problem;
    q.n_columns = static_cast<int>(free_.size());
    q.n_classes = static_cast<int>(classes_.size());
    q.table.resize(classes_.size());
    q.vote_sum = p_.vote_sum;
    q.atom.push_back(0);
    made.variable = free_;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      q.n_atoms.push_back(static_cast<int>(merged_[i].size()));
      q.atom.push_back(q.atom.back() + merged_[i].size());
      q.first_ordered.push_back(-1);
      for (auto& atoms : merged_[i]) made.atoms.push_back(atoms);
    }
    q.readers.resize(free_.size());
    for (int c : classes_) q.base.push_back(p_.base[c]);
    std::vector<int> constants;
    for (Group& group : groups_) {
      if (group.members.empty()) continue;
      if (!group.variables.empty()) {
        add(made, group, messages);
        made.members.push_back(std::move(group.members));
        continue;
      }
      for (int f : group.members)
        for (int c = 0; c < q.n_classes; ++c)
          q.base[c] += p_.table[classes_[c]][p_.factors[f].first_cell + offset_[f]];
      constants = std::move(group.members);
    }
    if (!constants.empty()) made.members.push_back(std::move(constants));
    return made;
  }

 private:
  using Patterns = std::vector<std::int32_t>;  // of each merged atom

  struct Group {
    std::vector<int> members;
    std::vector<int> variables;       // numbers in `free_`, ascending
    std::vector<Patterns> patterns;   // of each variable
    std::vector<int> sizes;           // the number of patterns of each variable
    double n_cells = 1;
  };

  // Number pairs of patterns by their first atom. Returns how many there are.
  int join(Patterns& patterns, const Patterns& others, int n_others) {
    int n = 0;
    for (std::size_t a = 0; a < patterns.size(); ++a) {
      const std::size_t key = static_cast<std::size_t>(patterns[a]) * n_others + others[a];
      if (key >= seen_.size()) seen_.resize(key + 1, -1);
      if (seen_[key] < 0) seen_[key] = n++, used_.push_back(key);
      patterns[a] = seen_[key];
    }
    for (std::size_t key : used_) seen_[key] = -1;
    used_.clear();
    return n;
  }

  void merge_atoms(const Box& box) {
    number_.assign(p_.n_columns, -1);
    Patterns all, others;
    std::vector<std::int32_t> atoms;
    for (int v = 0; v < p_.n_columns; ++v) {
      if (box.size[v] == 1 || p_.readers[v].empty()) continue;
      atoms.assign(box.begin(p_, v), box.begin(p_, v) + box.size[v]);
      std::sort(atoms.begin(), atoms.end());
      all.assign(atoms.size(), 0);
      others.resize(atoms.size());
      int n = 1;
      for (int at : p_.readers[v]) {
        if (n == static_cast<int>(atoms.size())) break;
        const Place& place = p_.places[at];
        for (std::size_t i = 0; i < atoms.size(); ++i) others[i] = p_.pattern[place.pattern + atoms[i]];
        n = join(all, others, place.n_patterns);
      }
      if (n == static_cast<int>(atoms.size()))  // numbered by the first atom
        for (std::size_t i = 0; i < atoms.size(); ++i) all[i] = static_cast<std::int32_t>(i);
      if (n == 1) continue;
      number_[v] = static_cast<int>(free_.size());
      free_.push_back(v);
      std::vector<std::vector<std::int32_t>> merged(n);
      for (std::size_t i = 0; i < atoms.size(); ++i) merged[all[i]].push_back(atoms[i]);
      merged_.push_back(std::move(merged));
    }
  }

  void group_factors(const Box& box) {
    double n_rows = 1;
    for (const auto& atoms : merged_) n_rows *= static_cast<double>(atoms.size());
    const bool one = n_rows <= small;
    offset_.assign(p_.factors.size(), 0);
    std::map<std::vector<int>, std::size_t> found;
    std::vector<int> variables;
    std::vector<Patterns> patterns;
    std::vector<int> sizes;
    if (one) {
      groups_.emplace_back();
      found[{}] = 0;
    }
    for (std::size_t f = 0; f < p_.factors.size(); ++f) {
      const Factor& factor = p_.factors[f];
      variables.clear(), patterns.clear(), sizes.clear();
      for (std::size_t at = factor.first_place; at < factor.last_place; ++at) {
        const Place& place = p_.places[at];
        const int number = number_[place.variable];
        int n = 1;
        if (number >= 0) {
          Patterns mine(merged_[number].size(), 0), given(mine.size());
          for (std::size_t a = 0; a < mine.size(); ++a)
            given[a] = p_.pattern[place.pattern + merged_[number][a].front()];
          n = join(mine, given, place.n_patterns);
          if (n > 1) {
            variables.push_back(number);
            patterns.push_back(std::move(mine));
            sizes.push_back(n);
          }
        }
        if (n == 1)
          offset_[f] += static_cast<std::size_t>(
                            p_.pattern[place.pattern + *box.begin(p_, place.variable)]) *
                        place.stride;
      }
      // The variables of a factor need not ascend.
      sort_by_variable(variables, patterns, sizes);
      Group group{{static_cast<int>(f)}, variables, patterns, sizes};
      for (int n : sizes) group.n_cells *= n;
      const auto [where, is_new] = found.try_emplace(variables, groups_.size());
      if (is_new || (!one && !fits(groups_[where->second], group))) {
        where->second = groups_.size();
        groups_.push_back(std::move(group));
      } else {
        take_in(groups_[where->second], group);
      }
    }
    if (one) join_all();
  }

  static void sort_by_variable(std::vector<int>& variables, std::vector<Patterns>& patterns,
                               std::vector<int>& sizes) {
    for (std::size_t i = 1; i < variables.size(); ++i)
      for (std::size_t j = i; j > 0 && variables[j - 1] > variables[j]; --j) {
        std::swap(variables[j - 1], variables[j]);
        std::swap(patterns[j - 1], patterns[j]);
        std::swap(sizes[j - 1], sizes[j]);
      }
  }

  // Add the members of a group to another one, which reads the same variables or more.
  void take_in(Group& larger, Group& group) {
    for (std::size_t i = 0, j = 0; i < group.variables.size(); ++i) {
      while (larger.variables[j] != group.variables[i]) ++j;
      larger.n_cells /= larger.sizes[j];
      larger.sizes[j] = join(larger.patterns[j], group.patterns[i], group.sizes[i]);
      larger.n_cells *= larger.sizes[j];
    }
    larger.members.insert(larger.members.end(), group.members.begin(), group.members.end());
    group.members.clear();
  }

  // Whether a table of both needs few cells.
  bool fits(const Group& larger, const Group& group) {
    const double cells = joint_cells(larger, group);
    return cells <= small / 4 || (cells <= 8 * small && is_cheap(cells, larger, group));
  }
  static bool is_cheap(double cells, const Group& larger, const Group& group) {
    return cells - larger.n_cells <= 1.5 * group.n_cells + 32;
  }

  // One table: every atom of every variable is a pattern.
  void join_all() {
    Group all;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      all.variables.push_back(static_cast<int>(i));
      Patterns each(merged_[i].size());
      for (std::size_t a = 0; a < each.size(); ++a) each[a] = static_cast<std::int32_t>(a);
      all.sizes.push_back(static_cast<int>(each.size()));
      all.n_cells *= static_cast<double>(each.size());
      all.patterns.push_back(std::move(each));
    }
    std::vector<int> constants;
    for (Group& group : groups_) {
      std::vector<int>& into = group.variables.empty() ? constants : all.members;
      into.insert(into.end(), group.members.begin(), group.members.end());
    }
    groups_.clear();
    std::sort(all.members.begin(), all.members.end());
    if (!all.members.empty()) groups_.push_back(std::move(all));
    groups_.emplace_back();
    groups_.back().members = std::move(constants);
  }

  // Add each group to one with more variables, if that needs few cells.
  void absorb() {
    std::vector<int> order(groups_.size());
    for (std::size_t g = 0; g < order.size(); ++g) order[g] = static_cast<int>(g);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return groups_[a].variables.size() < groups_[b].variables.size();
    });
    std::vector<std::vector<int>> readers(free_.size());
    for (int g : order)
      for (int v : groups_[g].variables) readers[v].push_back(g);
    for (int g : order) {
      Group& group = groups_[g];
      if (group.variables.empty() || group.variables.size() == free_.size()) continue;
      int rarest = group.variables.front();
      for (int v : group.variables)
        if (readers[v].size() < readers[rarest].size()) rarest = v;
      int best = -1, n_tried = 0;
      double least = 0;
      for (int other : readers[rarest]) {
        const Group& larger = groups_[other];
        if (larger.members.empty() || larger.variables.size() <= group.variables.size() ||
            !std::includes(larger.variables.begin(), larger.variables.end(),
                           group.variables.begin(), group.variables.end()))
          continue;
        const double cells = joint_cells(larger, group);
        const double more = cells - larger.n_cells;
        if (cells <= 8 * small && is_cheap(cells, larger, group) && (best < 0 || more < least))
          best = other, least = more;
        if (++n_tried == 12) break;
      }
      if (best >= 0) take_in(groups_[best], group);
    }
  }

  double joint_cells(const Group& larger, const Group& group) {
    double cells = larger.n_cells;
    for (std::size_t i = 0, j = 0; i < group.variables.size(); ++i) {
      while (larger.variables[j] != group.variables[i]) ++j;
      Patterns joint = larger.patterns[j];
      cells *= static_cast<double>(join(joint, group.patterns[i], group.sizes[i])) / larger.sizes[j];
    }
    return cells;
  }

  // Add a group to the problem: its places, its table, and the sums of the messages of its members.
  void add(Regrouped& made, const Group& group, const std::vector<Number>& messages) {
    Problem& q = made.problem;
    const int n = static_cast<int>(group.variables.size());
    Factor factor{q.places.size(), 0, q.table.front().size(), 1, -1};
    std::vector<std::size_t> first_of(n);
    for (int i = 0; i < n; ++i) {
      const int v = group.variables[i];
      q.readers[v].push_back(static_cast<int>(q.places.size()));
      q.factor_of.push_back(static_cast<int>(q.factors.size()));
      q.places.push_back({v, group.sizes[i], 0, q.pattern.size(), q.n_messages});
      q.pattern.insert(q.pattern.end(), group.patterns[i].begin(), group.patterns[i].end());
      first_of[i] = q.n_messages;
      q.n_messages += group.sizes[i];
    }
    made.messages.resize(q.n_messages, 0);
    factor.last_place = q.places.size();
    int stride = 1;
    for (std::size_t at = factor.last_place; at-- > factor.first_place;) {
      q.places[at].stride = stride;
      stride *= q.places[at].n_patterns;
    }
    factor.n_cells = static_cast<std::size_t>(stride);
    for (std::vector<Number>& votes : q.table) votes.resize(factor.first_cell + factor.n_cells, 0);
    std::vector<Number> given;
    std::vector<std::vector<std::size_t>> steps(n);  // of each pattern: where it is in a member
    for (int f : group.members) {
      const Factor& member = p_.factors[f];
      for (int i = 0; i < n; ++i) steps[i].assign(group.sizes[i], 0);
      for (std::size_t at = member.first_place; at < member.last_place; ++at) {
        const Place& place = p_.places[at];
        const int number = number_[place.variable];
        if (number < 0) continue;
        const auto where = std::lower_bound(group.variables.begin(), group.variables.end(), number);
        if (where == group.variables.end() || *where != number) continue;  // a single pattern
        if (is_fixed(place)) continue;
        const int i = static_cast<int>(where - group.variables.begin());
        given.assign(group.sizes[i], 0);
        for (std::size_t a = 0; a < merged_[number].size(); ++a) {
          const int pattern = p_.pattern[place.pattern + merged_[number][a].front()];
          const int here = group.patterns[i][a];
          steps[i][here] = static_cast<std::size_t>(pattern) * place.stride;
          given[here] = messages[place.message + pattern];
        }
        for (int k = 0; k < group.sizes[i]; ++k) made.messages[first_of[i] + k] += given[k];
      }
      add_table(q, factor, group, member, offset_[f], steps);
    }
    q.factors.push_back(factor);
  }

  // Whether all atoms of the place have one pattern, which is in the offset of the factor.
  bool is_fixed(const Place& place) const {
    const auto& atoms = merged_[number_[place.variable]];
    const int first = p_.pattern[place.pattern + atoms.front().front()];
    return std::all_of(atoms.begin(), atoms.end(), [&](const auto& each) {
      return p_.pattern[place.pattern + each.front()] == first;
    });
  }

  void add_table(Problem& q, const Factor& factor, const Group& group, const Factor& member,
                 std::size_t offset, const std::vector<std::vector<std::size_t>>& steps) {
    const int n = static_cast<int>(group.variables.size());
    const int n_last = group.sizes[n - 1];
    const std::size_t* last = steps[n - 1].data();
    starts_.clear();
    odometer_.assign(n, 0);
    for (int i = 0; i >= 0;) {
      std::size_t cell = member.first_cell + offset;
      for (i = 0; i + 1 < n; ++i) cell += steps[i][odometer_[i]];
      starts_.push_back(cell);
      for (i = n - 2; i >= 0 && ++odometer_[i] == group.sizes[i]; --i) odometer_[i] = 0;
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const Number* from = p_.table[classes_[c]].data();
      Number* into = q.table[c].data() + factor.first_cell;
      for (std::size_t start : starts_)
        for (int k = 0; k < n_last; ++k) *into++ += from[start + last[k]];
    }
  }

  const Problem& p_;
  const std::vector<int>& classes_;
  std::vector<int> number_;  // of each column: its number in `free_`, or -1
  std::vector<int> free_;
  std::vector<std::vector<std::vector<std::int32_t>>> merged_;  // of each free column: its atoms
  std::vector<std::size_t> offset_;                             // of each factor: its constant part
  std::vector<Group> groups_;
  std::vector<int> seen_;
  std::vector<std::size_t> used_, starts_;
  std::vector<int> odometer_;
};

}  // namespace dln::search
