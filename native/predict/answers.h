// Circuit -> answers: a netlist that counts the votes of each class, finds the winning class, or
// keeps all wires.
//
// Promise: if several classes have the most votes, the first of them wins.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "circuit.h"
#include "netlist.h"
#include "numbers.h"

namespace dln {

// A number that the plan computes for each row: the weights of the bits that are set, plus an
// offset.
struct Answer {
  Bits bits;
  std::vector<std::int64_t> weights;
  std::int64_t offset = 0;
};

// A number in binary.
inline Answer binary(const Bits& bits, std::int64_t offset) {
  std::vector<std::int64_t> weights;
  for (std::size_t bit = 0; bit < bits.size(); ++bit) weights.push_back(std::int64_t{1} << bit);
  return {bits, weights, offset};
}

// What a plan computes for each row: numbers, and wires that are kept as they are.
struct Outputs {
  std::vector<Answer> numbers;
  std::vector<Signal> wires;
};

inline std::vector<Signal> build_wires(const Circuit& circuit, Netlist& netlist) {
  std::vector<Signal> wires;
  for (std::size_t i = 0; i < circuit.n_literals(); ++i) wires.push_back(Netlist::literal(i));
  for (std::size_t g = 0; g < circuit.gate_code.size(); ++g)
    wires.push_back(netlist.gate(circuit.gate_code[g], wires[std::size_t(circuit.gate_a[g])],
                                 wires[std::size_t(circuit.gate_b[g])]));
  return wires;
}

inline std::vector<Signal> rules_of(const Circuit& circuit, const std::vector<Signal>& wires) {
  std::vector<Signal> rules;
  for (std::int32_t wire : circuit.rule_wire) rules.push_back(wires[std::size_t(wire)]);
  return rules;
}

// How much longer the kernel takes to add a weight row by row than to run a step, about.
inline constexpr std::size_t steps_per_weight = 20;

// The votes of one class, or the points. Weights with many bits are added row by row. Many small
// weights are added bit by bit, and only the bits of their sum row by row.
inline Answer add_up(const Circuit& circuit, std::size_t label, const std::vector<Signal>& rules,
                     Netlist& netlist) {
  std::map<Signal, std::int64_t> weights;  // of signals without inversion: w * ~x = w - w * x
  std::int64_t offset = circuit.base_votes[label];
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const std::int64_t weight = circuit.vote(r, label);
    const bool is_inverted = rules[r] & 1;
    weights[rules[r] & ~Signal{1}] += is_inverted ? -weight : weight;
    if (is_inverted) offset += weight;
  }
  weights.erase(never);
  std::erase_if(weights, [](const auto& item) { return item.second == 0; });

  Counter counter;
  Answer direct{{}, {}, offset};
  for (const auto& [signal, weight] : weights) {
    counter.add(signal, weight);
    direct.bits.push_back(signal);
    direct.weights.push_back(weight);
  }
  const std::size_t row_by_row = steps_per_weight * weights.size();
  const std::size_t bit_by_bit = 2 * counter.n_signals() + steps_per_weight * counter.n_bits();
  if (row_by_row <= bit_by_bit) return direct;
  return binary(counter.total(netlist), offset + counter.offset);
}

inline std::vector<Answer> add_up_votes(const Circuit& circuit, const std::vector<Signal>& rules,
                                        Netlist& netlist) {
  std::vector<Answer> votes;
  for (std::size_t label = 0; label < circuit.n_classes(); ++label)
    votes.push_back(add_up(circuit, label, rules, netlist));
  return votes;
}

inline Outputs count_votes(const Circuit& circuit, Netlist& netlist) {
  const std::vector<Signal> rules = rules_of(circuit, build_wires(circuit, netlist));
  return {add_up_votes(circuit, rules, netlist), {}};
}

// All wires of the circuit, in its order, and the votes.
inline Outputs keep_wires(const Circuit& circuit, Netlist& netlist) {
  const std::vector<Signal> wires = build_wires(circuit, netlist);
  return {add_up_votes(circuit, rules_of(circuit, wires), netlist), wires};
}

// The number of votes that most classes get from a rule. If several numbers are equally common, the
// first one in the order of the classes.
inline std::int64_t commonest_vote(const Circuit& circuit, std::size_t rule) {
  std::map<std::int64_t, std::size_t> count;
  for (std::size_t label = 0; label < circuit.n_classes(); ++label)
    ++count[circuit.vote(rule, label)];
  std::int64_t commonest = circuit.vote(rule, 0);
  for (std::size_t label = 1; label < circuit.n_classes(); ++label)
    if (count[circuit.vote(rule, label)] > count[commonest]) commonest = circuit.vote(rule, label);
  return commonest;
}

// Votes that a rule gives to all classes cannot change the winner, so the most common number is
// subtracted. With two classes that is the number of the first class: only the second class is
// counted, and its count is compared with a constant.
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

// The index of the class with the most votes; the first one if classes are tied.
inline Outputs find_winner(const Circuit& circuit, Netlist& netlist) {
  const std::vector<Signal> rules = rules_of(circuit, build_wires(circuit, netlist));
  std::vector<Counter> counters = count_contest(circuit, rules);
  Bits winner, most = counters[0].total(netlist);
  for (std::size_t label = 1; label < counters.size(); ++label) {
    const Bits votes = counters[label].total(netlist);
    const Signal wins = is_greater(votes, most, netlist);
    winner = select(wins, constant(label), winner, netlist);
    most = select(wins, votes, most, netlist);
  }
  return {{binary(winner, 0)}, {}};
}

}  // namespace dln
