// Why a row gets its class: a minimal set of columns whose values force it, widened to boxes.
//
// A widened box is asked about as a problem of its own (regroup.h), for all rivals together.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "check.h"
#include "solver.h"

namespace dln::search {

struct Reason {
  std::vector<std::uint8_t> kept;     // of each column: whether its value is needed
  std::vector<std::uint8_t> allowed;  // of each atom of a column: whether the box contains it
  std::vector<std::int32_t> witnesses;  // (n_columns, n_columns): see `Reasoner::minimal`
  std::vector<std::uint8_t> witnessed;  // of each column: whether there is a witness
  bool minimal = true;                // no column can be left out
  bool widest = true;                 // no interval or set can be extended alone
  bool checked = false;               // a proof was found, and is right
  bool is_wrong = false;              // a proof was found, and is wrong
};

class Reasoner {
 public:
  Reasoner(const Problem& problem, Box domain)
      : p_(problem), solver_(problem), checker_(problem), domain_(std::move(domain)) {
    for (int c = 0; c < p_.n_classes; ++c) classes_.push_back(c);
  }

  // `ranks`: columns of a higher rank are left out first. Within a rank, those whose change alone
  // costs the class the fewest votes. `n_nodes` is the limit of each question about a wider box, 0
  // if the values shall not be widened. The answer is checked for
  // `check_seconds`, if that is positive.
  Reason find(const std::int32_t* row, const double* ranks, std::int64_t n_nodes,
              const Limit& limit, double check_seconds) {
    row_ = row;
    limit_ = limit;
    const std::vector<Number> votes = solver_.votes(row, classes_);
    winner_ = static_cast<int>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    order_rivals(votes);
    known_.clear();
    box_ = domain_;
    for (int v = 0; v < p_.n_columns; ++v)
      if (!p_.readers[v].empty()) box_.fix(p_, v, row[v]);
    Reason reason;
    reason.kept.assign(p_.n_columns, 0);
    reason.witnessed.assign(p_.n_columns, 0);
    reason.witnesses.assign(static_cast<std::size_t>(p_.n_columns) * p_.n_columns, 0);
    minimal(order(ranks), reason);
    limit_.n_nodes = n_nodes;
    if (n_nodes > 0) extend(reason);
    if (check_seconds > 0) check(box_, winner_, Limit::of(check_seconds, 0), reason);
    reason.allowed.assign(p_.atom[p_.n_columns], 0);
    for (int v = 0; v < p_.n_columns; ++v)
      for (int i = 0; i < box_.size[v]; ++i) reason.allowed[p_.atom[v] + box_.begin(p_, v)[i]] = 1;
    return reason;
  }

  // Prove that all rows of a box get a class, and check the proof with other code.
  void check(const Box& box, int winner, const Limit& limit, Reason& reason) {
    if (p_.has_definitions) return;
    winner_ = winner;
    const Regrouped part = Regrouper(p_, box, classes_).make(std::vector<Number>(p_.n_messages));
    Solver solver(part);
    const Box whole = Box::whole(part.problem);
    for (int rival = 0; rival < p_.n_classes; ++rival) {
      if (rival == winner) continue;
      goal_.assign(1, demand_of(rival));
      Proof proof;
      solver.record(&proof);
      const Answer answer = solver.solve(whole, goal_, nullptr, 0, limit);
      solver.record(nullptr);
      if (answer.status != Status::none) return;
      if (!checker_.check(box, goal_, proof)) {
        reason.is_wrong = true;
        return;
      }
    }
    reason.checked = true;
  }

 private:
  enum class Forced { yes, no, unknown };

  void order_rivals(const std::vector<Number>& votes) {
    rivals_.clear();
    for (int c = 0; c < p_.n_classes; ++c)
      if (c != winner_) rivals_.push_back(c);
    std::stable_sort(rivals_.begin(), rivals_.end(),
                     [&](int a, int b) { return votes[a] > votes[b]; });
  }

  // Whether all rows of the box have the class of the row; if not, `witness_` is one that has not.
  Forced forced() {
    for (auto known = known_.rbegin(); known != known_.rend(); ++known)
      if (contains(*known)) {
        witness_ = *known;
        return Forced::no;
      }
    int n_tried = 0;
    for (auto known = known_.rbegin(); known != known_.rend() && n_tried < 4; ++known, ++n_tried) {
      witness_ = moved_into_box(*known);
      if (!winners_of(witness_).empty()) {
        known_.push_back(witness_);
        return Forced::no;
      }
    }
    const Forced answer = forced(solver_, box_);
    if (answer == Forced::no) known_.push_back(witness_);
    return answer;
  }

  // A row with the atoms of another one, except where the box does not allow them.
  std::vector<std::int32_t> moved_into_box(std::vector<std::int32_t> row) const {
    for (int v = 0; v < p_.n_columns; ++v) {
      const std::int32_t* atoms = box_.begin(p_, v);
      if (std::find(atoms, atoms + box_.size[v], row[v]) == atoms + box_.size[v]) row[v] = *atoms;
    }
    return row;
  }

  // The rivals that would be chosen rather than the class of the row.
  std::vector<int> winners_of(const std::vector<std::int32_t>& row) {
    std::vector<int> found;
    const std::vector<Number> votes = solver_.votes(row.data(), classes_);
    for (int rival : classes_)
      if (rival != winner_ && votes[rival] - votes[winner_] >= demand_of(rival).by)
        found.push_back(rival);
    return found;
  }

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

  // A tie goes to the class that is listed first.
  Demand demand_of(int rival) const { return {rival, winner_, rival < winner_ ? 0 : 1}; }

  // Set aside the rivals that the bound excludes from a box. Later boxes are parts of it.
  void exclude_rivals() {
    Limit quick = limit_;
    quick.n_nodes = 1;
    std::vector<std::uint8_t> can_win(p_.n_classes, 0);
    std::vector<std::vector<std::int32_t>> known;
    const auto remember = [&](std::vector<std::int32_t> row) {
      bool is_new = false;
      for (int rival : winners_of(row)) is_new |= !can_win[rival], can_win[rival] = 1;
      if (is_new) known.push_back(std::move(row));
    };
    for (auto row = known_.rbegin(); row != known_.rend(); ++row) remember(moved_into_box(*row));
    const auto stay = std::stable_partition(rivals_.begin(), rivals_.end(), [&](int rival) {
      if (can_win[rival]) return true;
      goal_.assign(1, demand_of(rival));
      const Answer answer = solver_.solve(box_, goal_, nullptr, 0, quick);
      if (answer.status == Status::found) remember(answer.row);
      return answer.status != Status::none;
    });
    rivals_.erase(stay, rivals_.end());
    known_ = std::move(known);  // later boxes are parts of this one
  }

  bool contains(const std::vector<std::int32_t>& row) const {
    for (int v = 0; v < p_.n_columns; ++v) {
      const std::int32_t* atoms = box_.begin(p_, v);
      if (std::find(atoms, atoms + box_.size[v], row[v]) == atoms + box_.size[v]) return false;
    }
    return true;
  }

  std::vector<int> order(const double* ranks) {
    std::vector<int> columns;
    std::vector<Number> damage(p_.n_columns, 0);
    // The rivals with the most votes are enough for a guess.
    const std::vector<int> near(rivals_.begin(), rivals_.begin() + std::min<std::size_t>(3, rivals_.size()));
    std::vector<int> classes = near;
    classes.push_back(winner_);
    const std::vector<Number> now = solver_.votes(row_, classes);
    std::vector<Number> votes;
    for (int v = 0; v < p_.n_columns; ++v) {
      if (p_.readers[v].empty()) continue;
      columns.push_back(v);
      Number least = infinite;
      solver_.votes_of_atoms(v, domain_, now, classes, votes);
      for (std::size_t i = 0; i < votes.size(); i += p_.n_classes)
        for (int rival : near) least = std::min(least, votes[i + winner_] - votes[i + rival]);
      damage[v] = -least;
    }
    std::stable_sort(columns.begin(), columns.end(), [&](int a, int b) {
      if (ranks[a] != ranks[b]) return ranks[a] > ranks[b];
      return damage[a] < damage[b];
    });
    return columns;
  }

  // Leave out one column after another while the others still force the class. If some columns are
  // enough, more are too, so a run of columns is found by doubling and bisection. The witness of a
  // kept column is a row of another class that has all other kept values.
  void minimal(const std::vector<int>& order, Reason& reason) {
    const int n = static_cast<int>(order.size());
    const auto try_free = [&](int from, int to) {
      for (int i = from; i < to; ++i) box_.free(p_, order[i], domain_);
      const Forced answer = forced();
      if (answer != Forced::yes)
        for (int i = from; i < to; ++i) box_.fix(p_, order[i], row_[order[i]]);
      return answer;
    };
    int start = 0, step = 1;
    const std::vector<int> all_rivals = rivals_;
    while (start < n && !rivals_.empty()) {
      if (step == 1) {  // after the start, and after each column that is kept
        for (int i = start; i < n; ++i) box_.free(p_, order[i], domain_);
        exclude_rivals();
        if (rivals_.empty()) break;
        for (int i = start; i < n; ++i) box_.fix(p_, order[i], row_[order[i]]);
      }
      int to = std::min(start + step, n);
      const Forced answer = try_free(start, to);
      if (answer == Forced::yes) {
        start = to;
        step *= 2;
        continue;
      }
      if (to - start > 1) {
        step = (to - start) / 2;
        continue;
      }
      const int column = order[start++];
      reason.kept[column] = 1;
      if (answer == Forced::unknown) {
        reason.minimal = false;
      } else {
        reason.witnessed[column] = 1;
        std::copy(witness_.begin(), witness_.end(),
                  reason.witnesses.begin() + static_cast<std::size_t>(column) * p_.n_columns);
      }
      step = 1;
    }
    rivals_ = all_rivals;
  }

  // -- intervals and sets ---------------------------------------------------------------------

  void extend(Reason& reason) {
    for (int v = 0; v < p_.n_columns; ++v) {
      if (!reason.kept[v]) continue;
      open_column(v);
      if (p_.first_ordered[v] < 0)
        extend_set(v, reason);
      else
        extend_interval(v, reason);
    }
  }

  bool is_allowed(int v, int atom) const {
    const std::int32_t* atoms = domain_.begin(p_, v);
    return std::find(atoms, atoms + domain_.size[v], atom) != atoms + domain_.size[v];
  }

  // Make a problem of the box in which one column is free, and find the atoms of the column that can
  // be added by the bound alone.
  void open_column(int v) {
    const std::vector<std::int32_t> before(box_.begin(p_, v), box_.begin(p_, v) + box_.size[v]);
    safe_.assign(p_.n_atoms[v], 1);
    solver_of_part_.reset();
    if (!p_.has_definitions) {
      box_.free(p_, v, domain_);
      part_ = Regrouper(p_, box_, classes_).make(std::vector<Number>(p_.n_messages));
      set_atoms(v, before);
      solver_of_part_.emplace(part_);
      whole_ = Box::whole(part_.problem);
      const auto where = std::find(part_.variable.begin(), part_.variable.end(), v);
      number_ = static_cast<int>(where - part_.variable.begin());
      if (where == part_.variable.end()) return;  // no atom makes a difference
      std::vector<std::uint8_t> excluded(part_.problem.n_atoms[number_], 1);
      for (int rival : rivals_)
        solver_of_part_->excluded_atoms(whole_, demand_of(rival), number_, excluded);
      for (std::size_t a = 0; a < excluded.size(); ++a)
        for (std::int32_t atom : part_.atoms[part_.problem.atom[number_] + a]) safe_[atom] = excluded[a];
    } else {
      std::fill(safe_.begin(), safe_.end(), 0);
    }
    for (std::int32_t atom : before) safe_[atom] = 1;
  }

  // Whether all rows of the box with some atoms of the open column have the class.
  Forced forced_with(int v, const std::vector<std::int32_t>& atoms) {
    const std::vector<std::int32_t> before(box_.begin(p_, v), box_.begin(p_, v) + box_.size[v]);
    set_atoms(v, atoms);
    Forced answer = Forced::yes;
    if (!solver_of_part_) {
      answer = forced();
    } else {
      Box box = whole_;
      box.size[number_] = 0;
      for (int a = 0; a < part_.problem.n_atoms[number_]; ++a) {
        const auto& same = part_.atoms[part_.problem.atom[number_] + a];
        const bool is_asked = std::any_of(same.begin(), same.end(), [&](std::int32_t atom) {
          return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
        });
        if (is_asked) box.atoms[part_.problem.atom[number_] + box.size[number_]++] = a;
      }
      answer = forced(*solver_of_part_, box);
    }
    set_atoms(v, before);
    return answer;
  }

  // Try to replace the atoms of a column by more atoms. The answer depends only on the new ones.
  bool try_atoms(int v, const std::vector<std::int32_t>& atoms, Reason& reason) {
    std::vector<std::int32_t> doubtful;
    for (std::int32_t atom : atoms)
      if (!safe_[atom]) doubtful.push_back(atom);
    const Forced answer = doubtful.empty() ? Forced::yes : forced_with(v, doubtful);
    if (answer == Forced::unknown) reason.widest = false;
    if (answer != Forced::yes) return false;
    for (std::int32_t atom : doubtful) safe_[atom] = 1;
    set_atoms(v, atoms);
    return true;
  }

  void set_atoms(int v, const std::vector<std::int32_t>& atoms) {
    std::copy(atoms.begin(), atoms.end(), box_.atoms.begin() + p_.atom[v]);
    box_.size[v] = static_cast<std::int32_t>(atoms.size());
  }

  void extend_set(int v, Reason& reason) {
    for (int atom = 0; atom < p_.n_atoms[v]; ++atom) {
      if (atom == row_[v] || !is_allowed(v, atom)) continue;
      std::vector<std::int32_t> atoms(box_.begin(p_, v), box_.begin(p_, v) + box_.size[v]);
      atoms.push_back(atom);
      try_atoms(v, atoms, reason);
    }
  }

  void extend_interval(int v, Reason& reason) {
    const int first = p_.first_ordered[v], last = p_.n_atoms[v] - 1;
    const bool is_missing = row_[v] < first;
    int low = is_missing ? first : row_[v], high = is_missing ? first - 1 : row_[v];
    bool with_missing = is_missing;
    const auto fits = [&](int from, int to, bool missing) {
      std::vector<std::int32_t> atoms;
      for (int atom = missing ? 0 : first; atom < first; ++atom)
        if (atom == row_[v] || is_allowed(v, atom)) atoms.push_back(atom);
      for (int atom = from; atom <= to; ++atom)
        if (atom == row_[v] || is_allowed(v, atom)) atoms.push_back(atom);
      return try_atoms(v, atoms, reason);
    };
    high = furthest(high, last, [&](int to) { return fits(low, to, with_missing); });
    // A box without its smallest numbers cannot have missing values but not the others: `<=`.
    if (!is_missing) {
      low = -furthest(-low, -first, [&](int from) { return fits(-from, high, with_missing); });
      if (first > 0) fits(low, high, true);
    }
  }

  // The largest number up to which `holds` is true, which it is at `from`; by doubling and halving.
  template <class Holds>
  int furthest(int from, int to, Holds holds) {
    for (int step = 1; from < to;) {
      const int next = from + std::min(step, to - from);
      if (holds(next)) {
        from = next;
        step *= 2;
      } else {
        to = next - 1;
        step = std::max(1, (to - from) / 2);
      }
    }
    return from;
  }

  const Problem& p_;
  Solver solver_;
  Checker checker_;
  Box domain_, box_;
  std::vector<int> classes_;  // all
  Regrouped part_;            // the problem of the column that is widened
  std::optional<Solver> solver_of_part_;
  Box whole_;
  int number_ = 0;            // of the column, in that problem
  const std::int32_t* row_ = nullptr;
  int winner_ = 0;
  Limit limit_;
  std::vector<int> rivals_;
  std::vector<std::uint8_t> safe_;  // of each atom of a column: whether it forces the class too
  std::vector<Demand> goal_;
  std::vector<std::int32_t> witness_;
  std::vector<std::vector<std::int32_t>> known_;  // rows of other classes
};

}  // namespace dln::search
