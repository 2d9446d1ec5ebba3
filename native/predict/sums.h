// Integers of 64 rows: a weight is added in the rows whose bit is set.
//
// Weights of many bits would take an adder for each of their bits if they were added bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernel.h"
#include "vectors.h"

namespace dln::DLN_LEVEL {
namespace {

class Sums {
 public:
  explicit Sums(std::uint32_t start) {
    for (Integers& part : parts_) part = Integers{} + start;
  }

  void add(std::uint64_t bits, std::uint32_t weight) {
    for (std::size_t i = 0; i < n_parts; ++i) add_to(parts_[i], bits >> i * lanes, weight);
  }

  void store(std::int32_t (&values)[rows_per_word]) const {
    static_assert(sizeof values == sizeof parts_);
    std::memcpy(values, parts_, sizeof parts_);
  }

 private:
  using Integers = Vector<std::uint32_t>;
  static constexpr std::size_t lanes = vector_bytes / sizeof(std::uint32_t);
  static constexpr std::size_t n_parts = rows_per_word / lanes;

  static void add_to(Integers& part, std::uint64_t bits, std::uint32_t weight) {
#if defined(__AVX512F__)
    const __m512i before = (__m512i)part, more = _mm512_set1_epi32(int(weight));
    part = (Integers)_mm512_mask_add_epi32(before, __mmask16(bits), before, more);
#else
    Integers lane;
    for (std::size_t i = 0; i < lanes; ++i) lane[i] = std::uint32_t{1} << i;
    const Integers here = (Integers{} + std::uint32_t(bits)) & lane;
    part += (Integers)(here == lane) & (Integers{} + weight);
#endif
  }

  Integers parts_[n_parts];
};

}  // namespace
}  // namespace dln::DLN_LEVEL
