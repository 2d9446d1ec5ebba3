// A row under examination, and its votes. It remembers its cell in each factor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bound.h"

namespace dln::search {

class Row : protected Bound {
 public:
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

 protected:
  explicit Row(const Problem& problem)
      : Bound(problem), x_(problem.n_variables()), cells_(problem.factors.size()) {
    for (std::size_t f = 0; f < cells_.size(); ++f) {
      cells_[f] = p_.factors[f].first_cell;
      for (std::size_t at = p_.factors[f].first_place; at < p_.factors[f].last_place; ++at)
        cells_[f] += static_cast<std::size_t>(pattern_of(p_.places[at], 0)) * p_.places[at].stride;
    }
  }

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

  Number cost_of_row() const {
    Number sum = 0;
    for (int v = 0; v < p_.n_columns; ++v) sum += cost_of(v, x_[v]);
    return sum;
  }

  void take_least(const Box& box) {
    for (int v = 0; v < p_.n_variables(); ++v) {
      const std::int32_t* atoms = box.begin(p_, v);
      const Number* unary = unary_.data() + p_.atom[v];
      put(v, *std::min_element(atoms, atoms + box.size[v],
                               [&](int a, int b) { return unary[a] < unary[b]; }));
    }
  }

  std::vector<std::int32_t> x_;     // the atoms, and the inner wires
  std::vector<std::size_t> cells_;  // of each factor

 private:
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
};

}  // namespace dln::search
