// Numbers whose bits are signals: sums, comparisons and selections as nodes of a netlist.
//
// Promise: results are exact. A sum has as many bits as its largest value needs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "netlist.h"

namespace dln {

// An unsigned number per row, lowest bit first.
using Bits = std::vector<Signal>;

// Adds weighted signals. Negative weights use an offset: -w * x = w * ~x - w.
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

  // Signals to add, of all weights; each takes an adder.
  std::size_t n_signals() const {
    std::size_t n = 0;
    for (const std::vector<Signal>& signals : columns_) n += signals.size();
    return n;
  }

  // The bits of the largest sum, without the offset.
  std::size_t n_bits() const { return std::size_t(std::bit_width(most_)); }

  // Full adders: replace three signals of one weight by one of the same weight and one of twice the
  // weight, until one signal of each weight is left.
  Bits total(Netlist& netlist) {
    Bits sum;
    for (std::size_t bit = 0; bit < n_bits(); ++bit) {  // higher carries are zero
      // A queue gives a tree of adders instead of a chain, so steps wait less for each other.
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

// A number is zero beyond its highest bit.
inline Signal bit_of(const Bits& number, std::size_t bit) {
  return bit < number.size() ? number[bit] : never;
}

// From the lowest bit up: a higher bit that differs decides.
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

}  // namespace dln
