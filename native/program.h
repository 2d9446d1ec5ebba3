// Plan a circuit for the kernels: circuit -> netlist of word operations -> steps over slots.
//
// Promise: a plan computes what the circuit says on every row, reads only the literals and holds
// only the steps that its answers need. Checks, and all that is Python, are left to program.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "predict_kernel.h"

namespace dln {

enum class LiteralKind : std::uint8_t { above, among, missing };

// A circuit as it comes from Python; the names and the meanings are those of `Program`'s arguments.
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

// Twice a wire of the netlist, plus one where it is inverted. Wire 0 is constantly false.
using Signal = std::uint32_t;
inline constexpr Signal never = 0, always = 1;

// Word operations in the order they were asked for. Each builder returns the simplest signal it
// knows: constants fold, inversions move into the operations, twins are built once.
class Netlist {
 public:
  struct Node {
    Operation operation;
    std::array<std::uint32_t, 3> wires;
  };

  explicit Netlist(std::size_t n_literals) : n_inputs_(std::uint32_t(n_literals + 1)) {}

  static Signal literal(std::size_t i) { return Signal(2 * (i + 1)); }
  std::uint32_t n_inputs() const { return n_inputs_; }
  const std::vector<Node>& nodes() const { return nodes_; }

  Signal both(Signal a, Signal b) {
    if (a > b) std::swap(a, b);
    if (a == never || a == (b ^ 1)) return never;
    if (a == always || a == b) return b;
    if (is_inverted(a) && is_inverted(b)) return add(Operation::neither, a, b);
    if (is_inverted(a)) return add(Operation::but_not, b, a);
    return add(is_inverted(b) ? Operation::but_not : Operation::both, a, b);
  }

  Signal either(Signal a, Signal b) { return both(a ^ 1, b ^ 1) ^ 1; }

  Signal differ(Signal a, Signal b) {
    const Signal inverted = (a ^ b) & 1;
    if (a > b) std::swap(a, b);
    if (a / 2 == b / 2) return inverted;
    if (a / 2 == never) return (b & ~1u) ^ inverted;
    return add(Operation::differ, a, b) ^ inverted;
  }

  Signal parity(Signal a, Signal b, Signal c) {
    sort(a, b, c);
    if (a / 2 == never || a / 2 == b / 2) return differ(differ(a, b), c);
    if (b / 2 == c / 2) return differ(a, differ(b, c));
    return add(Operation::parity, a, b, c) ^ ((a ^ b ^ c) & 1);
  }

  Signal majority(Signal a, Signal b, Signal c) {
    sort(a, b, c);
    if (a / 2 == never) return a == never ? both(b, c) : either(b, c);
    if (a / 2 == b / 2) return a == b ? a : c;
    if (b / 2 == c / 2) return b == c ? b : a;
    const Signal n_inverted = (a & 1) + (b & 1) + (c & 1);
    if (n_inverted > 1) return majority(a ^ 1, b ^ 1, c ^ 1) ^ 1;
    if (n_inverted == 0) return add(Operation::majority, a, b, c);
    if (is_inverted(a)) std::swap(a, c);
    if (is_inverted(b)) std::swap(b, c);
    return add(Operation::majority_not, a, b, c);
  }

  Signal select(Signal condition, Signal yes, Signal no) {
    if (yes == no) return yes;
    if (yes == (no ^ 1)) return differ(condition, no);
    if (no / 2 == never) return no == never ? both(condition, yes) : either(condition ^ 1, yes);
    if (yes / 2 == never) return yes == never ? both(condition ^ 1, no) : either(condition, no);
    return differ(no, both(condition, differ(yes, no)));
  }

  // The gate with truth table t00 t01 t10 t11, t00 the highest bit: a chooses between two functions
  // of b alone. Every one of the 16 tables comes out as one operation, or none.
  Signal gate(unsigned table, Signal a, Signal b) {
    const auto of_b = [b](unsigned half) -> Signal {  // half: values for b = 0 (high), b = 1 (low)
      const Signal at_0 = half >> 1, at_1 = half & 1;
      return at_0 == at_1 ? at_0 : b ^ at_0;
    };
    return select(a, of_b(table & 3), of_b(table >> 2));
  }

  // A wire, not inverted, that carries the signal.
  std::uint32_t wire_of(Signal signal) {
    return (is_inverted(signal) ? add(Operation::neither, signal, signal) : signal) / 2;
  }

 private:
  static bool is_inverted(Signal a) { return a & 1; }

  static void sort(Signal& a, Signal& b, Signal& c) {
    if (a > b) std::swap(a, b);
    if (b > c) std::swap(b, c);
    if (a > b) std::swap(a, b);
  }

  Signal add(Operation operation, Signal a, Signal b, Signal c = never) {
    const Node node{operation, {a / 2, b / 2, c / 2}};
    const std::size_t wire = n_inputs_ + nodes_.size();
    const auto [twin, is_new] = wires_.try_emplace({operation, node.wires}, std::uint32_t(wire));
    if (!is_new) return 2 * twin->second;
    if (wire > std::numeric_limits<std::uint32_t>::max() / 2 - 1)
      throw std::invalid_argument("the circuit is too large: its plan has over 2^31 wires");
    nodes_.push_back(node);
    return Signal(2 * wire);
  }

  std::uint32_t n_inputs_;
  std::vector<Node> nodes_;
  std::map<std::pair<Operation, std::array<std::uint32_t, 3>>, std::uint32_t> wires_;
};

// An unsigned number per row, the lowest bit first.
using Bits = std::vector<Signal>;

// Adds up weighted signals. What is below zero goes to an offset: -w * x = w * ~x - w.
class Counter {
 public:
  std::int64_t offset = 0;

  void add(Signal signal, std::int64_t weight) {
    if (weight < 0) {
      offset += weight;
      signal ^= 1;
    }
    std::uint64_t left = std::uint64_t(std::abs(weight));
    most_ += left;
    for (std::size_t bit = 0; left; ++bit, left >>= 1)
      if (left & 1) column(bit).push_back(signal);
  }

  // Replace three signals worth 2^i by one worth 2^i and one worth twice that, until one is left.
  Bits total(Netlist& netlist) {
    const std::size_t n_bits = std::size_t(std::bit_width(most_));  // what carries beyond is zero
    Bits sum;
    for (std::size_t bit = 0; bit < n_bits; ++bit) {
      // First come, first added: a tree rather than a chain, whose steps wait less for each other.
      std::size_t next = 0;
      while (column(bit).size() - next > 1) {
        const Signal a = columns_[bit][next++], b = columns_[bit][next++];
        const Signal c = next < columns_[bit].size() ? columns_[bit][next++] : never;
        columns_[bit].push_back(netlist.parity(a, b, c));
        column(bit + 1).push_back(netlist.majority(a, b, c));
      }
      sum.push_back(columns_[bit].empty() ? never : columns_[bit][next]);
    }
    return sum;
  }

 private:
  std::vector<Signal>& column(std::size_t bit) {
    if (columns_.size() <= bit) columns_.resize(bit + 1);
    return columns_[bit];
  }

  std::vector<std::vector<Signal>> columns_;
  std::uint64_t most_ = 0;
};

// A number that the plan answers: the bits, and what to add to them.
struct Answer {
  Bits bits;
  std::int32_t offset = 0;
};

inline std::vector<Signal> build_rules(const Circuit& circuit, Netlist& netlist) {
  std::vector<Signal> wires;
  for (std::size_t i = 0; i < circuit.n_literals(); ++i) wires.push_back(Netlist::literal(i));
  for (std::size_t g = 0; g < circuit.gate_code.size(); ++g)
    wires.push_back(netlist.gate(circuit.gate_code[g], wires[std::size_t(circuit.gate_a[g])],
                                 wires[std::size_t(circuit.gate_b[g])]));
  std::vector<Signal> rules;
  for (std::int32_t wire : circuit.rule_wire) rules.push_back(wires[std::size_t(wire)]);
  return rules;
}

inline std::vector<Answer> count_votes(const Circuit& circuit, Netlist& netlist) {
  const std::vector<Signal> rules = build_rules(circuit, netlist);
  std::vector<Answer> votes;
  for (std::size_t label = 0; label < circuit.n_classes(); ++label) {
    Counter counter;
    for (std::size_t r = 0; r < rules.size(); ++r) counter.add(rules[r], circuit.vote(r, label));
    counter.offset += circuit.base_votes[label];
    votes.push_back({counter.total(netlist), std::int32_t(counter.offset)});
  }
  return votes;
}

// The votes that most classes get from a rule; of equally common ones, those of the first class.
inline std::int64_t commonest_vote(const Circuit& circuit, std::size_t rule) {
  std::map<std::int64_t, std::size_t> count;
  for (std::size_t label = 0; label < circuit.n_classes(); ++label)
    ++count[circuit.vote(rule, label)];
  std::int64_t commonest = circuit.vote(rule, 0);
  for (std::size_t label = 1; label < circuit.n_classes(); ++label)
    if (count[circuit.vote(rule, label)] > count[commonest]) commonest = circuit.vote(rule, label);
  return commonest;
}

// What every class gets from a rule cannot change the winner and is left out. With two classes the
// first is then left with nothing to count: one count remains, compared with a constant.
inline std::vector<Counter> count_contest(const Circuit& circuit,
                                          const std::vector<Signal>& rules) {
  std::vector<Counter> counters(circuit.n_classes());
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const std::int64_t shared = commonest_vote(circuit, r);
    for (std::size_t label = 0; label < counters.size(); ++label)
      counters[label].add(rules[r], circuit.vote(r, label) - shared);
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t label = 0; label < counters.size(); ++label)
    least = std::min(least, counters[label].offset += circuit.base_votes[label]);
  for (Counter& counter : counters) counter.add(always, counter.offset - least);
  return counters;
}

inline Signal bit_of(const Bits& number, std::size_t bit) {
  return bit < number.size() ? number[bit] : never;
}

// From the lowest bit up: a bit that differs overrules those before it.
inline Signal is_greater(const Bits& a, const Bits& b, Netlist& netlist) {
  Signal greater = never;
  for (std::size_t bit = 0; bit < std::max(a.size(), b.size()); ++bit)
    greater = netlist.majority(bit_of(a, bit), bit_of(b, bit) ^ 1, greater);
  return greater;
}

inline Bits select(Signal condition, const Bits& yes, const Bits& no, Netlist& netlist) {
  Bits chosen;
  for (std::size_t bit = 0; bit < std::max(yes.size(), no.size()); ++bit)
    chosen.push_back(netlist.select(condition, bit_of(yes, bit), bit_of(no, bit)));
  return chosen;
}

inline Bits constant(std::size_t value) {
  Bits bits;
  for (; value; value >>= 1) bits.push_back(value & 1 ? always : never);
  return bits;
}

// The index of the class with most votes, the first of several.
inline std::vector<Answer> find_winner(const Circuit& circuit, Netlist& netlist) {
  std::vector<Counter> counters = count_contest(circuit, build_rules(circuit, netlist));
  Bits winner, most = counters[0].total(netlist);
  for (std::size_t label = 1; label < counters.size(); ++label) {
    const Bits votes = counters[label].total(netlist);
    const Signal wins = is_greater(votes, most, netlist);
    winner = select(wins, constant(label), winner, netlist);
    most = select(wins, votes, most, netlist);
  }
  return {{winner, 0}};
}

// The steps of a netlist that its outputs need, ordered and with a slot for every wire.
struct Schedule {
  std::vector<StepRun> runs;
  std::vector<Step> steps;
  std::vector<std::uint32_t> slots;  // of each wire; 0 where it is not read
  std::uint32_t n_slots = 1;
};

class Scheduler {
 public:
  Scheduler(const Netlist& netlist, std::vector<std::uint32_t> outputs)
      : nodes_(netlist.nodes()), n_inputs_(netlist.n_inputs()), outputs_(std::move(outputs)) {}

  Schedule schedule() {
    find_needed();
    order_nodes();
    assign_slots();
    return std::move(result_);
  }

 private:
  std::size_t n_wires() const { return n_inputs_ + nodes_.size(); }

  void find_needed() {
    is_needed_.assign(n_wires(), false);
    for (std::uint32_t wire : outputs_) is_needed_[wire] = true;
    for (std::size_t n = nodes_.size(); n-- > 0;)
      if (is_needed_[n_inputs_ + n])
        for (std::uint32_t wire : nodes_[n].wires) is_needed_[wire] = true;
  }

  // Of all nodes whose inputs are ready, run those of the commonest operation.
  void order_nodes() {
    std::vector<std::vector<std::uint32_t>> readers(nodes_.size());
    std::vector<int> n_waiting(nodes_.size(), 0);
    std::array<std::vector<std::uint32_t>, n_operations> ready;
    const auto queue = [&](std::uint32_t n) -> auto& {
      return ready[std::size_t(nodes_[n].operation)];
    };
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (!is_needed_[n_inputs_ + n]) continue;
      for (std::uint32_t wire : nodes_[n].wires)
        if (wire >= n_inputs_) {
          readers[wire - n_inputs_].push_back(n);
          ++n_waiting[n];
        }
      if (n_waiting[n] == 0) queue(n).push_back(n);
    }
    const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    for (;;) {
      auto& longest = *std::max_element(ready.begin(), ready.end(), shorter);
      if (longest.empty()) break;
      for (std::size_t i = 0; i < longest.size(); ++i) {  // the queue grows on the way
        order_.push_back(longest[i]);
        for (std::uint32_t reader : readers[longest[i]])
          if (--n_waiting[reader] == 0) queue(reader).push_back(reader);
      }
      result_.runs.push_back({nodes_[longest[0]].operation, std::uint32_t(longest.size())});
      longest.clear();
    }
  }

  // A slot is free again after the last step that reads it, so that few are touched in all.
  void assign_slots() {
    constexpr std::size_t never_free = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> last_read(n_wires(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (std::uint32_t wire : nodes_[order_[i]].wires) last_read[wire] = i;
    for (std::uint32_t wire : outputs_) last_read[wire] = never_free;
    last_read[0] = never_free;

    result_.slots.assign(n_wires(), 0);
    for (std::uint32_t wire = 1; wire < n_inputs_; ++wire)
      if (is_needed_[wire]) result_.slots[wire] = result_.n_slots++;
    std::vector<std::uint32_t> free;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto& wires = nodes_[order_[i]].wires;
      const auto slot = [&](int k) { return result_.slots[wires[std::size_t(k)]]; };
      Step step{0, slot(0), slot(1), slot(2)};
      for (std::uint32_t wire : wires)
        if (last_read[wire] == i) {
          free.push_back(result_.slots[wire]);
          last_read[wire] = never_free;  // the step may read it twice
        }
      if (free.empty()) free.push_back(result_.n_slots++);
      step.out = result_.slots[n_inputs_ + order_[i]] = free.back();
      free.pop_back();
      result_.steps.push_back(step);
    }
  }

  const std::vector<Netlist::Node>& nodes_;
  std::uint32_t n_inputs_;
  std::vector<std::uint32_t> outputs_;
  std::vector<bool> is_needed_;
  std::vector<std::uint32_t> order_;
  Schedule result_;
};

// The largest float32 that is not above `cutoff`: no float32 lies between the two, so that all of
// them compare alike with both.
inline float round_down(double cutoff) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float largest = std::numeric_limits<float>::max();
  if (cutoff > largest) return largest;
  if (cutoff < -largest) return -infinity;
  const float nearest = float(cutoff);
  return nearest > cutoff ? std::nextafter(nearest, -infinity) : nearest;
}

// The fewest ranges that cover codes in rising order.
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
  StoredPlan(const Circuit& circuit, std::vector<Answer> (*answer)(const Circuit&, Netlist&)) {
    Netlist netlist(circuit.n_literals());
    const std::vector<Answer> answers = answer(circuit, netlist);
    for (const Answer& number : answers)
      for (Signal bit : number.bits) planes_.push_back(netlist.wire_of(bit));
    schedule_ = Scheduler(netlist, planes_).schedule();
    for (std::uint32_t& plane : planes_) plane = schedule_.slots[plane];
    store_numbers(answers);
    store_tests(circuit);
    plan_ = {schedule_.n_slots, slice(columns_), slice(schedule_.runs), slice(schedule_.steps),
             slice(numbers_)};
  }
  StoredPlan(const StoredPlan&) = delete;
  StoredPlan& operator=(const StoredPlan&) = delete;

  const Plan& plan() const { return plan_; }

 private:
  template <class Item>
  static Slice<Item> slice(const std::vector<Item>& items) {
    return {items.data(), items.size()};
  }

  void store_numbers(const std::vector<Answer>& answers) {
    const std::uint32_t* planes = planes_.data();
    for (const Answer& answer : answers) {
      numbers_.push_back({{planes, answer.bits.size()}, answer.offset});
      planes += answer.bits.size();
    }
  }

  void store_tests(const Circuit& circuit) {
    std::map<std::int32_t, std::vector<Test>> by_column;
    for (std::size_t i = 0; i < circuit.n_literals(); ++i)
      if (const std::uint32_t slot = schedule_.slots[Netlist::literal(i) / 2])
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
      case LiteralKind::missing:
        if (!is_category) return {Question::missing, slot, 0, 0, {}, {}};
        return among(slot, {-1});
      default:
        return among(slot, {circuit.category_code.begin() + circuit.category_start[i],
                            circuit.category_code.begin() + circuit.category_start[i + 1]});
    }
  }

  // Few ranges of codes are compared one by one; many are looked up, unless the codes are so large
  // that the table would not stay in the cache.
  Test among(std::uint32_t slot, std::vector<std::int32_t> codes) {
    constexpr std::size_t few = 12;
    constexpr std::int32_t large = 1 << 20;
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    ranges_.push_back(ranges_of(codes));
    if (ranges_.back().size() <= few || codes.back() >= large)
      return {Question::among_ranges, slot, 0, 0, slice(ranges_.back()), {}};
    std::vector<std::uint64_t> bits(std::size_t(codes.back()) / 64 + 1);
    for (std::int32_t code : codes) bits[std::size_t(code) / 64] |= std::uint64_t{1} << code % 64;
    code_bits_.push_back(std::move(bits));
    return {Question::among_codes, slot, 0, 0, {}, slice(code_bits_.back())};
  }

  // Vectors of vectors: the inner ones stay in place while the outer ones grow.
  std::vector<std::uint32_t> planes_;
  Schedule schedule_;
  std::vector<Number> numbers_;
  std::vector<UsedColumn> columns_;
  std::vector<std::vector<Test>> tests_;
  std::vector<std::vector<CodeRange>> ranges_;
  std::vector<std::vector<std::uint64_t>> code_bits_;
  Plan plan_{};
};

}  // namespace dln
