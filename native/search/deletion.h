// A row -> a minimal set of columns whose values force its class, by leaving out one column after another.
//
// Whether a column can be left out is a question about a box: the values of the other kept columns are
// fixed, and the columns that are left out are free. Most questions are answered without a search:
//
// - Attacks are rows that differ from the explained one in columns that are left out, and have as many
//   votes for a rival as could be found. If a change of one more column gives such a row another class,
//   this column is needed. One pass over an attack shows this for all columns.
// - The damage of a column is what it can add to an attack. Columns of little damage are left out
//   first, several at once if the sum of their damages is small.
//
// Other questions are asked about the box as a problem of its own (regroup.h).
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "near.h"
#include "solver.h"

namespace dln::search {

struct Reason {
  std::vector<std::uint8_t> kept;       // of each column: whether its value is needed
  std::vector<std::uint8_t> allowed;    // of each atom of a column: whether the box contains it
  std::vector<std::int32_t> witnesses;  // (n_columns, n_columns): see `Deletion::minimal`
  std::vector<std::uint8_t> witnessed;  // of each column: whether there is a witness
  bool minimal = true;                  // no column can be left out
  bool widest = true;                   // no interval or set can be extended alone
  bool checked = false;                 // a proof was found, and is right
  bool is_wrong = false;                // a proof was found, and is wrong
};

class Deletion {
  // A row that differs from the explained one in columns that are left out only, and has as many votes
  // for a rival as was found.
  struct Attack {
    int rival;
    NearRow row;
  };

 protected:
  enum class Forced { yes, no, unknown };

  Deletion(const Problem& problem, const CellVotes& votes, Box domain)
      : p_(problem), domain_(std::move(domain)), solver_(problem), cell_votes_(votes),
        allowed_(problem.atom[problem.n_columns], 0) {
    for (int c = 0; c < p_.n_classes; ++c) classes_.push_back(c);
  }

  // Take over a row. Its box has all its values.
  void start(const std::int32_t* row, const Limit& limit) {
    row_ = row;
    limit_ = limit;
    origin_.reset();
    attacks_.clear();
    free_.clear();
    std::fill(allowed_.begin(), allowed_.end(), 0);
    for (int v = 0; v < p_.n_columns; ++v)
      for (int i = 0; i < domain_.size[v]; ++i) allowed_[p_.atom[v] + domain_.begin(p_, v)[i]] = 1;
    if (!p_.has_definitions) origin_.emplace(p_, cell_votes_, row);
    const std::vector<Number> votes = origin_ ? origin_->votes() : solver_.votes(row, classes_);
    winner_ = static_cast<int>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    order_rivals(votes);
    box_ = domain_;
    for (int v = 0; v < p_.n_columns; ++v)
      if (!p_.readers[v].empty()) box_.fix(p_, v, row[v]);
  }

  Demand demand_of(int rival) const { return search::demand_of(rival, winner_); }

  void order_rivals(const std::vector<Number>& votes) {
    rivals_.clear();
    for (int c = 0; c < p_.n_classes; ++c)
      if (c != winner_) rivals_.push_back(c);
    std::stable_sort(rivals_.begin(), rivals_.end(),
                     [&](int a, int b) { return votes[a] > votes[b]; });
  }

  // Whether all rows of the box have the class of the row; if not, `witness_` is one that has not.
  Forced forced(Solver& solver, const Box& box) {
    bool sure = true;
    for (std::size_t i = 0; i < rivals_.size(); ++i) {
      goal_.assign(1, demand_of(rivals_[i]));
      Answer answer = solver.solve(box, goal_, nullptr, 0, limit_);
      if (answer.status == Status::found) {
        witness_ = std::move(answer.row);
        std::rotate(rivals_.begin(), rivals_.begin() + i, rivals_.begin() + i + 1);  // likely again
        return Forced::no;
      }
      sure = sure && answer.status == Status::none;
    }
    return sure ? Forced::yes : Forced::unknown;
  }

  // The box as a problem of its own, for the rivals that may be chosen in it.
  struct Part {
    std::vector<int> rivals;
    std::vector<Demand> demands;  // of each rival, with the class numbers of the problem
    Regrouped made;               // empty if there is no rival
  };

  Part make_part() {
    Part part{possible_rivals(), {}, {}};
    if (part.rivals.empty()) return part;
    std::vector<int> classes = part.rivals;
    classes.push_back(winner_);
    std::sort(classes.begin(), classes.end());
    const auto number_of = [&](int c) {
      return static_cast<int>(std::lower_bound(classes.begin(), classes.end(), c) - classes.begin());
    };
    for (int rival : part.rivals) {
      const Demand demand = demand_of(rival);
      part.demands.push_back({number_of(demand.more), number_of(demand.less), demand.by});
    }
    part.made = Regrouper(p_, box_, classes).make({});
    return part;
  }

  // Whether all rows of the box have the class of the row, from the box as a problem of its own.
  Forced forced_in_part() {
    const Part part = make_part();
    if (part.rivals.empty()) return Forced::yes;
    Solver solver(part.made);
    const Box whole = Box::whole(part.made.problem);
    bool sure = true;
    for (std::size_t i = 0; i < part.rivals.size(); ++i) {
      if (!can_exceed(part.made.problem, part.demands[i])) continue;
      goal_.assign(1, part.demands[i]);
      const Answer answer = solver.solve(whole, goal_, nullptr, 0, limit_);
      if (answer.status == Status::found) {
        witness_.assign(row_, row_ + p_.n_columns);
        for (std::size_t v = 0; v < part.made.variable.size(); ++v)
          witness_[part.made.variable[v]] =
              part.made.atoms[part.made.problem.atom[v] + answer.row[v]].front();
        const auto where = std::find(rivals_.begin(), rivals_.end(), part.rivals[i]);
        std::rotate(rivals_.begin(), where, where + 1);  // likely again
        return Forced::no;
      }
      sure = sure && answer.status == Status::none;
    }
    return sure ? Forced::yes : Forced::unknown;
  }

  // The rivals that are not excluded by the largest votes of each factor for itself.
  std::vector<int> possible_rivals() {
    seen_.assign(p_.factors.size(), 0);
    most_ = origin_->votes();
    for (Number& most : most_) most -= origin_->votes()[winner_];
    for (int v = 0; v < p_.n_columns; ++v)
      if (box_.size[v] > 1)
        for (int at : p_.readers[v]) {
          const int f = p_.factor_of[at];
          if (!seen_[f]) add_most(f, origin_->cell(f)), seen_[f] = 1;
        }
    std::vector<int> rivals;
    for (int rival : rivals_)
      if (most_[rival] >= demand_of(rival).by) rivals.push_back(rival);
    return rivals;
  }

  // Replace the votes of a cell by the largest ones that the factor has in the box, class by class.
  void add_most(int f, std::size_t now) {
    const Factor& factor = p_.factors[f];
    steps_.clear();
    std::size_t first = now;
    for (std::size_t at = factor.first_place; at < factor.last_place; ++at) {
      const Place& place = p_.places[at];
      if (box_.size[place.variable] == 1) continue;
      first -= static_cast<std::size_t>(p_.pattern[place.pattern + row_[place.variable]]) * place.stride;
      steps_.emplace_back();
      add_patterns(place, steps_.back());
    }
    const std::int32_t* votes = cell_votes_.of_cell(now);
    of_factor_.assign(p_.n_classes, std::numeric_limits<std::int32_t>::min());
    odometer_.assign(steps_.size(), 0);
    for (std::size_t i = 0; i < steps_.size() || steps_.empty();) {
      std::size_t cell = first;
      for (i = 0; i < steps_.size(); ++i) cell += steps_[i][odometer_[i]];
      const std::int32_t* here = cell_votes_.of_cell(cell);
      const std::int32_t own = here[winner_];
      for (int c = 0; c < p_.n_classes; ++c) of_factor_[c] = std::max(of_factor_[c], here[c] - own);
      for (i = 0; i < steps_.size() && ++odometer_[i] == steps_[i].size(); ++i) odometer_[i] = 0;
      if (i == steps_.size()) break;
    }
    for (int c = 0; c < p_.n_classes; ++c) most_[c] += of_factor_[c] - (votes[c] - votes[winner_]);
  }

  // Where the patterns that the box allows are in the table of a factor.
  void add_patterns(const Place& place, std::vector<std::size_t>& steps) {
    const int v = place.variable;
    used_.assign(place.n_patterns, box_.size[v] == p_.n_atoms[v]);
    if (!used_.front())
      for (int i = 0; i < box_.size[v]; ++i)
        used_[p_.pattern[place.pattern + box_.begin(p_, v)[i]]] = 1;
    for (int pattern = 0; pattern < place.n_patterns; ++pattern)
      if (used_[pattern]) steps.push_back(static_cast<std::size_t>(pattern) * place.stride);
  }

  // Whether the largest votes of each factor for itself are enough for a demand.
  static bool can_exceed(const Problem& p, const Demand& demand) {
    Number sum = p.base[demand.more] - p.base[demand.less] - demand.by;
    for (const Factor& factor : p.factors) {
      const Number* more = p.table[demand.more].data() + factor.first_cell;
      const Number* less = p.table[demand.less].data() + factor.first_cell;
      Number most = more[0] - less[0];
      for (std::size_t cell = 1; cell < factor.n_cells; ++cell)
        most = std::max(most, more[cell] - less[cell]);
      sum += most;
    }
    return sum >= 0;
  }

  bool is_allowed(int v, int atom) const { return allowed_[p_.atom[v] + atom]; }

  // The atom of a column with the most votes for a rival, and the excess of its votes.
  std::pair<std::int32_t, Number> best_atom(const Attack& attack, int v) {
    attack.row.excess_of_atoms(v, demand_of(attack.rival), excess_);
    std::int32_t best = attack.row.atoms()[v];
    for (std::int32_t atom = 0; atom < p_.n_atoms[v]; ++atom)
      if (excess_[atom] > excess_[best] && is_allowed(v, atom)) best = atom;
    return {best, excess_[best]};
  }

  // Give the columns, one after another, the atoms with the most votes for the rival, until none gains.
  // Returns whether the rival is chosen.
  bool climb(Attack& attack, const std::vector<int>& columns) {
    const Demand demand = demand_of(attack.rival);
    for (bool moved = true; moved;) {
      moved = false;
      for (int v : columns) {
        const auto [atom, excess] = best_atom(attack, v);
        if (excess <= attack.row.excess(demand)) continue;
        attack.row.put(v, atom);
        moved = true;
      }
    }
    return attack.row.excess(demand) >= 0;
  }

  void keep(int v, const std::vector<std::int32_t>& witness, Reason& reason) {
    reason.kept[v] = 1;
    reason.witnessed[v] = 1;
    std::copy(witness.begin(), witness.end(),
              reason.witnesses.begin() + static_cast<std::size_t>(v) * p_.n_columns);
  }

  // Leave out one column after another while the others still force the class. Columns of a higher
  // rank are left out first. The witness of a kept column is a row of another class that has all other
  // kept values.
  void minimal(const double* ranks, Reason& reason) {
    std::vector<int> undecided;
    for (int v = 0; v < p_.n_columns; ++v)
      if (!p_.readers[v].empty()) undecided.push_back(v);
    if (origin_)
      for (std::size_t i = 0; i < std::min<std::size_t>(n_attacks, rivals_.size()); ++i)
        attacks_.push_back({rivals_[i], *origin_});
    std::vector<Number> worst(p_.n_columns, 0);
    bool examine = true;
    std::size_t most = p_.n_columns;
    while (!undecided.empty() && !rivals_.empty()) {
      if (examine) {
        for (Attack& attack : attacks_) climb(attack, free_);
        const auto rest = std::remove_if(undecided.begin(), undecided.end(), [&](int v) {
          worst[v] = -infinite;
          for (const Attack& attack : attacks_) {
            const auto [atom, excess] = best_atom(attack, v);
            worst[v] = std::max(worst[v], excess);
            if (excess < 0) continue;
            std::vector<std::int32_t> witness = attack.row.atoms();
            witness[v] = atom;
            keep(v, witness, reason);
            return true;
          }
          return false;
        });
        undecided.erase(rest, undecided.end());
        std::stable_sort(undecided.begin(), undecided.end(), [&](int a, int b) {
          if (ranks[a] != ranks[b]) return ranks[a] > ranks[b];
          return worst[a] < worst[b];
        });
        examine = false;
        if (undecided.empty()) break;
      }
      // How many columns the sums of their damages allow.
      std::size_t n = std::min(most, undecided.size());
      n = std::max<std::size_t>(1, std::min(n, n_additive(undecided)));
      const std::vector<int> run(undecided.begin(), undecided.begin() + static_cast<std::ptrdiff_t>(n));
      for (int v : run) box_.free(p_, v, domain_);
      Forced answer = attack_run(run) ? Forced::no : Forced::unknown;
      if (answer == Forced::unknown) answer = origin_ ? forced_in_part() : forced(solver_, box_);
      if (answer == Forced::yes) {
        free_.insert(free_.end(), run.begin(), run.end());
        undecided.erase(undecided.begin(), undecided.begin() + static_cast<std::ptrdiff_t>(n));
        examine = true;
        most = 2 * n;
        continue;
      }
      for (int v : run) box_.fix(p_, v, row_[v]);
      if (n > 1) {
        most = n / 2;
        continue;
      }
      if (answer == Forced::no) {
        keep(run[0], witness_, reason);
      } else {
        reason.kept[run[0]] = 1;
        reason.minimal = false;
      }
      undecided.erase(undecided.begin());
    }
  }

  // How many columns can be left out, if each costs the same votes as alone.
  std::size_t n_additive(const std::vector<int>& undecided) {
    std::size_t n = undecided.size();
    for (const Attack& attack : attacks_) {
      const Number now = attack.row.excess(demand_of(attack.rival));
      Number sum = now;
      for (std::size_t i = 0; i < n; ++i) {
        sum += best_atom(attack, undecided[i]).second - now;
        if (sum >= 0) n = i;
      }
    }
    return n;
  }

  // Look for a row of another class that differs in free columns and in those of a run.
  bool attack_run(const std::vector<int>& run) {
    std::vector<int> columns = run;
    columns.insert(columns.end(), free_.begin(), free_.end());
    for (const Attack& attack : attacks_) {
      Attack moved = attack;
      if (!climb(moved, columns)) continue;
      witness_ = moved.row.atoms();
      return true;
    }
    return false;
  }

  // From now on attacks may use the atoms of a kept column that the box allows.
  void free_in_attacks(int v) {
    if (!origin_ || box_.size[v] == 1) return;
    std::fill(allowed_.begin() + p_.atom[v], allowed_.begin() + p_.atom[v + 1], 0);
    for (int i = 0; i < box_.size[v]; ++i) allowed_[p_.atom[v] + box_.begin(p_, v)[i]] = 1;
    free_.push_back(v);
    for (Attack& attack : attacks_) climb(attack, free_);
  }

  // Mark the atoms of a column with which an attack succeeds.
  void mark_attacked(int v, std::vector<std::uint8_t>& attacked) {
    attacked.assign(p_.n_atoms[v], 0);
    for (const Attack& attack : attacks_) {
      attack.row.excess_of_atoms(v, demand_of(attack.rival), excess_);
      for (int atom = 0; atom < p_.n_atoms[v]; ++atom) attacked[atom] |= excess_[atom] >= 0;
    }
  }

  const Problem& p_;
  Box domain_, box_;
  Solver solver_;
  std::vector<int> classes_;  // all
  const std::int32_t* row_ = nullptr;
  int winner_ = 0;
  Limit limit_;
  std::vector<int> rivals_;  // most likely ones first
  std::vector<Demand> goal_;

 private:
  static constexpr std::size_t n_attacks = 4;

  const CellVotes& cell_votes_;
  std::optional<NearRow> origin_;      // the row; none if there are definitions
  std::vector<Attack> attacks_;
  std::vector<int> free_;              // the columns in which attacks differ
  std::vector<std::uint8_t> allowed_;  // of each atom of a column: whether attacks may use it
  std::vector<std::int32_t> witness_;
  std::vector<Number> excess_, most_;
  std::vector<std::uint8_t> seen_, used_;
  std::vector<std::int32_t> of_factor_;
  std::vector<std::vector<std::size_t>> steps_;  // of each free place of a factor
  std::vector<std::size_t> odometer_;
};

}  // namespace dln::search
