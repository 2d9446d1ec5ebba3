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
#include <iterator>
#include <map>
#include <utility>
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

  // `classes` are those that a goal names; only their votes are kept. No messages are zeros.
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
      if (group.parts.empty()) continue;
      if (!group.variables.empty()) {
        add(made, group, messages);
        made.members.push_back(group.members());
        continue;
      }
      constants = group.members();
      for (int f : constants)
        for (int c = 0; c < q.n_classes; ++c)
          q.base[c] += p_.table[classes_[c]][p_.factors[f].first_cell + offset_[f]];
    }
    if (!constants.empty()) made.members.push_back(std::move(constants));
    return made;
  }

 private:
  using Patterns = std::vector<std::int32_t>;  // of each merged atom

  struct Axes {
    std::vector<int> variables;      // numbers in `free_`, ascending
    std::vector<Patterns> patterns;  // of each variable
    std::vector<int> sizes;          // the number of patterns of each variable
    double n_cells = 1;

    // Where a variable is; -1 if it is not here.
    int find(int variable) const {
      const auto where = std::lower_bound(variables.begin(), variables.end(), variable);
      return where == variables.end() || *where != variable ? -1 : static_cast<int>(where - variables.begin());
    }
  };
  // Factors that read the same variables are added up in a small table first.
  struct Part : Axes {
    std::vector<int> members;
  };
  struct Group : Axes {
    std::vector<Part> parts;

    std::vector<int> members() const {
      std::vector<int> all;
      for (const Part& part : parts) all.insert(all.end(), part.members.begin(), part.members.end());
      return all;
    }
  };
  using Tables = std::vector<std::vector<Number>>;  // of each class
  using Steps = std::vector<std::vector<std::size_t>>;  // of each pattern of each variable

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

  // Number patterns by their first atom. Returns how many there are.
  int renumber(Patterns& patterns, int n_before) {
    int n = 0;
    numbers_.assign(n_before, -1);
    for (std::int32_t& pattern : patterns) {
      if (numbers_[pattern] < 0) numbers_[pattern] = n++;
      pattern = numbers_[pattern];
    }
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
    Axes axes;
    for (std::size_t f = 0; f < p_.factors.size(); ++f) {
      offset_[f] = read_factor(p_.factors[f], box, axes);
      const auto [where, is_new] = found.try_emplace(axes.variables, groups_.size());
      if (is_new || (!one && !fits(groups_[where->second], axes))) {
        where->second = groups_.size();
        groups_.emplace_back();
        static_cast<Axes&>(groups_.back()) = axes;
        groups_.back().parts.emplace_back();
        static_cast<Axes&>(groups_.back().parts.back()) = axes;
      } else {
        join_axes(groups_[where->second], axes);
        join_axes(groups_[where->second].parts.front(), axes);
      }
      groups_[where->second].parts.front().members.push_back(static_cast<int>(f));
    }
    if (one) join_all();
  }

  // Find the variables on which a factor depends in the box. Returns its first cell there.
  std::size_t read_factor(const Factor& factor, const Box& box, Axes& axes) {
    places_.clear();
    axes.variables.clear(), axes.patterns.clear(), axes.sizes.clear();
    axes.n_cells = 1;
    std::size_t offset = 0;
    for (std::size_t at = factor.first_place; at < factor.last_place; ++at) {
      const Place& place = p_.places[at];
      const int number = number_[place.variable];
      if (number >= 0 && !is_fixed(place))
        places_.push_back({number, &place});  // they need not ascend
      else
        offset += static_cast<std::size_t>(
                      p_.pattern[place.pattern + *box.begin(p_, place.variable)]) *
                  place.stride;
    }
    std::sort(places_.begin(), places_.end());
    for (const auto& [number, place] : places_) {
      Patterns mine(merged_[number].size());
      for (std::size_t a = 0; a < mine.size(); ++a)
        mine[a] = p_.pattern[place->pattern + merged_[number][a].front()];
      axes.variables.push_back(number);
      axes.sizes.push_back(renumber(mine, place->n_patterns));
      axes.n_cells *= axes.sizes.back();
      axes.patterns.push_back(std::move(mine));
    }
    return offset;
  }

  // Whether a table distinguishes every atom of a variable that another one distinguishes: a quick
  // test, which does not see all such tables.
  static bool is_as_fine(const Axes& larger, std::size_t j, const Axes& other, std::size_t i) {
    return larger.sizes[j] == static_cast<int>(larger.patterns[j].size()) || other.sizes[i] == 1 ||
           larger.patterns[j] == other.patterns[i];
  }

  // Distinguish in a table what another one distinguishes, which has the same variables or fewer.
  void join_axes(Axes& larger, const Axes& other) {
    for (std::size_t i = 0, j = 0; i < other.variables.size(); ++i) {
      while (larger.variables[j] != other.variables[i]) ++j;
      if (is_as_fine(larger, j, other, i)) continue;
      larger.n_cells /= larger.sizes[j];
      larger.sizes[j] = join(larger.patterns[j], other.patterns[i], other.sizes[i]);
      larger.n_cells *= larger.sizes[j];
    }
  }

  // Add the parts of a group to another one, which reads the same variables or more.
  void take_in(Group& larger, Group& group) {
    join_axes(larger, group);
    std::move(group.parts.begin(), group.parts.end(), std::back_inserter(larger.parts));
    group.parts.clear();
  }

  // Whether a table of both needs few cells.
  bool fits(const Group& larger, const Axes& axes) {
    const double cells = joint_cells(larger, axes);
    return cells <= small / 4 || (cells <= 8 * small && is_cheap(cells, larger, axes));
  }
  static bool is_cheap(double cells, const Axes& larger, const Axes& axes) {
    return cells - larger.n_cells <= 1.5 * axes.n_cells + 32;
  }

  // One table: every atom of every variable is a pattern.
  void join_all() {
    Group all, constants;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      all.variables.push_back(static_cast<int>(i));
      Patterns each(merged_[i].size());
      for (std::size_t a = 0; a < each.size(); ++a) each[a] = static_cast<std::int32_t>(a);
      all.sizes.push_back(static_cast<int>(each.size()));
      all.n_cells *= static_cast<double>(each.size());
      all.patterns.push_back(std::move(each));
    }
    for (Group& group : groups_) {
      std::vector<Part>& into = group.variables.empty() ? constants.parts : all.parts;
      std::move(group.parts.begin(), group.parts.end(), std::back_inserter(into));
    }
    groups_.clear();
    if (!all.parts.empty()) groups_.push_back(std::move(all));
    groups_.push_back(std::move(constants));
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
        if (larger.parts.empty() || larger.variables.size() <= group.variables.size() ||
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

  double joint_cells(const Axes& larger, const Axes& other) {
    double cells = larger.n_cells;
    for (std::size_t i = 0, j = 0; i < other.variables.size(); ++i) {
      while (larger.variables[j] != other.variables[i]) ++j;
      if (is_as_fine(larger, j, other, i)) continue;
      joint_ = larger.patterns[j];
      cells *= static_cast<double>(join(joint_, other.patterns[i], other.sizes[i])) / larger.sizes[j];
    }
    return cells;
  }

  // Add a group to the problem: its places, its table, and the sums of the messages of its members.
  void add(Regrouped& made, const Group& group, const std::vector<Number>& messages) {
    Problem& q = made.problem;
    Factor factor{q.places.size(), 0, q.table.front().size(), 1, -1};
    const std::size_t first_message = q.n_messages;
    for (std::size_t i = 0; i < group.variables.size(); ++i) {
      const int v = group.variables[i];
      q.readers[v].push_back(static_cast<int>(q.places.size()));
      q.factor_of.push_back(static_cast<int>(q.factors.size()));
      q.places.push_back({v, group.sizes[i], 0, q.pattern.size(), q.n_messages});
      q.pattern.insert(q.pattern.end(), group.patterns[i].begin(), group.patterns[i].end());
      q.n_messages += group.sizes[i];
    }
    factor.last_place = q.places.size();
    int stride = 1;
    for (std::size_t at = factor.last_place; at-- > factor.first_place;) {
      q.places[at].stride = stride;
      stride *= q.places[at].n_patterns;
    }
    factor.n_cells = static_cast<std::size_t>(stride);
    for (std::vector<Number>& votes : q.table) votes.resize(factor.first_cell + factor.n_cells, 0);
    for (const Part& part : group.parts) {
      const bool is_direct = part.members.size() == 1 || part.n_cells == group.n_cells;
      if (!is_direct) {
        part_tables_.resize(q.table.size());
        for (std::vector<Number>& votes : part_tables_)
          votes.assign(static_cast<std::size_t>(part.n_cells), 0);
      }
      for (int f : part.members)
        add_member(f, is_direct ? static_cast<const Axes&>(group) : part,
                   is_direct ? q.table : part_tables_, is_direct ? factor.first_cell : 0);
      if (!is_direct) add_part(part, group, q.table, factor.first_cell);
    }
    made.messages.resize(q.n_messages, 0);
    if (!messages.empty()) add_messages(made, group, first_message, messages);
    q.factors.push_back(factor);
  }

  void add_member(int f, const Axes& axes, Tables& into, std::size_t first_cell) {
    const Factor& member = p_.factors[f];
    start_steps(axes);
    for (std::size_t at = member.first_place; at < member.last_place; ++at) {
      const Place& place = p_.places[at];
      const int number = number_[place.variable];
      if (number < 0 || is_fixed(place)) continue;
      const int i = axes.find(number);
      for (std::size_t a = 0; a < merged_[number].size(); ++a)
        steps_[i][axes.patterns[i][a]] =
            static_cast<std::size_t>(p_.pattern[place.pattern + merged_[number][a].front()]) *
            place.stride;
    }
    find_cells(axes);
    for (std::size_t c = 0; c < classes_.size(); ++c)
      add_cells(axes, p_.table[classes_[c]].data() + member.first_cell + offset_[f],
                into[c].data() + first_cell);
  }

  void add_part(const Part& part, const Axes& axes, Tables& into, std::size_t first_cell) {
    start_steps(axes);
    std::size_t stride = 1;
    for (std::size_t j = part.variables.size(); j-- > 0;) {
      const int i = axes.find(part.variables[j]);
      for (std::size_t a = 0; a < part.patterns[j].size(); ++a)
        steps_[i][axes.patterns[i][a]] = static_cast<std::size_t>(part.patterns[j][a]) * stride;
      stride *= part.sizes[j];
    }
    find_cells(axes);
    for (std::size_t c = 0; c < classes_.size(); ++c)
      add_cells(axes, part_tables_[c].data(), into[c].data() + first_cell);
  }

  void start_steps(const Axes& axes) {
    if (steps_.size() < axes.variables.size()) steps_.resize(axes.variables.size());
    for (std::size_t i = 0; i < axes.variables.size(); ++i) steps_[i].assign(axes.sizes[i], 0);
  }

  // Where the cells of a table are in another one, but for the last variable.
  void find_cells(const Axes& axes) {
    const int n = static_cast<int>(axes.variables.size());
    starts_.clear();
    odometer_.assign(n, 0);
    for (int i = 0; i >= 0;) {
      std::size_t cell = 0;
      for (i = 0; i + 1 < n; ++i) cell += steps_[i][odometer_[i]];
      starts_.push_back(cell);
      for (i = n - 2; i >= 0 && ++odometer_[i] == axes.sizes[i]; --i) odometer_[i] = 0;
    }
  }

  void add_cells(const Axes& axes, const Number* from, Number* into) const {
    const std::size_t n = axes.variables.size();
    const int n_last = axes.sizes[n - 1];
    const std::size_t* last = steps_[n - 1].data();
    for (std::size_t start : starts_)
      for (int k = 0; k < n_last; ++k) *into++ += from[start + last[k]];
  }

  void add_messages(Regrouped& made, const Group& group, std::size_t first,
                    const std::vector<Number>& messages) {
    std::vector<std::size_t> first_of;
    for (int size : group.sizes) first_of.push_back(first), first += size;
    for (const Part& part : group.parts)
      for (int f : part.members)
        for (std::size_t at = p_.factors[f].first_place; at < p_.factors[f].last_place; ++at) {
          const Place& place = p_.places[at];
          const int number = number_[place.variable];
          if (number < 0 || is_fixed(place)) continue;
          const int i = group.find(number);
          given_.assign(group.sizes[i], -1);
          for (std::size_t a = 0; a < merged_[number].size(); ++a)
            given_[group.patterns[i][a]] = p_.pattern[place.pattern + merged_[number][a].front()];
          for (int k = 0; k < group.sizes[i]; ++k)
            made.messages[first_of[i] + k] += messages[place.message + given_[k]];
        }
  }

  // Whether all atoms of the place have one pattern, which is in the offset of the factor.
  bool is_fixed(const Place& place) const {
    const auto& atoms = merged_[number_[place.variable]];
    const int first = p_.pattern[place.pattern + atoms.front().front()];
    return std::all_of(atoms.begin(), atoms.end(), [&](const auto& each) {
      return p_.pattern[place.pattern + each.front()] == first;
    });
  }

  const Problem& p_;
  const std::vector<int>& classes_;
  std::vector<int> number_;  // of each column: its number in `free_`, or -1
  std::vector<int> free_;
  std::vector<std::vector<std::vector<std::int32_t>>> merged_;  // of each free column: its atoms
  std::vector<std::size_t> offset_;                             // of each factor: its constant part
  std::vector<Group> groups_;
  std::vector<int> seen_, numbers_, odometer_;
  std::vector<std::size_t> used_, starts_;
  std::vector<std::pair<int, const Place*>> places_;
  Patterns given_, joint_;
  Tables part_tables_;
  Steps steps_;
};

}  // namespace dln::search
