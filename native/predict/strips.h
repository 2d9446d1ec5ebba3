// Table -> strips: contiguous values of one column, of a type that literals compare.
//
// Promise: values do not change, except that 64-bit integers round to the nearest float64.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "kernel.h"
#include "vectors.h"

namespace dln::DLN_LEVEL {
namespace {

// Numbers are compared as float32 where that is exact, and as float64 otherwise.
template <class From>
using CellFor = std::conditional_t<std::is_same_v<From, float> || sizeof(From) <= 2, float, double>;

template <class From, class To>
void fetch(const char* cells, std::ptrdiff_t stride, std::size_t n_rows, char* strip) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    From cell;
    std::memcpy(&cell, cells + std::ptrdiff_t(i) * stride, sizeof cell);
    const To converted = static_cast<To>(cell);
    std::memcpy(strip + i * sizeof converted, &converted, sizeof converted);
  }
}

// Return n_rows contiguous values of type `To`, readable up to a multiple of 64: the table's own
// memory if it already has this form, otherwise a copy in `strip`.
template <class From, class To>
const char* contiguous_cells(const char* cells, std::ptrdiff_t stride, std::size_t n_rows,
                             char* strip) {
  if (stride != sizeof(From)) {
    fetch<From, To>(cells, stride, n_rows, strip);
    return strip;
  }
  if (std::is_same_v<From, To> && n_rows % rows_per_word == 0) return cells;
  fetch<From, To>(cells, sizeof(From), n_rows, strip);  // the compiler knows this stride
  return strip;
}

// Call `use` with a value of the type, so that it can deduce the type.
template <class Use>
void with_cell_type(CellType type, Use use) {
  switch (type) {
    case CellType::float32: return use(float{});
    case CellType::float64: return use(double{});
    case CellType::int8: return use(std::int8_t{});
    case CellType::int16: return use(std::int16_t{});
    case CellType::int32: return use(std::int32_t{});
    case CellType::int64: return use(std::int64_t{});
    case CellType::uint8: return use(std::uint8_t{});
    case CellType::uint16: return use(std::uint16_t{});
    case CellType::uint32: return use(std::uint32_t{});
    case CellType::uint64: return use(std::uint64_t{});
  }
}

// Row-major tables are transposed in chunks of 16 bytes per row, for as many rows at once as a
// vector has chunks. The shuffles then never cross a chunk, which makes them cheap.
inline constexpr std::size_t chunk_bytes = 16;
template <class Cell>
inline constexpr std::size_t cells_per_chunk = chunk_bytes / sizeof(Cell);

// Narrower values would be converted one by one while transposing, which is not faster than
// fetching.
template <class From>
inline constexpr bool is_worth_transposing = sizeof(From) == sizeof(CellFor<From>);

typedef float Chunk __attribute__((vector_size(chunk_bytes)));
using Chunks = Vector<float>;

template <class From>
Chunk load_chunk(const char* row) {
  using Cell = CellFor<From>;
  static_assert(is_worth_transposing<From>);
  typedef From Raw __attribute__((vector_size(chunk_bytes)));
  typedef Cell Converted __attribute__((vector_size(chunk_bytes)));
  Raw raw;
  std::memcpy(&raw, row, sizeof raw);
  return (Chunk)__builtin_convertvector(raw, Converted);
}

template <class From>
Chunks load_chunks(const char* row, [[maybe_unused]] std::ptrdiff_t stride) {
  const auto chunk = [=](int i) { return load_chunk<From>(row + i * stride); };
#if defined(__AVX512F__)
  const __m512 half = _mm512_insertf32x4(_mm512_castps128_ps512(chunk(0)), chunk(1), 1);
  return _mm512_insertf32x4(_mm512_insertf32x4(half, chunk(2), 2), chunk(3), 3);
#elif defined(__AVX2__)
  return _mm256_insertf128_ps(_mm256_castps128_ps256(chunk(0)), chunk(1), 1);
#else
  return chunk(0);
#endif
}

// Interleave the units in the first halves of each chunk (half 0) or in the second halves (half 1).
template <class Unit, std::size_t half, std::size_t... i>
Chunks interleave(Chunks a, Chunks b, std::index_sequence<i...>) {
  constexpr std::size_t per_chunk = chunk_bytes / sizeof(Unit), from_b = sizeof...(i);
  constexpr auto source = [](std::size_t at) {
    const std::size_t chunk = at / per_chunk * per_chunk, unit = at % per_chunk / 2;
    return int(chunk + half * per_chunk / 2 + unit + at % 2 * from_b);
  };
  return (Chunks)__builtin_shufflevector((Vector<Unit>)a, (Vector<Unit>)b, source(i)...);
}

template <class Unit, std::size_t half>
Chunks interleave(Chunks a, Chunks b) {
  return interleave<Unit, half>(a, b, std::make_index_sequence<vector_bytes / sizeof(Unit)>{});
}

void store(Chunks cells, char* strip) { std::memcpy(strip, &cells, sizeof cells); }

// Transpose the chunks of vector_bytes / sizeof(cell) rows into as many values of each column.
template <class From>
[[gnu::always_inline]] inline void transpose_chunks(const char* row, std::ptrdiff_t stride,
                                                    char* const* strips, std::size_t at) {
  constexpr int n = cells_per_chunk<CellFor<From>>;
  const auto load = [=](int i) { return load_chunks<From>(row + i * stride, n * stride); };
  const Chunks a = load(0), b = load(1);
  if constexpr (n == 2) {
    store(interleave<double, 0>(a, b), strips[0] + at);
    store(interleave<double, 1>(a, b), strips[1] + at);
  } else {
    const Chunks c = load(2), d = load(3);
    const Chunks ab_01 = interleave<float, 0>(a, b), ab_23 = interleave<float, 1>(a, b);
    const Chunks cd_01 = interleave<float, 0>(c, d), cd_23 = interleave<float, 1>(c, d);
    store(interleave<double, 0>(ab_01, cd_01), strips[0] + at);
    store(interleave<double, 1>(ab_01, cd_01), strips[1] + at);
    store(interleave<double, 0>(ab_23, cd_23), strips[2] + at);
    store(interleave<double, 1>(ab_23, cd_23), strips[3] + at);
  }
}

}  // namespace
}  // namespace dln::DLN_LEVEL
