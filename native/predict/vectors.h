// Vectors as wide as the registers of an instruction-set level.
//
// This header, literals.h, strips.h and sums.h are parts of kernel.cpp, which is compiled once per
// level. Everything in them is in an unnamed namespace. Otherwise the linker could merge it with the
// code of another level and run instructions that the processor lacks.
#pragma once

#include <cstddef>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace dln::DLN_LEVEL {
namespace {

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

template <class Cell>
struct VectorOf {
  typedef Cell type __attribute__((vector_size(vector_bytes)));
};
template <class Cell>
using Vector = typename VectorOf<Cell>::type;

}  // namespace
}  // namespace dln::DLN_LEVEL
