// Find a row in a box that fulfils a goal at the lowest cost, or prove that there is none.
//
// A goal is a list of demands: the votes of one class exceed those of another by at least a number.
// The costs of a row are the sum of the costs of its atoms.
//
// Branch and bound. The bound is a Lagrangian: costs plus multipliers times unfulfilled votes. Its
// minimum over a box is bounded by message passing (dual block coordinate ascent on the factors,
// known as MPLP): messages move votes between factors and variables without changing the sum, and
// the sum of the minima of all parts is a lower bound. All numbers are integers, so the bound is
// exact: rounding a message makes the bound weaker, never wrong. Messages from other boxes are valid
// too, so a solver keeps them from call to call. A box that the bound does not decide is searched as a
// problem of its own, with fewer and larger tables (regroup.h).
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

#include "problem.h"
#include "regroup.h"

namespace dln::search {

constexpr Number infinite = std::numeric_limits<Number>::max() / 4;

struct Demand {
  int more, less;  // classes
  Number by;       // votes[more] - votes[less] >= by
};

enum class Status { none, found, unknown };  // no row; a row; the limit was reached

struct Answer {
  Status status = Status::none;
  std::vector<std::int32_t> row;  // the atom of each column
  Number cost = 0;
};

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

struct Limit {
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
  std::int64_t n_nodes = std::numeric_limits<std::int64_t>::max();

  // From now on; 0 nodes mean no limit of nodes.
  static Limit of(double seconds, std::int64_t n_nodes) {
    Limit limit;
    if (std::isfinite(seconds) && seconds < 1e9)
      limit.end = std::chrono::steady_clock::now() +
                  std::chrono::microseconds(static_cast<std::int64_t>(std::max(0.0, seconds) * 1e6));
    if (n_nodes > 0) limit.n_nodes = n_nodes;
    return limit;
  }
};

class Solver {
 public:
  explicit Solver(const Problem& problem)
      : p_(problem), message_(problem.n_messages), unary_(problem.n_all_atoms()),
        objective_(problem.table.front().size()),
        stamp_(problem.factors.size(), -1), weight_(problem.n_classes), x_(problem.n_variables()),
        cells_(problem.factors.size()) {
    for (std::size_t f = 0; f < cells_.size(); ++f) {
      cells_[f] = p_.factors[f].first_cell;
      for (std::size_t at = p_.factors[f].first_place; at < p_.factors[f].last_place; ++at)
        cells_[f] += static_cast<std::size_t>(pattern_of(p_.places[at], 0)) * p_.places[at].stride;
    }
  }

  // A solver of a part of another problem, whose proofs are about that problem.
  explicit Solver(const Regrouped& part) : Solver(part.problem) {
    own_names_ = {part.variable, part.atoms, part.members};
    names_ = &own_names_;
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  std::int64_t n_nodes() const { return n_nodes_; }

  // `costs` has one number for each atom, at least 0; null if all rows cost nothing. Only rows that
  // cost less than `below` are looked for.
  Answer solve(const Box& box, const std::vector<Demand>& goal, const Number* costs, Number below,
               const Limit& limit) {
    set_goal(goal);
    costs_ = costs;
    best_ = Answer{Status::none, {}, below};
    limit_ = limit;
    n_nodes_ = 0;
    stopped_ = false;
    multiplier_.assign(goal.size(), std::max<Number>(1, scale / static_cast<Number>(goal.size())));
    for (int v = 0; v < p_.n_variables(); ++v)
      if (box.size[v] == 0) return best_;
    Box root = box;
    whole_ = &box;
    most_cost_ = 0;
    if ((p_.has_definitions || names_) && costs) start_costs(root);
    set_objective();
    load_messages();
    if (names_ && proof_) proof_->add_regrouping(names_->members);
    if (p_.has_definitions || names_ || (stored_messages() && !proof_))
      search(root, 0);
    else
      search_regrouped(root, 0);
    store_messages();
    if (best_.status == Status::none && stopped_) best_.status = Status::unknown;
    incomplete_ = stopped_;
    return best_;
  }

  bool incomplete() const { return incomplete_; }  // whether the limit ended the last search

  // The votes of a row for some classes; 0 for the others.
  std::vector<Number> votes(const std::int32_t* row, const std::vector<int>& classes) {
    for (int v = 0; v < p_.n_columns; ++v) put(v, row[v]);
    return count_votes(classes);
  }

  // The votes (n_atoms, n_classes) of a row with each of the allowed atoms of one column. The row
  // is the last argument of `votes`, which returned `now`.
  void votes_of_atoms(int v, const Box& box, const std::vector<Number>& now,
                      const std::vector<int>& classes, std::vector<Number>& votes) {
    const std::int32_t* atoms = box.begin(p_, v);
    const std::int32_t own = x_[v];
    votes.clear();
    for (int i = 0; i < box.size[v]; ++i) {
      if (p_.has_definitions) {
        put(v, atoms[i]);
        const std::vector<Number> found = count_votes(classes);
        votes.insert(votes.end(), found.begin(), found.end());
        continue;
      }
      votes.insert(votes.end(), now.begin(), now.end());
    }
    if (p_.has_definitions) {
      put(v, own);
      count_votes(classes);
      return;
    }
    for (int at : p_.readers[v]) {
      const Place& place = p_.places[at];
      const std::size_t here = static_cast<std::size_t>(pattern_of(place, own)) * place.stride;
      const std::size_t cell = cells_[p_.factor_of[at]] - here;
      for (int c : classes) {
        const Number* table = p_.table[c].data() + cell;
        for (int i = 0; i < box.size[v]; ++i)
          votes[i * p_.n_classes + c] +=
              table[static_cast<std::size_t>(pattern_of(place, atoms[i])) * place.stride] - table[here];
      }
    }
  }

  // The atoms of one column with which, by the bound, no row of a box fulfils a demand. The column is
  // free in the box.
  void excluded_atoms(const Box& box, const Demand& demand, int v, std::vector<std::uint8_t>& excluded) {
    const std::vector<Demand> goal{demand};
    set_goal(goal);
    costs_ = nullptr;
    multiplier_.assign(1, scale);
    set_objective();
    load_messages();
    sum_messages(box);
    Number lower = 0;
    for (int i = 0; i < 3; ++i) lower = constant_ + sweep(box);
    for (int u = 0; u < p_.n_variables(); ++u) lower += least_unary(box, u);
    const Number* unary = unary_.data() + p_.atom[v];
    const Number least = least_unary(box, v);
    for (int i = 0; i < box.size[v]; ++i) {
      const int atom = box.begin(p_, v)[i];
      if (lower - least + unary[atom] <= 0) excluded[atom] = 0;
    }
    store_messages();
  }

  // Record the proof of the next calls, if they find no row.
  void record(Proof* proof) { proof_ = proof; }

 private:
  // The variables, atoms and factors of the first problem that those of this one stand for.
  struct Names {
    std::vector<int> variable;
    std::vector<std::vector<std::int32_t>> atoms;
    std::vector<std::vector<int>> members;
  };

  static constexpr Number scale = 256;  // units of a vote, so that messages can be fractions

  // -- the objective --------------------------------------------------------------------------

  // Messages for one demand are kept for the next question about it.
  std::vector<Number>* stored_messages() {
    if (costs_ || goal_->size() != 1) return nullptr;
    const Demand& demand = goal_->front();
    return &stored_[static_cast<std::size_t>(demand.more) * p_.n_classes + demand.less];
  }
  void load_messages() {
    std::vector<Number>* stored = stored_messages();
    if (!stored) return;
    if (stored->empty()) stored->resize(p_.n_messages);
    message_.swap(*stored);
  }
  void store_messages() {
    if (std::vector<Number>* stored = stored_messages()) message_.swap(*stored);
  }

  void start_costs(const Box& box) {
    // A guess of the multipliers: all missing votes cost as much as one change of average costs.
    double sum = 0;
    int n = 0;
    for (int v = 0; v < p_.n_columns; ++v) {
      Number most = 0, least = infinite;
      for (int i = 0; i < box.size[v]; ++i) {
        const int atom = box.begin(p_, v)[i];
        const Number cost = cost_of(v, atom);
        if (cost > 0) sum += static_cast<double>(cost), ++n;
        if (cost < least) least = cost, put(v, atom);
        most = std::max(most, cost);
      }
      most_cost_ += most;
    }
    best_.cost = std::min(best_.cost, most_cost_ + 1);
    const std::vector<Number> found = count_votes(asked_);
    for (std::size_t d = 0; d < goal_->size(); ++d) {
      const Number lacking = std::max<Number>(1, lack((*goal_)[d], found));
      const double guess = n ? sum / n / static_cast<double>(lacking) : 1.0;
      multiplier_[d] = std::clamp<Number>(static_cast<Number>(guess), 1, most_multiplier());
    }
  }

  // So that no sum overflows.
  Number most_multiplier() const { return (Number{1} << 40) / p_.vote_sum + 1; }

  static Number lack(const Demand& demand, const std::vector<Number>& votes) {
    return demand.by - votes[demand.more] + votes[demand.less];
  }

  // Take over a goal, and list the classes that it names.
  void set_goal(const std::vector<Demand>& goal) {
    goal_ = &goal;
    asked_.clear();
    for (const Demand& demand : goal) asked_.insert(asked_.end(), {demand.more, demand.less});
    std::sort(asked_.begin(), asked_.end());
    asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
  }

  void set_objective() {
    const std::vector<Number> before = weight_;
    const Number violation_before = violation_;
    std::fill(weight_.begin(), weight_.end(), 0);
    constant_ = 0;
    Number total = 0;
    for (std::size_t d = 0; d < goal_->size(); ++d) {
      const Demand& demand = (*goal_)[d];
      weight_[demand.more] -= multiplier_[d];
      weight_[demand.less] += multiplier_[d];
      constant_ += multiplier_[d] * demand.by;
      total += multiplier_[d];
    }
    weighted_.clear();
    for (int c = 0; c < p_.n_classes; ++c)
      if (weight_[c]) weighted_.push_back(c), constant_ += weight_[c] * p_.base[c];
    violation_ = p_.has_definitions ? 4 * (total * p_.vote_sum + most_cost_ + 1) : 0;
    if (weight_ != before || violation_ != violation_before) ++objective_number_;
  }

  Number value_at(const Factor& factor, std::size_t cell) const {
    cell += factor.first_cell;
    if (factor.output >= 0) return p_.table[0][cell] ? violation_ : 0;
    Number sum = 0;
    for (int c : weighted_) sum += weight_[c] * p_.table[c][cell];
    return sum;
  }

  const Number* values_of(std::size_t f) {
    const Factor& factor = p_.factors[f];
    Number* values = objective_.data() + factor.first_cell;
    if (stamp_[f] != objective_number_) {
      std::fill(values, values + factor.n_cells, 0);
      if (factor.output >= 0) {
        for (std::size_t cell = 0; cell < factor.n_cells; ++cell) values[cell] = value_at(factor, cell);
      } else {
        for (int c : weighted_) {
          const Number* votes = p_.table[c].data() + factor.first_cell;
          for (std::size_t cell = 0; cell < factor.n_cells; ++cell) values[cell] += weight_[c] * votes[cell];
        }
      }
      stamp_[f] = objective_number_;
    }
    return values;
  }

  // The values of a factor along one variable, given the cell of its first pattern.
  const std::vector<Number>& values_along(std::size_t f, const Place& place, std::size_t cell) {
    const Factor& factor = p_.factors[f];
    along_.resize(place.n_patterns);
    const bool known = stamp_[f] == objective_number_;
    for (int pattern = 0; pattern < place.n_patterns; ++pattern, cell += place.stride)
      along_[pattern] = known ? objective_[factor.first_cell + cell] : value_at(factor, cell);
    return along_;
  }

  Number cost_of(int variable, int atom) const {
    return costs_ && variable < p_.n_columns ? costs_[p_.atom[variable] + atom] : 0;
  }

  int pattern_of(const Place& place, int atom) const { return p_.pattern[place.pattern + atom]; }

  // -- the bound ------------------------------------------------------------------------------

  void sum_messages(const Box& box) {
    for (int v = 0; v < p_.n_variables(); ++v) {
      const std::int32_t* atoms = box.begin(p_, v);
      Number* unary = unary_.data() + p_.atom[v];
      for (int i = 0; i < box.size[v]; ++i) unary[atoms[i]] = cost_of(v, atoms[i]);
      for (int at : p_.readers[v]) {
        const Place& place = p_.places[at];
        const Number* message = message_.data() + place.message;
        for (int i = 0; i < box.size[v]; ++i)
          unary[atoms[i]] += message[pattern_of(place, atoms[i])];
      }
    }
  }

  // Update the messages of every factor once. Returns the minima of the factors.
  Number sweep(const Box& box) {
    Number sum = 0;
    for (std::size_t f = 0; f < p_.factors.size(); ++f) sum += update(f, box);
    return sum;
  }

  struct Dim {
    const Place* place;
    std::vector<int> patterns;    // that the box allows
    std::vector<Number> others;   // of each pattern: the unary costs, less the message from here
    std::vector<Number> least;    // of each pattern: the least value of an allowed cell with it
  };

  Number update(std::size_t f, const Box& box) {
    const Factor& factor = p_.factors[f];
    std::size_t offset = 0;
    Number fixed = 0;
    int n_free = 0;
    for (std::size_t at = factor.first_place; at < factor.last_place; ++at) {
      const Place& place = p_.places[at];
      if (box.size[place.variable] == 1) {
        const int pattern = pattern_of(place, *box.begin(p_, place.variable));
        offset += static_cast<std::size_t>(pattern) * place.stride;
        fixed -= message_[place.message + pattern];
      } else {
        if (static_cast<int>(dims_.size()) <= n_free) dims_.emplace_back();
        collect(dims_[n_free++], place, box);
      }
    }
    if (n_free == 0) return value_at(factor, offset) + fixed;
    if (n_free == 1) {
      Dim& dim = dims_[0];
      const std::vector<Number>& values = values_along(f, *dim.place, offset);
      for (int pattern : dim.patterns)
        dim.least[pattern] = values[pattern] + fixed + dim.others[pattern];
    } else {
      find_least(values_of(f) + offset, fixed, n_free);
    }
    for (int d = 0; d < n_free; ++d) send(dims_[d], n_free, box);
    return 0;
  }

  void collect(Dim& dim, const Place& place, const Box& box) {
    dim.place = &place;
    dim.patterns.clear();
    dim.others.assign(place.n_patterns, infinite);
    dim.least.assign(place.n_patterns, infinite);
    const std::int32_t* atoms = box.begin(p_, place.variable);
    const Number* unary = unary_.data() + p_.atom[place.variable];
    for (int i = 0; i < box.size[place.variable]; ++i) {
      const int pattern = pattern_of(place, atoms[i]);
      if (dim.others[pattern] == infinite) dim.patterns.push_back(pattern);
      dim.others[pattern] = std::min(dim.others[pattern], unary[atoms[i]]);
    }
    for (int pattern : dim.patterns) dim.others[pattern] -= message_[place.message + pattern];
  }

  // Visit every allowed cell: all dimensions but the last two by an odometer, these two by loops.
  void find_least(const Number* values, Number fixed, int n_free) {
    odometer_.assign(n_free, 0);
    Dim& rows = dims_[n_free - 2];
    Dim& columns = dims_[n_free - 1];
    for (;;) {
      const Number* start = values;
      Number outer = fixed;
      for (int d = 0; d + 2 < n_free; ++d) {
        const int pattern = dims_[d].patterns[odometer_[d]];
        start += static_cast<std::ptrdiff_t>(pattern) * dims_[d].place->stride;
        outer += dims_[d].others[pattern];
      }
      Number least = infinite;
      for (int r : rows.patterns) {
        const Number* row = start + static_cast<std::ptrdiff_t>(r) * rows.place->stride;
        const Number before = outer + rows.others[r];
        Number least_of_row = infinite;
        for (int c : columns.patterns) {
          const Number value = row[c * columns.place->stride] + before + columns.others[c];
          columns.least[c] = std::min(columns.least[c], value);
          least_of_row = std::min(least_of_row, value);
        }
        rows.least[r] = std::min(rows.least[r], least_of_row);
        least = std::min(least, least_of_row);
      }
      int d = n_free - 3;
      for (int e = 0; e <= d; ++e) {
        Number& of = dims_[e].least[dims_[e].patterns[odometer_[e]]];
        of = std::min(of, least);
      }
      while (d >= 0 && ++odometer_[d] == static_cast<int>(dims_[d].patterns.size()))
        odometer_[d--] = 0;
      if (d < 0) return;
    }
  }

  // Divide the least values evenly among the free variables. What remains in the factor is at
  // least 0: a cell is at least the least value of each of its patterns, so at least their mean.
  void send(Dim& dim, int n_free, const Box& box) {
    const int variable = dim.place->variable;
    for (int pattern : dim.patterns) {
      const Number share = floor_divide(dim.least[pattern], n_free) - dim.others[pattern];
      Number& message = message_[dim.place->message + pattern];
      dim.least[pattern] = share - message;  // now the change
      message = share;
    }
    const std::int32_t* atoms = box.begin(p_, variable);
    Number* unary = unary_.data() + p_.atom[variable];
    for (int i = 0; i < box.size[variable]; ++i)
      unary[atoms[i]] += dim.least[pattern_of(*dim.place, atoms[i])];
  }

  static Number floor_divide(Number value, int by) {
    const Number quotient = value / by;
    return quotient - (value % by < 0);
  }

  Number least_unary(const Box& box, int variable) const {
    const std::int32_t* atoms = box.begin(p_, variable);
    const Number* unary = unary_.data() + p_.atom[variable];
    Number least = infinite;
    for (int i = 0; i < box.size[variable]; ++i) least = std::min(least, unary[atoms[i]]);
    return least;
  }

  // A row that fulfils the goal and costs less than the best one has at most this value.
  Number most() const { return costs_ ? best_.cost - 1 : 0; }

  // Remove the atoms that no better row has.
  void filter(Box& box, Number bound) {
    for (int v = 0; v < p_.n_variables(); ++v) {
      if (box.size[v] == 1) continue;
      const Number* unary = unary_.data() + p_.atom[v];
      const Number most_here = most() - bound + least_unary(box, v);
      std::int32_t* atoms = box.atoms.data() + p_.atom[v];
      // The least atom stays: otherwise the bound of the whole box would be too large.
      std::int32_t* rest = std::stable_partition(
          atoms, atoms + box.size[v], [&](int atom) { return unary[atom] <= most_here; });
      box.size[v] = static_cast<std::int32_t>(rest - atoms);
    }
  }

  // -- rows -----------------------------------------------------------------------------------

  // Give the row `x_` another atom of a variable.
  void put(int v, std::int32_t atom) {
    if (x_[v] == atom) return;
    for (int at : p_.readers[v]) {
      const Place& place = p_.places[at];
      const std::ptrdiff_t steps = pattern_of(place, atom) - pattern_of(place, x_[v]);
      cells_[p_.factor_of[at]] += static_cast<std::size_t>(steps * place.stride);
    }
    x_[v] = atom;
  }

  // Compute the inner wires of the row `x_`, and its votes for some classes.
  std::vector<Number> count_votes(const std::vector<int>& classes) {
    std::vector<Number> sum(p_.n_classes, 0);
    for (int c : classes) sum[c] = p_.base[c];
    if (p_.has_definitions) define_wires();
    for (int c : classes) {
      const Number* votes = p_.table[c].data();
      Number& of_class = sum[c];
      for (std::size_t f = 0; f < cells_.size(); ++f)
        if (p_.factors[f].output < 0) of_class += votes[cells_[f]];
    }
    return sum;
  }

  // Inputs of a definition are defined before it. Its table tells where the output 0 is wrong.
  void define_wires() {
    for (std::size_t f = 0; f < cells_.size(); ++f) {
      const int output = p_.factors[f].output;
      if (output < 0) continue;
      const Place& place = p_.places[p_.factors[f].last_place - 1];
      const std::size_t of_zero =
          cells_[f] - static_cast<std::size_t>(pattern_of(place, x_[output])) * place.stride;
      put(output, p_.table[0][of_zero] ? 1 : 0);
    }
  }

  Number cost_of_row() const {
    Number sum = 0;
    for (int v = 0; v < p_.n_columns; ++v) sum += cost_of(v, x_[v]);
    return sum;
  }

  // Record the row if it fulfils the goal and is better than the best one.
  bool try_row() {
    found_ = count_votes(asked_);
    for (const Demand& demand : *goal_)
      if (lack(demand, found_) > 0) return false;
    Number cost = cost_of_row();
    if (costs_ && cost > 0 && !p_.has_definitions) cost = make_cheaper(cost);
    if (costs_ && cost >= best_.cost) return true;
    best_ = Answer{Status::found, {x_.begin(), x_.begin() + p_.n_columns}, cost};
    return true;
  }

  // Give each column the cheapest atom with which the row still fulfils the goal.
  Number make_cheaper(Number cost) {
    for (bool moved = true; moved;) {
      moved = false;
      for (int v = 0; v < p_.n_columns; ++v) {
        if (cost_of(v, x_[v]) == 0) continue;
        votes_of_atoms(v, *whole_, found_, asked_, column_votes_);
        const std::int32_t* atoms = whole_->begin(p_, v);
        int best = x_[v];
        for (int i = 0; i < whole_->size[v]; ++i) {
          const auto first = column_votes_.begin() + static_cast<std::ptrdiff_t>(i) * p_.n_classes;
          atom_votes_.assign(first, first + p_.n_classes);
          const bool fulfils = std::all_of(goal_->begin(), goal_->end(), [&](const Demand& demand) {
            return lack(demand, atom_votes_) <= 0;
          });
          if (fulfils && cost_of(v, atoms[i]) < cost_of(v, best)) best = atoms[i];
        }
        if (best == x_[v]) continue;
        cost += cost_of(v, best) - cost_of(v, x_[v]);
        put(v, best);
        found_ = count_votes(asked_);
        moved = true;
      }
    }
    return cost;
  }

  void take_least(const Box& box) {
    for (int v = 0; v < p_.n_variables(); ++v) {
      const std::int32_t* atoms = box.begin(p_, v);
      const Number* unary = unary_.data() + p_.atom[v];
      put(v, *std::min_element(atoms, atoms + box.size[v],
                               [&](int a, int b) { return unary[a] < unary[b]; }));
    }
  }

  // Improve the row one column at a time. Inner wires depend on several columns: not with them.
  void descend(const Box& box) {
    if (p_.has_definitions) return;
    for (int round = 0; round < 4; ++round) {
      bool moved = false;
      for (int v = 0; v < p_.n_columns; ++v) {
        if (box.size[v] == 1) continue;
        const std::int32_t* atoms = box.begin(p_, v);
        scores_.assign(box.size[v], 0);
        for (int i = 0; i < box.size[v]; ++i) scores_[i] = cost_of(v, atoms[i]);
        for (int at : p_.readers[v]) {
          const std::size_t f = p_.factor_of[at];
          const Place& place = p_.places[at];
          const std::size_t here = static_cast<std::size_t>(pattern_of(place, x_[v])) * place.stride;
          const std::vector<Number>& values =
              values_along(f, place, cells_[f] - p_.factors[f].first_cell - here);
          for (int i = 0; i < box.size[v]; ++i) scores_[i] += values[pattern_of(place, atoms[i])];
        }
        const int best = static_cast<int>(
            std::min_element(scores_.begin(), scores_.end()) - scores_.begin());
        const int now = static_cast<int>(std::find(atoms, atoms + box.size[v], x_[v]) - atoms);
        if (now == box.size[v] || scores_[best] < scores_[now]) put(v, atoms[best]), moved = true;
      }
      if (try_row() && !costs_) return;
      if (!moved) return;
    }
  }

  // -- smaller problems -----------------------------------------------------------------------

  bool wants_regrouping(const Box& box, int depth) const {
    if (p_.has_definitions) return false;
    if (!names_ || depth - first_depth_ >= 3) return true;
    double n_rows = 1;
    for (int v = 0; v < p_.n_columns; ++v) n_rows *= box.size[v];
    return n_rows <= Regrouper::small && p_.factors.size() > 1;
  }

  // Search a box as a problem of its own.
  void search_regrouped(const Box& box, int depth) {
    if (n_nodes_ >= limit_.n_nodes) {
      stopped_ = true;
      return;
    }
    std::vector<Demand> goal = *goal_;
    const auto number_of = [&](int c) {
      return static_cast<int>(std::lower_bound(asked_.begin(), asked_.end(), c) - asked_.begin());
    };
    for (Demand& demand : goal) demand = {number_of(demand.more), number_of(demand.less), demand.by};

    Regrouped made = Regrouper(p_, box, asked_).make(message_);
    std::vector<std::int32_t> row(p_.n_columns);  // the cheapest atoms
    Number cost = 0;
    for (int v = 0; v < p_.n_columns; ++v) {
      row[v] = cheapest(v, box.begin(p_, v), box.size[v]);
      cost += cost_of(v, row[v]);
    }
    std::vector<std::int32_t> example;
    std::vector<Number> costs;
    for (int v = 0; v < made.problem.n_columns; ++v) {
      const int variable = made.variable[v];
      cost -= cost_of(variable, row[variable]);
      for (std::size_t a = made.problem.atom[v]; a < made.problem.atom[v + 1]; ++a) {
        const std::vector<std::int32_t>& same = made.atoms[a];
        example.push_back(cheapest(variable, same.data(), static_cast<int>(same.size())));
        if (costs_) costs.push_back(cost_of(variable, example.back()));
      }
    }
    const Names names = named(made);
    if (proof_) proof_->add_regrouping(names.members);
    Solver inner(made.problem);
    inner.message_ = std::move(made.messages);
    inner.names_ = &names;
    inner.proof_ = proof_;
    inner.set_goal(goal);
    inner.costs_ = costs_ ? costs.data() : nullptr;
    inner.best_ = Answer{Status::none, {}, best_.cost - cost};
    inner.limit_ = {limit_.end, limit_.n_nodes - n_nodes_};
    inner.multiplier_ = multiplier_;
    inner.first_depth_ = depth;
    inner.search_all();
    n_nodes_ += inner.n_nodes_;
    stopped_ = stopped_ || inner.stopped_;
    if (inner.best_.status != Status::found) return;
    for (int v = 0; v < made.problem.n_columns; ++v)
      row[made.variable[v]] = example[made.problem.atom[v] + inner.best_.row[v]];
    best_ = Answer{Status::found, std::move(row), inner.best_.cost + cost};
  }

  void search_all() {
    Box box;
    for (int v = 0; v < p_.n_columns; ++v) {
      box.size.push_back(p_.n_atoms[v]);
      for (int a = 0; a < p_.n_atoms[v]; ++a) box.atoms.push_back(a);
    }
    const Box whole = box;
    whole_ = &whole;
    most_cost_ = 0;
    if (costs_ && first_depth_ == 0) start_costs(box);
    set_objective();
    search(box, first_depth_);
  }

  std::int32_t cheapest(int v, const std::int32_t* atoms, int n) const {
    return *std::min_element(atoms, atoms + n,
                             [&](int a, int b) { return cost_of(v, a) < cost_of(v, b); });
  }

  Names named(const Regrouped& made) const {
    Names names{made.variable, made.atoms, made.members};
    if (!names_ || !proof_) return names;
    for (int v = 0; v < made.problem.n_columns; ++v) {
      names.variable[v] = names_->variable[made.variable[v]];
      for (std::size_t a = made.problem.atom[v]; a < made.problem.atom[v + 1]; ++a)
        names.atoms[a] = all_atoms(made.variable[v], made.atoms[a].begin(), made.atoms[a].end());
    }
    for (std::vector<int>& members : names.members) {
      std::vector<int> all;
      for (int f : members)
        all.insert(all.end(), names_->members[f].begin(), names_->members[f].end());
      members = std::move(all);
    }
    // Constants of this problem are no factors of it.
    if (names_->members.size() > p_.factors.size()) {
      const std::vector<int>& constants = names_->members.back();
      if (names.members.size() == made.problem.factors.size()) names.members.emplace_back();
      names.members.back().insert(names.members.back().end(), constants.begin(), constants.end());
    }
    return names;
  }

  template <class Iterator>
  std::vector<std::int32_t> all_atoms(int v, Iterator first, Iterator last) const {
    std::vector<std::int32_t> all;
    for (; first != last; ++first) {
      const std::vector<std::int32_t>& same = names_->atoms[p_.atom[v] + *first];
      all.insert(all.end(), same.begin(), same.end());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  // -- branch and bound -----------------------------------------------------------------------

  bool is_over() {
    if (++n_nodes_ > limit_.n_nodes || std::chrono::steady_clock::now() >= limit_.end)
      stopped_ = true;
    return stopped_;
  }

  bool is_done() const { return stopped_ || (!costs_ && best_.status == Status::found); }

  // Bound the box and filter it. Returns false if it has no better row, or one has been found.
  bool bound(Box& box, int depth) {
    const int n_sweeps = depth > 0 ? 6 : names_ ? 12 : 8;
    const int n_rounds = costs_ || goal_->size() > 1 ? (depth == 0 ? 20 : 2) : 1;
    Number best_bound = -infinite;
    std::vector<Number> best_multiplier = multiplier_;
    for (int round = 0; round < n_rounds; ++round) {
      sum_messages(box);
      if (round == 0) {
        take_least(box);
        if (try_row() && !costs_) return false;
        descend(box);
        if (is_done()) return false;
      }
      Number last = -infinite;
      for (int i = 0; i < n_sweeps; ++i) {
        Number lower = constant_ + sweep(box);
        for (int v = 0; v < p_.n_variables(); ++v) lower += least_unary(box, v);
        if (lower > most()) {
          if (proof_) proof_->add_leaf(message_, multiplier_);
          return false;
        }
        if (!proof_) filter(box, lower);  // a proof has no node for what is removed
        const Number gain = lower - last, missing = most() - lower;
        last = lower;
        if (i && gain * (n_sweeps - i) < missing) break;  // will not get there at this rate
      }
      take_least(box);
      const bool fulfils = try_row();
      if (fulfils && !costs_) return false;
      if (n_rounds == 1) return true;
      if (last > best_bound || !costs_) best_bound = last, best_multiplier = multiplier_;
      if (round + 1 < n_rounds) {
        take_least(box);  // the row may have been made cheaper
        found_ = count_votes(asked_);
        adapt(depth == 0 ? 1.0 / (1 + round / 2) : 0.1);
      }
    }
    if (multiplier_ != best_multiplier) {
      multiplier_ = best_multiplier;
      set_objective();
    }
    return true;
  }

  // Raise the multipliers of demands that the last row does not fulfil, and lower the others.
  void adapt(double step) {
    Number sum = 0;
    for (std::size_t d = 0; d < goal_->size(); ++d) {
      Number& multiplier = multiplier_[d];
      const Number change = static_cast<Number>(static_cast<double>(multiplier) * step) + 1;
      const bool lacks = lack((*goal_)[d], found_) > 0;
      multiplier = std::clamp<Number>(lacks ? multiplier + change : static_cast<Number>(static_cast<double>(multiplier) / (1 + step)),
                                      1, most_multiplier());
      sum += multiplier;
    }
    if (!costs_)
      for (Number& multiplier : multiplier_)
        multiplier = std::max<Number>(1, multiplier * scale / sum);
    set_objective();
  }

  // Choose the variable whose factors disagree most about it with the others.
  int choose(const Box& box) {
    gaps_.assign(p_.n_variables(), 0);
    for (std::size_t f = 0; f < p_.factors.size(); ++f) {
      const Factor& factor = p_.factors[f];
      Number gap = value_at(factor, cells_[f] - factor.first_cell);
      for (std::size_t at = factor.first_place; at < factor.last_place; ++at) {
        const Place& place = p_.places[at];
        gap -= message_[place.message + pattern_of(place, x_[place.variable])];
      }
      for (std::size_t at = factor.first_place; at < factor.last_place; ++at)
        gaps_[p_.places[at].variable] += std::max<Number>(gap, 0) + 1;
    }
    int best = -1;
    for (int v = 0; v < p_.n_columns; ++v)
      if (box.size[v] > 1 && (best < 0 || gaps_[v] > gaps_[best])) best = v;
    return best;
  }

  // The bound of a single row is exact. It shows a demand that the row does not fulfil.
  void prove_row() {
    std::vector<Number> multiplier(goal_->size(), 0);
    for (std::size_t d = 0; d < goal_->size(); ++d)
      if (lack((*goal_)[d], found_) > 0) {
        multiplier[d] = 1;
        break;
      }
    proof_->add_leaf(message_, multiplier);
  }

  void search(Box& box, int depth) {
    if (is_over()) return;
    if (!bound(box, depth) || is_done()) return;
    sum_messages(box);
    take_least(box);
    try_row();  // the inner wires of the row, and its votes
    if (is_done()) return;
    const int v = choose(box);
    if (v < 0) {  // a single row, which has been tried
      if (proof_) prove_row();
      return;
    }
    if (wants_regrouping(box, depth)) {
      search_regrouped(box, depth + 1);
      return;
    }
    const Number* unary = unary_.data() + p_.atom[v];
    std::vector<std::int32_t> atoms(box.begin(p_, v), box.begin(p_, v) + box.size[v]);
    std::stable_sort(atoms.begin(), atoms.end(), [&](int a, int b) { return unary[a] < unary[b]; });
    int n_first = atoms.size() <= 3 ? 1 : static_cast<int>(atoms.size() / 2);
    if (costs_) {  // whether the column changes at all matters most
      const auto same = std::stable_partition(atoms.begin(), atoms.end(),
                                              [&](int atom) { return cost_of(v, atom) == 0; });
      if (same != atoms.begin() && same != atoms.end())
        n_first = static_cast<int>(same - atoms.begin());
    }
    const std::vector<Number> multiplier = multiplier_;
    if (proof_)
      proof_->add_split(names_->variable[v], all_atoms(v, atoms.begin(), atoms.begin() + n_first));
    for (int half = 0; half < 2; ++half) {
      Box child = box;
      const auto first = atoms.begin() + (half ? n_first : 0);
      const auto last = half ? atoms.end() : atoms.begin() + n_first;
      std::copy(first, last, child.atoms.begin() + p_.atom[v]);
      child.size[v] = static_cast<std::int32_t>(last - first);
      if (half && multiplier != multiplier_) {
        multiplier_ = multiplier;
        set_objective();
      }
      search(child, depth + 1);
      if (is_done()) return;
    }
  }

  const Problem& p_;
  std::vector<Number> message_, unary_, objective_;
  std::vector<std::int64_t> stamp_;
  std::int64_t objective_number_ = 0;
  std::vector<Number> weight_, multiplier_, found_, scores_, along_, gaps_, column_votes_, atom_votes_;
  std::vector<std::int32_t> x_;      // a row, with inner wires
  std::vector<std::size_t> cells_;   // of each factor: the cell of this row
  std::vector<int> asked_;     // the classes that the goal names
  std::vector<int> weighted_;  // those that have a weight
  std::vector<Dim> dims_;
  std::vector<int> odometer_;
  const std::vector<Demand>* goal_ = nullptr;
  const Number* costs_ = nullptr;
  Proof* proof_ = nullptr;
  const Box* whole_ = nullptr;
  std::unordered_map<std::size_t, std::vector<Number>> stored_;
  Number constant_ = 0, violation_ = 0, most_cost_ = 0;
  Answer best_;
  Limit limit_;
  std::int64_t n_nodes_ = 0;
  Names own_names_;
  const Names* names_ = nullptr;  // of a regrouped problem
  int first_depth_ = 0;
  bool stopped_ = false, incomplete_ = false;
};

}  // namespace dln::search
