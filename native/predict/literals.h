// Values -> bits: evaluate a literal on contiguous values, 64 results per word.
//
// Promise: comparisons are exact and give the same bits at every level. strips.h finds the values
// in a table and makes them contiguous.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernel.h"
#include "vectors.h"

namespace dln::DLN_LEVEL {
namespace {

// Lanes<Cell>: one register of values, and the tests that literals make.
// pack_word: the results for 64 values, the first value in the lowest bit.
#if defined(__AVX512F__)

template <class Cell>
struct Lanes;

template <>
struct Lanes<float> {
  static __m512 load(const char* cells) { return _mm512_loadu_ps(cells); }
  static __m512 fill(float x) { return _mm512_set1_ps(x); }
  static __mmask16 above(__m512 x, __m512 t) { return _mm512_cmp_ps_mask(x, t, _CMP_GT_OQ); }
  static __mmask16 missing(__m512 x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
};

template <>
struct Lanes<double> {
  static __m512d load(const char* cells) { return _mm512_loadu_pd(cells); }
  static __m512d fill(double x) { return _mm512_set1_pd(x); }
  static __mmask8 above(__m512d x, __m512d t) { return _mm512_cmp_pd_mask(x, t, _CMP_GT_OQ); }
  static __mmask8 missing(__m512d x) { return _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q); }
};

template <>
struct Lanes<std::int32_t> {
  static __m512i load(const char* cells) { return _mm512_loadu_si512(cells); }
  static __m512i fill(std::int32_t x) { return _mm512_set1_epi32(x); }
  static __mmask16 none() { return 0; }
  static __mmask16 within(__m512i x, __m512i low, __m512i span) {
    return _mm512_cmple_epu32_mask(_mm512_sub_epi32(x, low), span);
  }
};

// Masks are stored one by one. Joining four of them in registers takes more instructions.
template <class Cell, class Ask>
void pack_word(const char* cells, char* bits, Ask ask) {
  for (std::size_t byte = 0; byte < rows_per_word * sizeof(Cell); byte += 64) {
    const auto mask = ask(Lanes<Cell>::load(cells + byte));
    std::memcpy(bits, &mask, sizeof mask);
    bits += sizeof mask;
  }
}

#else

template <class Cell>
struct Lanes {
  using Whole = std::conditional_t<sizeof(Cell) == 8, std::uint64_t, std::uint32_t>;
  using Cells = Vector<Cell>;
  using Mask = Vector<Whole>;  // all bits of a lane, or none
  static constexpr std::size_t n_lanes = vector_bytes / sizeof(Cell);

  static Cells load(const char* cells) {
    Cells x;
    std::memcpy(&x, cells, sizeof x);
    return x;
  }
  static Cells fill(Cell x) { return x - Cells{}; }  // a sum would turn -0.0 into 0.0
  static Mask none() { return Mask{}; }
  static Mask above(Cells x, Cells t) { return (Mask)(x > t); }
  static Mask missing(Cells x) { return (Mask)(x != x); }
  static Mask within(Cells x, Cells low, Cells span) {
    return (Mask)((Mask)x - (Mask)low <= (Mask)span);
  }
};

// Lane l of the v-th vector becomes bit v * n_lanes + l. Each lane collects one bit per vector
// until it is full, then the lanes are joined. This needs no instruction that gathers the signs of
// a vector: not every processor has one.
template <class Cell, class Ask>
void pack_word(const char* cells, char* bits, Ask ask) {
  using L = Lanes<Cell>;
  constexpr std::size_t rows_per_lane = 8 * sizeof(Cell);
  typename L::Mask first_worth;
  for (std::size_t lane = 0; lane < L::n_lanes; ++lane)
    first_worth[lane] = typename L::Whole{1} << lane;

  std::uint64_t word = 0;
  for (std::size_t row = 0; row < rows_per_word; row += rows_per_lane) {
    typename L::Mask collected = {}, worth = first_worth;
    for (std::size_t i = 0; i < rows_per_lane; i += L::n_lanes) {
      collected |= worth & ask(L::load(cells + (row + i) * sizeof(Cell)));
      worth <<= typename L::Whole(L::n_lanes);
    }
    typename L::Whole joined = 0;
    for (std::size_t lane = 0; lane < L::n_lanes; ++lane) joined |= collected[lane];
    word |= std::uint64_t{joined} << row;
  }
  std::memcpy(bits, &word, sizeof word);
}

#endif

template <class Cell, class Ask>
void pack(const char* cells, std::size_t n_words, char* bits, Ask ask) {
  for (std::size_t w = 0; w < n_words; ++w)
    pack_word<Cell>(cells + w * rows_per_word * sizeof(Cell), bits + w * bytes_per_word, ask);
}

float cutoff_for(const Test& test, float) { return test.cutoff_float32; }
double cutoff_for(const Test& test, double) { return test.cutoff; }

template <class Cell>
void answer_number_test(const Test& test, const char* cells, std::size_t n_words, char* bits) {
  using L = Lanes<Cell>;
  if (test.question == Question::missing)
    return pack<Cell>(cells, n_words, bits, [](auto x) { return L::missing(x); });
  const auto cutoff = L::fill(cutoff_for(test, Cell{}));
  pack<Cell>(cells, n_words, bits, [cutoff](auto x) { return L::above(x, cutoff); });
}

void look_up_codes(const Slice<std::uint64_t>& code_bits, const char* cells, std::size_t n_words,
                   char* bits) {
  for (std::size_t w = 0; w < n_words; ++w) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < rows_per_word; ++i, cells += sizeof(std::int32_t)) {
      std::uint32_t code;
      std::memcpy(&code, cells, sizeof code);  // negative codes become large and match nothing
      const bool is_among = code / 64 < code_bits.size && (code_bits[code / 64] >> code % 64 & 1);
      word |= std::uint64_t{is_among} << i;
    }
    std::memcpy(bits + w * bytes_per_word, &word, sizeof word);
  }
}

void answer_code_test(const Test& test, const char* cells, std::size_t n_words, char* bits) {
  using L = Lanes<std::int32_t>;
  if (test.question == Question::among_codes)
    return look_up_codes(test.code_bits, cells, n_words, bits);
  pack<std::int32_t>(cells, n_words, bits, [&test](auto code) {
    auto is_among = L::none();
    for (const CodeRange& range : test.ranges)
      is_among |= L::within(code, L::fill(range.low), L::fill(std::int32_t(range.span)));
    return is_among;
  });
}

}  // namespace
}  // namespace dln::DLN_LEVEL
