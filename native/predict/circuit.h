// A circuit as it comes from Python: plain arrays. Nothing about them is guaranteed until check.h
// has checked them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "literal_kinds.h"

namespace dln {

// Names and meanings are the same as for the arguments of `Program`.
struct Circuit {
  std::vector<std::uint8_t> column_is_category;
  std::vector<std::uint8_t> literal_kind;
  std::vector<std::int32_t> literal_column;
  std::vector<double> literal_cutoff;
  std::vector<std::int64_t> category_start;
  std::vector<std::int32_t> category_code;
  std::vector<std::uint8_t> gate_code;
  std::vector<std::int32_t> gate_a, gate_b;
  std::vector<std::int32_t> rule_wire;
  std::vector<std::int32_t> rule_votes;  // row-major, one row per rule
  std::vector<std::int32_t> base_votes;

  std::size_t n_literals() const { return literal_kind.size(); }
  std::size_t n_rules() const { return rule_wire.size(); }
  std::size_t n_classes() const { return base_votes.size(); }
  std::int64_t vote(std::size_t rule, std::size_t label) const {
    return rule_votes[rule * n_classes() + label];
  }
};

}  // namespace dln
