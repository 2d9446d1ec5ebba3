// Circuit -> plan for the kernels, with the memory that the plan points to.
//
// Promise: a plan gives the circuit's answers on every row. It contains only the literals and steps
// that its answers need. The circuit must have been checked by check.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernel.h"
#include "answers.h"
#include "circuit.h"
#include "netlist.h"
#include "schedule.h"

namespace dln {

// The largest float32 that is not above `cutoff`. No float32 lies between the two, so every float32
// compares the same with both.
inline float round_down(double cutoff) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float largest = std::numeric_limits<float>::max();
  if (cutoff > largest) return largest;
  if (cutoff < -largest) return -infinity;
  const float nearest = float(cutoff);
  return nearest > cutoff ? std::nextafter(nearest, -infinity) : nearest;
}

// The fewest ranges that cover ascending codes.
inline std::vector<CodeRange> ranges_of(const std::vector<std::int32_t>& codes) {
  std::vector<CodeRange> ranges;
  for (std::int32_t code : codes) {
    const auto next = [&] { return std::int64_t{ranges.back().low} + ranges.back().span + 1; };
    if (!ranges.empty() && code == next())
      ++ranges.back().span;
    else
      ranges.push_back({code, 0});
  }
  return ranges;
}

// A plan with the memory that it points to.
class StoredPlan {
 public:
  StoredPlan(const Circuit& circuit, Outputs (*find_outputs)(const Circuit&, Netlist&)) {
    Netlist netlist(circuit.n_literals());
    const auto [numbers, kept] = find_outputs(circuit, netlist);
    std::vector<std::uint32_t> outputs;
    for (const Answer& number : numbers)
      for (Signal bit : number.bits) outputs.push_back(netlist.wire_of(bit));
    for (Signal wire : kept) outputs.push_back(netlist.wire_of(wire));
    schedule_ = Scheduler(netlist, outputs).schedule();
    for (std::uint32_t wire : outputs) slots_.push_back(schedule_.slots[wire]);
    store_numbers(numbers);
    store_tests(circuit);
    kept_ = {slots_.data() + slots_.size() - kept.size(), kept.size()};
    plan_ = {schedule_.n_slots, slice(columns_), slice(schedule_.runs), slice(schedule_.steps),
             slice(numbers_)};
  }
  StoredPlan(const StoredPlan&) = delete;
  StoredPlan& operator=(const StoredPlan&) = delete;

  const Plan& plan() const { return plan_; }
  // The slots of the wires that are kept.
  const Slice<std::uint32_t>& kept() const { return kept_; }

 private:
  template <class Item>
  static Slice<Item> slice(const std::vector<Item>& items) {
    return {items.data(), items.size()};
  }

  void store_numbers(const std::vector<Answer>& answers) {
    for (const Answer& answer : answers)
      for (std::int64_t weight : answer.weights) weights_.push_back(std::uint32_t(weight));
    const std::uint32_t *slots = slots_.data(), *weights = weights_.data();
    for (const Answer& answer : answers) {
      const std::size_t size = answer.bits.size();
      numbers_.push_back({{slots, size}, {weights, size}, std::uint32_t(answer.offset)});
      slots += size;
      weights += size;
    }
  }

  void store_tests(const Circuit& circuit) {
    std::map<std::int32_t, std::vector<Test>> by_column;
    for (std::size_t i = 0; i < circuit.n_literals(); ++i)
      if (const std::uint32_t slot = schedule_.slots[Netlist::literal_wire(i)])
        by_column[circuit.literal_column[i]].push_back(make_test(circuit, i, slot));
    for (auto& [column, tests] : by_column) {
      tests_.push_back(std::move(tests));
      columns_.push_back({std::uint32_t(column),
                          circuit.column_is_category[std::size_t(column)] != 0,
                          slice(tests_.back())});
    }
  }

  Test make_test(const Circuit& circuit, std::size_t i, std::uint32_t slot) {
    const bool is_category = circuit.column_is_category[std::size_t(circuit.literal_column[i])];
    const double cutoff = circuit.literal_cutoff[i];
    switch (LiteralKind(circuit.literal_kind[i])) {
      case LiteralKind::above:
        return {Question::above, slot, cutoff, round_down(cutoff), {}, {}};
      case LiteralKind::among:
        return among(slot, {circuit.category_code.begin() + circuit.category_start[i],
                            circuit.category_code.begin() + circuit.category_start[i + 1]});
      case LiteralKind::missing:
        if (!is_category) return {Question::missing, slot, 0, 0, {}, {}};
        return among(slot, {-1});
    }
    throw std::logic_error("check.h lets no other kind of literal pass");
  }

  // Few ranges of codes are compared one by one. Many are looked up in a table of bits, unless the
  // table would be too large for the number of ranges: memory must stay proportional to the
  // circuit.
  Test among(std::uint32_t slot, std::vector<std::int32_t> codes) {
    constexpr std::size_t few = 12;
    constexpr std::size_t words_per_range = 16;
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    ranges_.push_back(ranges_of(codes));
    const std::size_t n_ranges = ranges_.back().size();
    const std::size_t n_words = codes.empty() ? 0 : std::size_t(codes.back()) / 64 + 1;
    if (n_ranges <= few || n_words > words_per_range * n_ranges)
      return {Question::among_ranges, slot, 0, 0, slice(ranges_.back()), {}};
    std::vector<std::uint64_t> bits(n_words);
    for (std::int32_t code : codes) bits[std::size_t(code) / 64] |= std::uint64_t{1} << code % 64;
    code_bits_.push_back(std::move(bits));
    return {Question::among_codes, slot, 0, 0, {}, slice(code_bits_.back())};
  }

  std::vector<std::uint32_t> slots_, weights_;
  Slice<std::uint32_t> kept_;
  ScheduledSteps schedule_;
  std::vector<Number> numbers_;
  std::vector<UsedColumn> columns_;
  // Vectors of vectors: the elements of the inner vectors do not move when the outer vector grows.
  std::vector<std::vector<Test>> tests_;
  std::vector<std::vector<CodeRange>> ranges_;
  std::vector<std::vector<std::uint64_t>> code_bits_;
  Plan plan_{};
};

}  // namespace dln
