// Gates -> word operations of the kernels, simplified while they are built.
//
// Promise: a signal computes the function that its builder is named after. schedule.h drops nodes
// that nothing needs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernel.h"

namespace dln {

// Twice the number of a wire, plus one if it is inverted. Wire 0 is always false.
using Signal = std::uint32_t;
inline constexpr Signal never = 0, always = 1;

// Word operations in the order of their creation. Each builder returns the simplest signal that it
// can find: constants are folded, inversions move into the operations, equal nodes are built once.
class Netlist {
 public:
  struct Node {
    Operation operation;
    std::array<std::uint32_t, 3> wires;
  };

  // Limits the memory and time of planning (to about 100 MB and a second). Otherwise a small file
  // could require gigabytes, because every bit of every vote takes an adder. Python evaluates
  // larger circuits without a plan.
  static constexpr std::size_t max_nodes = std::size_t{1} << 20;

  explicit Netlist(std::size_t n_literals) : n_inputs_(std::uint32_t(n_literals + 1)) {}

  static std::uint32_t literal_wire(std::size_t i) { return std::uint32_t(i + 1); }
  static Signal literal(std::size_t i) { return 2 * literal_wire(i); }
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
    if (is_same_wire(a, b)) return inverted;
    if (is_constant(a)) return (b & ~1u) ^ inverted;
    return add(Operation::differ, a, b) ^ inverted;
  }

  Signal parity(Signal a, Signal b, Signal c) {
    sort(a, b, c);
    if (is_constant(a) || is_same_wire(a, b)) return differ(differ(a, b), c);
    if (is_same_wire(b, c)) return differ(a, differ(b, c));
    return add(Operation::parity, a, b, c) ^ ((a ^ b ^ c) & 1);
  }

  Signal majority(Signal a, Signal b, Signal c) {
    sort(a, b, c);
    if (is_constant(a)) return a == never ? both(b, c) : either(b, c);
    if (is_same_wire(a, b)) return a == b ? a : c;
    if (is_same_wire(b, c)) return b == c ? b : a;
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
    if (is_constant(no)) return no == never ? both(condition, yes) : either(condition ^ 1, yes);
    if (is_constant(yes)) return yes == never ? both(condition ^ 1, no) : either(condition, no);
    return differ(no, both(condition, differ(yes, no)));
  }

  // The gate with the truth table t00 t01 t10 t11, where t00 is the highest bit: `a` selects one of
  // two functions of `b`. Each of the 16 tables takes at most one operation.
  Signal gate(unsigned table, Signal a, Signal b) {
    const auto of_b = [b](unsigned half) -> Signal {  // half: values for b = 0 (high), b = 1 (low)
      const Signal at_0 = half >> 1, at_1 = half & 1;
      return at_0 == at_1 ? at_0 : b ^ at_0;
    };
    return select(a, of_b(table & 3), of_b(table >> 2));
  }

  // A wire that carries the signal without inversion.
  std::uint32_t wire_of(Signal signal) {
    return (is_inverted(signal) ? add(Operation::neither, signal, signal) : signal) / 2;
  }

 private:
  static bool is_inverted(Signal a) { return a & 1; }
  static bool is_same_wire(Signal a, Signal b) { return a / 2 == b / 2; }
  static bool is_constant(Signal a) { return is_same_wire(a, never); }

  static void sort(Signal& a, Signal& b, Signal& c) {
    if (a > b) std::swap(a, b);
    if (b > c) std::swap(b, c);
    if (a > b) std::swap(a, b);
  }

  Signal add(Operation operation, Signal a, Signal b, Signal c = never) {
    const Node node{operation, {a / 2, b / 2, c / 2}};
    std::uint32_t& place = find(node);
    if (place) return 2 * (n_inputs_ + place - 1);
    if (nodes_.size() == max_nodes)
      throw std::overflow_error("the circuit is too large to plan: it takes over 2^20 operations");
    nodes_.push_back(node);
    place = std::uint32_t(nodes_.size());
    if (2 * nodes_.size() > places_.size()) grow();
    return 2 * (n_inputs_ + std::uint32_t(nodes_.size()) - 1);
  }

  // The place of the node in the hash table; it holds 0 if there is no such node yet.
  std::uint32_t& find(const Node& node) {
    std::uint64_t hash = std::uint64_t(node.operation);
    for (std::uint32_t wire : node.wires) {
      hash = (hash ^ wire) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    const std::size_t mask = places_.size() - 1;
    std::size_t at = hash & mask;
    while (places_[at] && !is_equal(nodes_[places_[at] - 1], node)) at = (at + 1) & mask;
    return places_[at];
  }

  static bool is_equal(const Node& a, const Node& b) {
    return a.operation == b.operation && a.wires == b.wires;
  }

  void grow() {
    places_.assign(2 * places_.size(), 0);
    for (std::size_t n = 0; n < nodes_.size(); ++n) find(nodes_[n]) = std::uint32_t(n + 1);
  }

  std::uint32_t n_inputs_;
  std::vector<Node> nodes_;
  // A hash table with open addressing, at most half full: the number of a node plus one, or 0.
  std::vector<std::uint32_t> places_ = std::vector<std::uint32_t>(1024);
};

}  // namespace dln
