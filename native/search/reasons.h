// Why a row gets its class: a minimal set of columns whose values force it, widened to boxes.
//
// A widened box is asked about as a problem of its own (regroup.h), for all rivals together.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "class_proof.h"
#include "deletion.h"

namespace dln::search {

class Reasoner : private Deletion {
 public:
  Reasoner(const Problem& problem, const CellVotes& votes, Box domain)
      : Deletion(problem, votes, std::move(domain)), proof_(problem) {}

  // `ranks`: columns of a higher rank are left out first. `n_nodes` is the limit of each question about
  // a wider box, 0 if the values shall not be widened. The answer is checked for `check_seconds`, if
  // that is positive.
  Reason find(const std::int32_t* row, const double* ranks, std::int64_t n_nodes,
              const Limit& limit, double check_seconds) {
    start(row, limit);
    Reason reason;
    reason.kept.assign(p_.n_columns, 0);
    reason.witnessed.assign(p_.n_columns, 0);
    reason.witnesses.assign(static_cast<std::size_t>(p_.n_columns) * p_.n_columns, 0);
    minimal(ranks, reason);
    limit_.n_nodes = n_nodes;
    if (n_nodes > 0) extend(reason);
    if (check_seconds > 0) {
      const ClassProof::Verdict verdict = proof_.check(box_, winner_, Limit::of(check_seconds, 0));
      reason.checked = verdict == ClassProof::Verdict::right;
      reason.is_wrong = verdict == ClassProof::Verdict::wrong;
    }
    reason.allowed.assign(p_.atom[p_.n_columns], 0);
    for (int v = 0; v < p_.n_columns; ++v)
      for (int i = 0; i < box_.size[v]; ++i) reason.allowed[p_.atom[v] + box_.begin(p_, v)[i]] = 1;
    return reason;
  }

 private:
  // -- intervals and sets ---------------------------------------------------------------------

  void extend(Reason& reason) {
    for (int v = 0; v < p_.n_columns; ++v) {
      if (!reason.kept[v]) continue;
      open_column(v);
      if (p_.first_ordered[v] < 0)
        extend_set(v, reason);
      else
        extend_interval(v, reason);
      free_in_attacks(v);
    }
  }

  bool is_allowed(int v, int atom) const {
    const std::int32_t* atoms = domain_.begin(p_, v);
    return std::find(atoms, atoms + domain_.size[v], atom) != atoms + domain_.size[v];
  }

  // Make a problem of the box in which one column is free, but for atoms that cannot be added. Find the
  // atoms that can be added by the bound alone.
  void open_column(int v) {
    solver_of_part_.reset();
    if (p_.has_definitions) {
      attacked_.assign(p_.n_atoms[v], 0);
      safe_.assign(p_.n_atoms[v], 0);
      safe_[row_[v]] = 1;
      return;
    }
    mark_attacked(v, attacked_);
    safe_.assign(p_.n_atoms[v], 1);
    set_atoms(v, candidates(v));
    if (box_.size[v] > 1) part_ = make_part();
    if (box_.size[v] > 1 && !part_.rivals.empty()) find_safe(v);
    set_atoms(v, {row_[v]});
  }

  // The atoms that no attack excludes: of an interval, those around the one of the row.
  std::vector<std::int32_t> candidates(int v) const {
    std::vector<std::int32_t> atoms;
    const int first = p_.first_ordered[v];
    const auto is_open = [&](int atom) {
      return atom == row_[v] || (!attacked_[atom] && is_allowed(v, atom));
    };
    int low = 0, high = p_.n_atoms[v] - 1;
    if (first >= 0) {
      low = high = std::max(first, row_[v]);
      while (low > first && is_open(low - 1)) --low;
      while (high + 1 < p_.n_atoms[v] && is_open(high + 1)) ++high;
      for (int atom = 0; atom < first; ++atom)
        if (is_open(atom)) atoms.push_back(atom);
    }
    for (int atom = low; atom <= high; ++atom)
      if (is_open(atom)) atoms.push_back(atom);
    return atoms;
  }

  void find_safe(int v) {
    const Problem& q = part_.made.problem;
    solver_of_part_.emplace(part_.made);
    whole_ = Box::whole(q);
    const auto where = std::find(part_.made.variable.begin(), part_.made.variable.end(), v);
    number_ = static_cast<int>(where - part_.made.variable.begin());
    if (where == part_.made.variable.end()) return;  // no atom makes a difference
    std::vector<std::uint8_t> excluded(q.n_atoms[number_], 1);
    for (const Demand& demand : part_.demands)
      solver_of_part_->excluded_atoms(whole_, demand, number_, excluded);
    for (std::size_t a = 0; a < excluded.size(); ++a)
      for (std::int32_t atom : part_.made.atoms[q.atom[number_] + a]) safe_[atom] = excluded[a];
    safe_[row_[v]] = 1;
  }

  // Whether all rows of the box with some atoms of the open column have the class.
  Forced forced_with(int v, const std::vector<std::int32_t>& atoms) {
    if (!solver_of_part_) {
      const std::vector<std::int32_t> before(box_.begin(p_, v), box_.begin(p_, v) + box_.size[v]);
      set_atoms(v, atoms);
      const Forced answer = forced(solver_, box_);
      set_atoms(v, before);
      return answer;
    }
    const Problem& q = part_.made.problem;
    Box box = whole_;
    box.size[number_] = 0;
    for (int a = 0; a < q.n_atoms[number_]; ++a) {
      const auto& same = part_.made.atoms[q.atom[number_] + a];
      const bool is_asked = std::any_of(same.begin(), same.end(), [&](std::int32_t atom) {
        return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
      });
      if (is_asked) box.atoms[q.atom[number_] + box.size[number_]++] = a;
    }
    bool sure = true;
    for (const Demand& demand : part_.demands) {
      goal_.assign(1, demand);
      const Answer answer = solver_of_part_->solve(box, goal_, nullptr, 0, limit_);
      if (answer.status == Status::found) return Forced::no;
      sure = sure && answer.status == Status::none;
    }
    return sure ? Forced::yes : Forced::unknown;
  }

  // Try to replace the atoms of a column by more atoms. The answer depends only on the new ones.
  bool try_atoms(int v, const std::vector<std::int32_t>& atoms, Reason& reason) {
    std::vector<std::int32_t> doubtful;
    for (std::int32_t atom : atoms) {
      if (atom != row_[v] && attacked_[atom]) return false;
      if (!safe_[atom]) doubtful.push_back(atom);
    }
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

  ClassProof proof_;
  Part part_;  // the problem of the column that is widened
  std::optional<Solver> solver_of_part_;
  Box whole_;
  int number_ = 0;                  // of the column, in that problem
  std::vector<std::uint8_t> safe_;      // of each atom of a column: whether it forces the class too
  std::vector<std::uint8_t> attacked_;  // of each: whether a row with it has another class
};

}  // namespace dln::search
