// Find a row in a box that fulfils a goal at the lowest cost, or prove that there is none.
//
// A goal is a list of demands: the votes of one class exceed those of another by at least a number.
// The costs of a row are the sum of the costs of its atoms.
//
// Branch and bound. The bound is a Lagrangian: costs plus multipliers times unfulfilled votes
// (objective.h), whose minimum over a box is bounded by message passing (bound.h). A box that the bound
// does not decide is searched as a problem of its own, with fewer and larger tables (regroup.h).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "goal.h"
#include "proof.h"
#include "regroup.h"
#include "row.h"

namespace dln::search {

class Solver : public Row {
 public:
  explicit Solver(const Problem& problem) : Row(problem) {}

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
    for (int i = 0; i < 3 && lower <= 0; ++i) {  // above 0, the bound excludes every atom
      lower = constant_ + sweep(box);
      for (int u = 0; u < p_.n_variables(); ++u) lower += least_unary(box, u);
    }
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

  // -- rows -----------------------------------------------------------------------------------

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
    const Box whole = Box::whole(p_);
    Box box = whole;
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

  std::vector<Number> found_, scores_, gaps_, column_votes_, atom_votes_;
  Proof* proof_ = nullptr;
  const Box* whole_ = nullptr;
  Answer best_;
  Limit limit_;
  std::int64_t n_nodes_ = 0;
  Names own_names_;
  const Names* names_ = nullptr;  // of a regrouped problem
  int first_depth_ = 0;
  bool stopped_ = false, incomplete_ = false;
};

}  // namespace dln::search
