// Check a circuit that came from Python.
//
// Promise: planning and running a checked circuit never reads memory out of bounds, and no vote
// count overflows int32.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "circuit.h"
#include "require.h"

namespace dln {

inline void check_sizes(const Circuit& circuit) {
  const size_t n_literals = circuit.n_literals(), n_gates = circuit.gate_code.size();
  require_size(circuit.literal_column.size(), n_literals, "literal_column");
  require_size(circuit.literal_cutoff.size(), n_literals, "literal_cutoff");
  require_size(circuit.category_start.size(), n_literals + 1, "category_start");
  require_size(circuit.gate_a.size(), n_gates, "gate_a");
  require_size(circuit.gate_b.size(), n_gates, "gate_b");
  require(n_literals + n_gates < (size_t{1} << 30), "the circuit has over 2^30 wires");
  require(circuit.n_classes() >= 1, "base_votes is empty; expected one entry per class");
}

inline void check_categories(const Circuit& circuit) {
  const auto& start = circuit.category_start;
  require(start.front() == 0 && start.back() == std::int64_t(circuit.category_code.size()) &&
              std::is_sorted(start.begin(), start.end()),
          "category_start must rise from 0 to the number of category codes");
  for (std::int32_t code : circuit.category_code)
    require(code >= 0, "category_code holds ", code, "; expected 0 or more");
}

inline void check_literals(const Circuit& circuit) {
  const size_t n_columns = circuit.column_is_category.size();
  for (size_t i = 0; i < circuit.n_literals(); ++i) {
    const std::int32_t column = circuit.literal_column[i];
    require(circuit.literal_kind[i] < kLiteralKinds, "literal ", i, " has kind ",
            circuit.literal_kind[i], "; expected 0 to ", kLiteralKinds - 1);
    require(column >= 0 && size_t(column) < n_columns, "literal ", i, " reads column ", column,
            ", but there are ", n_columns, " columns");
    const bool is_category = circuit.column_is_category[size_t(column)];
    switch (LiteralKind(circuit.literal_kind[i])) {
      case LiteralKind::above:
        require(!is_category, "literal ", i, " compares column ", column,
                " with a cutoff, but it holds categories");
        require(std::isfinite(circuit.literal_cutoff[i]), "literal ", i,
                " has a cutoff that is not finite");
        break;
      case LiteralKind::among:
        require(is_category, "literal ", i, " looks for categories in column ", column,
                ", but it holds numbers");
        break;
      case LiteralKind::missing: break;
    }
  }
}

inline void check_gates(const Circuit& circuit) {
  for (size_t g = 0; g < circuit.gate_code.size(); ++g) {
    const size_t n_before = circuit.n_literals() + g;
    require(circuit.gate_code[g] < 16, "gate ", g, " has code ", circuit.gate_code[g],
            "; expected 0 to 15");
    for (std::int32_t wire : {circuit.gate_a[g], circuit.gate_b[g]})
      require(wire >= 0 && size_t(wire) < n_before, "gate ", g, " reads wire ", wire,
              ", but only ", n_before, " wires come before it");
  }
}

inline void check_rules(const Circuit& circuit) {
  const size_t n_wires = circuit.n_literals() + circuit.gate_code.size();
  for (size_t r = 0; r < circuit.n_rules(); ++r)
    require(circuit.rule_wire[r] >= 0 && size_t(circuit.rule_wire[r]) < n_wires, "rule ", r,
            " reads wire ", circuit.rule_wire[r], ", but there are ", n_wires, " wires");
  for (size_t label = 0; label < circuit.n_classes(); ++label) {
    std::int64_t most = std::abs(std::int64_t{circuit.base_votes[label]});
    for (size_t r = 0; r < circuit.n_rules(); ++r) most += std::abs(circuit.vote(r, label));
    require(most <= std::numeric_limits<std::int32_t>::max(), "the votes of class ", label,
            " may add up to ", most, ", which does not fit in int32");
  }
}

inline void check(const Circuit& circuit) {
  check_sizes(circuit);
  check_categories(circuit);
  check_literals(circuit);
  check_gates(circuit);
  check_rules(circuit);
}

}  // namespace dln
