// A lower bound of the objective on a box, by message passing.
//
// Dual block coordinate ascent on the factors, known as MPLP: messages move votes between factors and
// variables without changing the sum, and the sum of the minima of all parts is a lower bound. All
// numbers are integers, so the bound is exact: rounding a message makes the bound weaker, never wrong.
// Messages from other boxes are valid too, so they are kept from call to call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "objective.h"

namespace dln::search {

class Bound : protected Objective {
 protected:
  explicit Bound(const Problem& problem)
      : Objective(problem), message_(problem.n_messages), unary_(problem.n_all_atoms()) {}

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

  Number least_unary(const Box& box, int variable) const {
    const std::int32_t* atoms = box.begin(p_, variable);
    const Number* unary = unary_.data() + p_.atom[variable];
    Number least = infinite;
    for (int i = 0; i < box.size[variable]; ++i) least = std::min(least, unary[atoms[i]]);
    return least;
  }

  std::vector<Number> message_;
  std::vector<Number> unary_;  // of each atom: its cost and the messages to it

 private:
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
    if (n_free > 1) send_rest(values_of(f) + offset, fixed, n_free, box);
    return 0;
  }

  // The shares leave something in the factor: cells whose patterns all have smaller least values. Send
  // it to one variable after another, so that no message can be larger. The bound converges much
  // faster.
  void send_rest(const Number* values, Number fixed, int n_free, const Box& box) {
    for (int d = 0; d < n_free; ++d)
      for (int pattern : dims_[d].patterns)
        dims_[d].others[pattern] = -message_[dims_[d].place->message + pattern];
    for (int d = 0; d < n_free; ++d) {
      Dim& dim = dims_[d];
      find_least_along(values, fixed, n_free, d);
      bool is_zero = true;
      for (int pattern : dim.patterns) {
        message_[dim.place->message + pattern] += dim.least[pattern];
        dim.others[pattern] -= dim.least[pattern];
        is_zero = is_zero && dim.least[pattern] == 0;
      }
      if (!is_zero) add_changes(dim, box);
    }
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

  // The least values along one dimension only.
  void find_least_along(const Number* values, Number fixed, int n_free, int d) {
    Dim& dim = dims_[d];
    for (int pattern : dim.patterns) dim.least[pattern] = infinite;
    odometer_.assign(n_free, 0);
    const Dim& inner = dims_[n_free - 1];
    const std::ptrdiff_t stride = inner.place->stride;
    for (;;) {
      const Number* row = values;
      Number outer = fixed;
      for (int e = 0; e + 1 < n_free; ++e) {
        const int pattern = dims_[e].patterns[odometer_[e]];
        row += static_cast<std::ptrdiff_t>(pattern) * dims_[e].place->stride;
        outer += dims_[e].others[pattern];
      }
      if (d + 1 == n_free) {
        for (int pattern : dim.patterns)
          dim.least[pattern] =
              std::min(dim.least[pattern], row[pattern * stride] + outer + dim.others[pattern]);
      } else {
        Number least = infinite;
        for (int pattern : inner.patterns)
          least = std::min(least, row[pattern * stride] + inner.others[pattern]);
        Number& of = dim.least[dim.patterns[odometer_[d]]];
        of = std::min(of, least + outer);
      }
      int e = n_free - 2;
      while (e >= 0 && ++odometer_[e] == static_cast<int>(dims_[e].patterns.size()))
        odometer_[e--] = 0;
      if (e < 0) return;
    }
  }

  // Divide the least values evenly among the free variables. What remains in the factor is at
  // least 0: a cell is at least the least value of each of its patterns, so at least their mean.
  void send(Dim& dim, int n_free, const Box& box) {
    for (int pattern : dim.patterns) {
      const Number share = floor_divide(dim.least[pattern], n_free) - dim.others[pattern];
      Number& message = message_[dim.place->message + pattern];
      dim.least[pattern] = share - message;  // now the change
      message = share;
    }
    add_changes(dim, box);
  }

  // Add the changes of messages, which are in `least`, to the atoms of the variable.
  void add_changes(const Dim& dim, const Box& box) {
    const int variable = dim.place->variable;
    const std::int32_t* atoms = box.begin(p_, variable);
    Number* unary = unary_.data() + p_.atom[variable];
    for (int i = 0; i < box.size[variable]; ++i)
      unary[atoms[i]] += dim.least[pattern_of(*dim.place, atoms[i])];
  }

  static Number floor_divide(Number value, int by) {
    const Number quotient = value / by;
    return quotient - (value % by < 0);
  }

  std::unordered_map<std::size_t, std::vector<Number>> stored_;
  std::vector<Dim> dims_;
  std::vector<int> odometer_;
};

}  // namespace dln::search
