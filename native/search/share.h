// How much of a box fulfils one of several cases: the sum of the weights of its rows, with bounds.
//
// The weight of a row is the product of the weights of its atoms. A hidden column has no weights: a row
// of the other columns counts if a case is fulfilled with some atoms of the hidden columns.
//
// Boxes are split, the heaviest first, until all rows of a box count or none does. Both are shown by the
// bounds of the solver; the rows of a small box are listed. What is left when the time is up is the
// difference between the two bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "solver.h"

namespace dln::search {

struct Case {
  std::vector<std::uint8_t> allowed;  // of each atom; only those of hidden columns matter
  std::vector<Demand> goal;
};

struct Share {
  double lower = 0, upper = 1;
  std::int64_t n_boxes = 0;
};

class Counter {
 public:
  static constexpr double most_listed = Regrouper::small;  // so many rows are one table

  // Atoms of columns that are not hidden have a weight above 0 in the box. Weights of a column add up to 1.
  // Boxes of up to `n_listed` rows are listed.
  Counter(const Problem& problem, const std::vector<double>& weights,
          const std::vector<std::uint8_t>& hidden, const std::vector<Case>& cases, double n_listed)
      : p_(problem), weights_(weights), hidden_(hidden), cases_(cases),
        n_listed_(problem.has_definitions ? 0 : std::min(n_listed, most_listed)) {}

  Share count(const Box& box, const Limit& limit) {
    limit_ = limit;
    Item root{1.0, Bits(p_.n_all_atoms()), {}};
    for (int v = 0; v < p_.n_variables(); ++v)
      for (int i = 0; i < box.size[v]; ++i) root.allowed[p_.atom[v] + box.begin(p_, v)[i]] = true;
    for (std::size_t c = 0; c < cases_.size(); ++c) root.open.push_back(static_cast<int>(c));
    heap_.push(std::move(root));
    while (!heap_.empty() && !is_over()) {
      const Item item = heap_.top();
      heap_.pop();
      open(item);
    }
    const bool complete = heap_.empty() && !stopped_;
    if (complete) fulfilled_ /= fulfilled_ + excluded_;  // the sum is 1 except for rounding errors
    const double lower = std::clamp(fulfilled_, 0.0, 1.0);
    return {lower, complete ? lower : std::clamp(1.0 - excluded_, lower, 1.0), n_boxes_};
  }

 private:
  using Bits = std::vector<bool>;
  static constexpr std::size_t most_items = 400'000;  // about 100 MB
  static constexpr int depth_of_part = 4;             // splits before the tables are made smaller

  struct Item {
    double weight;
    Bits allowed;           // of each atom
    std::vector<int> open;  // cases that are not excluded
    bool operator<(const Item& other) const { return weight < other.weight; }
  };

  // A box as a problem of its own, with smaller tables.
  struct Part {
    Regrouped made;
    const Problem* problem;
    std::vector<double> weights;          // of each atom
    std::vector<std::uint8_t> hidden;     // of each column
    std::vector<std::vector<Demand>> goals;            // of each case
    std::vector<std::vector<std::uint8_t>> reachable;  // of each case: which atoms it allows
    double rest = 1;                      // the weight of the columns that are left out
    std::vector<std::vector<double>> effect;  // of each column and atom: the mean of the lead
    std::vector<double> spread;           // of each column: how much it matters
  };

  bool is_over() {
    if (n_boxes_ >= limit_.n_nodes || std::chrono::steady_clock::now() >= limit_.end ||
        heap_.size() > most_items)
      stopped_ = true;
    return stopped_;
  }

  void open(const Item& item) {
    item_ = &item;
    Box box = Box::whole(p_);
    for (int v = 0; v < p_.n_variables(); ++v)
      keep_only(p_, box, v, [&](std::size_t a) { return item.allowed[a]; });
    Part part;
    part.goals.resize(cases_.size());
    if (p_.has_definitions) {  // tables with inner wires stay as they are
      part.problem = &p_;
      part.weights = weights_;
      part.hidden = hidden_;
      part.reachable.resize(cases_.size());
      for (int c : item.open) part.goals[c] = cases_[c].goal, part.reachable[c] = cases_[c].allowed;
      measure(part, item);
      Solver solver(p_);
      divide(part, solver, box, item.open, 0);
      return;
    }
    std::vector<int> classes;  // that the open cases name
    for (int c : item.open)
      for (const Demand& demand : cases_[c].goal)
        classes.insert(classes.end(), {demand.more, demand.less});
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    const auto number_of = [&](int c) {
      return static_cast<int>(std::lower_bound(classes.begin(), classes.end(), c) - classes.begin());
    };
    for (int c : item.open)
      for (const Demand& demand : cases_[c].goal)
        part.goals[c].push_back({number_of(demand.more), number_of(demand.less), demand.by});
    part.made = Regrouper(p_, box, classes).make(std::vector<Number>(p_.n_messages));
    part.problem = &part.made.problem;
    inherit(part, part.made, p_, weights_, hidden_, item.open,
            [&](int c) -> const auto& { return cases_[c].allowed; });
    const Box whole = Box::whole(*part.problem);
    part.rest = item.weight / weight_of(part, whole);
    measure(part, item);
    Solver solver(part.made);
    divide(part, solver, whole, item.open, 0);
  }

  // Take over weights, hidden columns and the atoms that cases allow. Equal atoms are one atom of the part.
  template <class Allowed>
  void inherit(Part& part, const Regrouped& made, const Problem& from, const std::vector<double>& weights,
               const std::vector<std::uint8_t>& hidden, const std::vector<int>& open, Allowed allowed) const {
    const Problem& q = made.problem;
    part.weights.assign(q.n_all_atoms(), 0);
    part.reachable.resize(cases_.size());
    for (int c : open) part.reachable[c].assign(q.n_all_atoms(), 0);
    for (int v = 0; v < q.n_columns; ++v) {
      const std::size_t first = from.atom[made.variable[v]];
      part.hidden.push_back(hidden[made.variable[v]]);
      for (std::size_t a = q.atom[v]; a < q.atom[v + 1]; ++a)
        for (std::int32_t atom : made.atoms[a]) {
          part.weights[a] += weights[first + atom];
          for (int c : open) part.reachable[c][a] |= allowed(c)[first + atom];
        }
    }
  }

  template <class Keep>
  static void keep_only(const Problem& p, Box& box, int v, Keep keep) {
    std::int32_t* atoms = box.atoms.data() + p.atom[v];
    std::int32_t* end = std::remove_if(atoms, atoms + box.size[v],
                                       [&](std::int32_t a) { return !keep(p.atom[v] + a); });
    box.size[v] = static_cast<std::int32_t>(end - atoms);
  }

  double weight_of(const Part& part, const Box& box) const {
    double product = part.rest;
    for (int v = 0; v < part.problem->n_columns; ++v) {
      if (part.hidden[v]) continue;
      double sum = 0;
      for (int i = 0; i < box.size[v]; ++i)
        sum += part.weights[part.problem->atom[v] + box.begin(*part.problem, v)[i]];
      product *= sum;
    }
    return product;
  }

  // Which columns matter most for the first open case, and how each atom moves its first lead on average.
  void measure(Part& part, const Item& item) const {
    const Problem& q = *part.problem;
    part.effect.resize(q.n_columns);
    part.spread.assign(q.n_columns, 0);
    for (int v = 0; v < q.n_columns; ++v) part.effect[v].assign(q.n_atoms[v], 0);
    const std::vector<Demand>& goal = part.goals[item.open.front()];
    for (std::size_t d = 0; d < goal.size(); ++d) {
      std::vector<std::vector<double>> effect(q.n_columns);
      for (int v = 0; v < q.n_columns; ++v) effect[v].assign(q.n_atoms[v], 0);
      for (const Factor& factor : q.factors) {
        if (factor.output >= 0) continue;
        const Number* more = q.table[goal[d].more].data() + factor.first_cell;
        const Number* less = q.table[goal[d].less].data() + factor.first_cell;
        for (std::size_t at = factor.first_place; at < factor.last_place; ++at) {
          const Place& place = q.places[at];
          if (place.variable >= q.n_columns) continue;
          std::vector<double> mean(place.n_patterns, 0);
          for (std::size_t cell = 0; cell < factor.n_cells; ++cell)
            mean[cell / place.stride % place.n_patterns] += static_cast<double>(more[cell] - less[cell]);
          const double n = static_cast<double>(factor.n_cells) / place.n_patterns;
          for (int a = 0; a < q.n_atoms[place.variable]; ++a)
            effect[place.variable][a] += mean[q.pattern[place.pattern + a]] / n;
        }
      }
      for (int v = 0; v < q.n_columns; ++v) {
        const auto [least, most] = std::minmax_element(effect[v].begin(), effect[v].end());
        part.spread[v] += *most - *least;
      }
      if (d == 0) part.effect = std::move(effect);
    }
  }

  enum class Verdict { none, all, some };

  // Find out whether no row of a box counts, or all do. `open` loses the cases that are excluded.
  Verdict judge(const Part& part, Solver& solver, const Box& box, std::vector<int>& open, bool single) {
    const Problem& q = *part.problem;
    Limit quick = limit_;
    quick.n_nodes = single ? std::numeric_limits<std::int64_t>::max() : 1;
    bool all = false;
    const auto excluded = [&](int c) {
      if (all) return false;
      Box own = box;
      for (int v = 0; v < q.n_columns; ++v) {
        if (part.hidden[v]) keep_only(q, own, v, [&](std::size_t a) { return part.reachable[c][a] != 0; });
        if (own.size[v] == 0) return true;
      }
      const Answer answer = solver.solve(own, part.goals[c], nullptr, 0, quick);
      if (answer.status == Status::none) return true;
      if (answer.status == Status::unknown) return false;
      for (int v = 0; v < q.n_columns; ++v)
        if (part.hidden[v]) own.fix(q, v, answer.row[v]);
      all = std::all_of(part.goals[c].begin(), part.goals[c].end(), [&](const Demand& demand) {
        const std::vector<Demand> opposite{{demand.less, demand.more, 1 - demand.by}};
        return solver.solve(own, opposite, nullptr, 0, quick).status == Status::none;
      });
      return false;
    };
    open.erase(std::remove_if(open.begin(), open.end(), excluded), open.end());
    return all ? Verdict::all : open.empty() ? Verdict::none : Verdict::some;
  }

  void divide(const Part& part, Solver& solver, const Box& box, std::vector<int> open, int depth) {
    if (is_over()) return;
    ++n_boxes_;
    const Problem& q = *part.problem;
    double n_rows = 1;
    int column = -1;
    for (int v = 0; v < q.n_columns; ++v) {
      n_rows *= box.size[v];
      if (!part.hidden[v] && box.size[v] > 1 && (column < 0 || part.spread[v] > part.spread[column])) column = v;
    }
    const double weight = weight_of(part, box);
    if (n_rows <= n_listed_) {
      const double found = list(part, box, open) * weight;
      fulfilled_ += found;
      excluded_ += weight - found;
      return;
    }
    const Verdict verdict = judge(part, solver, box, open, column < 0);
    if (verdict == Verdict::all) fulfilled_ += weight;
    if (verdict == Verdict::none) excluded_ += weight;
    if (verdict != Verdict::some) return;
    if (column < 0) {  // only the time limit leaves a single row open
      stopped_ = true;
      return;
    }
    if (depth == depth_of_part) {
      push(part, box, std::move(open), weight);
      return;
    }
    std::vector<std::int32_t> atoms(box.begin(q, column), box.begin(q, column) + box.size[column]);
    std::stable_sort(atoms.begin(), atoms.end(), [&](std::int32_t a, std::int32_t b) {
      return part.effect[column][a] < part.effect[column][b];
    });
    const std::size_t n_first = middle(part, column, atoms);
    for (int half = 0; half < 2; ++half) {
      Box child = box;
      const auto first = atoms.begin() + (half ? static_cast<std::ptrdiff_t>(n_first) : 0);
      const auto last = half ? atoms.end() : first + static_cast<std::ptrdiff_t>(n_first);
      std::copy(first, last, child.atoms.begin() + static_cast<std::ptrdiff_t>(q.atom[column]));
      child.size[column] = static_cast<std::int32_t>(last - first);
      divide(part, solver, child, open, depth + 1);
    }
  }

  // The number of atoms whose weight is nearest to a half of all.
  std::size_t middle(const Part& part, int v, const std::vector<std::int32_t>& atoms) const {
    const double* weights = part.weights.data() + part.problem->atom[v];
    double sum = 0, so_far = 0;
    for (std::int32_t atom : atoms) sum += weights[atom];
    std::size_t n = 0;
    do so_far += weights[atoms[n++]];
    while (n + 1 < atoms.size() && so_far + weights[atoms[n]] / 2 < sum / 2);
    return n;
  }

  void push(const Part& part, const Box& box, std::vector<int> open, double weight) {
    Item item{weight, item_->allowed, std::move(open)};
    const Problem& q = *part.problem;
    for (int v = 0; v < q.n_columns; ++v) {
      const std::size_t first = p_.atom[q.has_definitions ? v : part.made.variable[v]];
      const std::size_t last = p_.atom[(q.has_definitions ? v : part.made.variable[v]) + 1];
      for (std::size_t a = first; a < last; ++a) item.allowed[a] = false;
      for (int i = 0; i < box.size[v]; ++i) {
        const std::int32_t atom = box.begin(q, v)[i];
        if (q.has_definitions) {
          item.allowed[first + atom] = true;
          continue;
        }
        for (std::int32_t same : part.made.atoms[q.atom[v] + atom]) item.allowed[first + same] = true;
      }
    }
    heap_.push(std::move(item));
  }

  // The part of a small box that counts, by listing its rows.
  double list(const Part& part, const Box& box, const std::vector<int>& open) const {
    std::vector<int> classes(part.problem->n_classes);
    std::iota(classes.begin(), classes.end(), 0);
    const Regrouped made =
        Regrouper(*part.problem, box, classes).make(std::vector<Number>(part.problem->n_messages));
    const Problem& q = made.problem;
    Part small;
    inherit(small, made, *part.problem, part.weights, part.hidden, open,
            [&](int c) -> const auto& { return part.reachable[c]; });
    std::vector<std::int32_t> row(q.n_columns, 0);
    std::size_t n_counted = 1, n_cells = 1;
    for (int v = 0; v < q.n_columns; ++v) {
      n_cells *= q.n_atoms[v];
      if (!small.hidden[v]) n_counted *= q.n_atoms[v];
    }
    std::vector<std::uint8_t> counts(n_counted, 0);
    std::vector<double> weight(n_counted, 0);
    const Factor* table = q.factors.empty() ? nullptr : &q.factors.front();
    for (std::size_t n = 0; n < n_cells; ++n) {
      std::size_t cell = 0, counted = 0;
      double product = 1;
      for (int v = 0; v < q.n_columns; ++v) {
        cell += static_cast<std::size_t>(row[v]) * q.places[v].stride;
        if (small.hidden[v]) continue;
        counted = counted * q.n_atoms[v] + row[v];
        product *= small.weights[q.atom[v] + row[v]];
      }
      weight[counted] = product;
      for (int c : open) {
        if (counts[counted]) break;
        bool fulfils = true;
        for (int v = 0; fulfils && v < q.n_columns; ++v)
          fulfils = !small.hidden[v] || small.reachable[c][q.atom[v] + row[v]];
        for (const Demand& demand : part.goals[c]) {
          Number lead = q.base[demand.more] - q.base[demand.less];
          if (table) lead += q.table[demand.more][table->first_cell + cell] - q.table[demand.less][table->first_cell + cell];
          fulfils = fulfils && lead >= demand.by;
        }
        if (fulfils) counts[counted] = 1;
      }
      for (int v = q.n_columns - 1; v >= 0 && ++row[v] == q.n_atoms[v]; --v) row[v] = 0;
    }
    double sum = 0, found = 0;
    for (std::size_t i = 0; i < n_counted; ++i) sum += weight[i], found += counts[i] ? weight[i] : 0;
    return found / sum;
  }

  const Problem& p_;
  const std::vector<double>& weights_;
  const std::vector<std::uint8_t>& hidden_;
  const std::vector<Case>& cases_;
  const double n_listed_;
  std::priority_queue<Item> heap_;
  const Item* item_ = nullptr;
  Limit limit_;
  double fulfilled_ = 0, excluded_ = 0;
  std::int64_t n_boxes_ = 0;
  bool stopped_ = false;
};

}  // namespace dln::search
