// Why a row gets its class: a minimal set of columns whose values force it, widened to boxes.
#pragma once

#include <algorithm>
#include <vector>

#include "solver.h"

namespace dln::search {

struct Reason {
  std::vector<std::uint8_t> kept;     // of each column: whether its value is needed
  std::vector<std::uint8_t> allowed;  // of each atom of a column: whether the box contains it
  std::vector<std::int32_t> witnesses;  // (n_columns, n_columns): see `Reasoner::minimal`
  std::vector<std::uint8_t> witnessed;  // of each column: whether there is a witness
  bool minimal = true;                // no column can be left out
  bool widest = true;                 // no interval or set can be extended alone
};

class Reasoner {
 public:
  Reasoner(const Problem& problem, Box domain)
      : p_(problem), solver_(problem), domain_(std::move(domain)) {}

  // `ranks`: columns of a higher rank are left out first. Within a rank, those whose change alone
  // costs the class the fewest votes. `n_nodes` is the limit of each question about a wider box, 0
  // if the values shall not be widened.
  Reason find(const std::int32_t* row, const double* ranks, std::int64_t n_nodes,
              const Limit& limit) {
    row_ = row;
    limit_ = limit;
    const std::vector<Number> votes = solver_.votes(row);
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
    reason.allowed.assign(p_.atom[p_.n_columns], 0);
    for (int v = 0; v < p_.n_columns; ++v)
      for (int i = 0; i < box_.size[v]; ++i) reason.allowed[p_.atom[v] + box_.begin(p_, v)[i]] = 1;
    return reason;
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
    for (const std::vector<std::int32_t>& known : known_)
      if (contains(known)) {
        witness_ = known;
        return Forced::no;
      }
    bool sure = true;
    for (int rival : rivals_) {
      // A tie goes to the class that is listed first.
      goal_.assign(1, Demand{rival, winner_, rival < winner_ ? 0 : 1});
      Answer answer = solver_.solve(box_, goal_, nullptr, 0, limit_);
      if (answer.status == Status::found) {
        witness_ = std::move(answer.row);
        known_.push_back(witness_);
        return Forced::no;
      }
      sure = sure && answer.status == Status::none;
    }
    return sure ? Forced::yes : Forced::unknown;
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
    const std::vector<Number> now = solver_.votes(row_);
    std::vector<Number> votes;
    for (int v = 0; v < p_.n_columns; ++v) {
      if (p_.readers[v].empty()) continue;
      columns.push_back(v);
      Number least = infinite;
      solver_.votes_of_atoms(v, domain_, now, votes);
      for (std::size_t i = 0; i < votes.size(); i += p_.n_classes)
        for (int rival : rivals_) least = std::min(least, votes[i + winner_] - votes[i + rival]);
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
    while (start < n) {
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
  }

  // -- intervals and sets ---------------------------------------------------------------------

  void extend(Reason& reason) {
    for (int v = 0; v < p_.n_columns; ++v) {
      if (!reason.kept[v]) continue;
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

  bool try_atoms(int v, const std::vector<std::int32_t>& atoms, Reason& reason) {
    const std::vector<std::int32_t> before(box_.begin(p_, v), box_.begin(p_, v) + box_.size[v]);
    set_atoms(v, atoms);
    const Forced answer = forced();
    if (answer == Forced::unknown) reason.widest = false;
    if (answer != Forced::yes) set_atoms(v, before);
    return answer == Forced::yes;
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

  // The largest number up to which `holds` is true, which it is at `from`; by bisection.
  template <class Holds>
  int furthest(int from, int to, Holds holds) {
    if (from >= to) return from;
    if (holds(to)) return to;
    while (to - from > 1) {
      const int middle = from + (to - from) / 2;
      if (holds(middle))
        from = middle;
      else
        to = middle;
    }
    return from;
  }

  const Problem& p_;
  Solver solver_;
  Box domain_, box_;
  const std::int32_t* row_ = nullptr;
  int winner_ = 0;
  Limit limit_;
  std::vector<int> rivals_;
  std::vector<Demand> goal_;
  std::vector<std::int32_t> witness_;
  std::vector<std::vector<std::int32_t>> known_;
};

}  // namespace dln::search
