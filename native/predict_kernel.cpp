// Evaluate a planned circuit on rows, bit-sliced: a wire is one bit per row, 64 rows to a word.
//
// A block of rows goes through three stages: literals (cells to bits), steps (bits to bits: gates,
// counters, comparisons) and answers (bits to labels or votes). Nothing is checked or allocated.
#include "predict_kernel.h"

#include <cstring>
#include <type_traits>
#include <utility>

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

// ---------------------------------------------------------------------------------------------
// Cells to bits

// Lanes<Cell>: as many cells as a register holds, and the questions that literals ask of them.
// pack_word: the answers for 64 cells, the first cell in the lowest bit.
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

// Masks go to memory one by one: joining four of them in registers takes more instructions.
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

// Lane l of the v-th vector is worth bit v * n_lanes + l. The bits of a lane are collected for as
// many rows as a lane has bits, then the lanes are joined: no instruction is needed that gathers
// the signs of a vector, which not every processor has.
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
      std::memcpy(&code, cells, sizeof code);  // negative codes become large and are not among them
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

// ---------------------------------------------------------------------------------------------
// Table to strips of cells

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

// Return n_rows cells as `To`, side by side and with a whole number of words readable after them:
// the table's own memory where it is like that, or else a copy in `strip`.
template <class From, class To>
const char* side_by_side(const char* cells, std::ptrdiff_t stride, std::size_t n_rows,
                         char* strip) {
  if (stride != sizeof(From)) {
    fetch<From, To>(cells, stride, n_rows, strip);
    return strip;
  }
  if (std::is_same_v<From, To> && n_rows % rows_per_word == 0) return cells;
  fetch<From, To>(cells, sizeof(From), n_rows, strip);
  return strip;
}

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

// Row-major tables are turned a chunk of 16 bytes of each row at a time, as many rows at once as
// fill vectors with their chunks: the shuffles then never cross a chunk, which keeps them cheap.
inline constexpr std::size_t chunk_bytes = 16;
template <class Cell>
inline constexpr std::size_t cells_per_chunk = chunk_bytes / sizeof(Cell);

typedef float Chunk __attribute__((vector_size(chunk_bytes)));
using Chunks = Vector<float>;

template <class From>
Chunk load_chunk(const char* row) {
  using Cell = CellFor<From>;
  typedef From Raw __attribute__((vector_size(cells_per_chunk<Cell> * sizeof(From))));
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

// Turn the chunks of vector_bytes / sizeof(cell) rows into as many cells of each of their columns.
template <class From>
[[gnu::always_inline]] inline void turn(const char* row, std::ptrdiff_t stride,
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

// ---------------------------------------------------------------------------------------------
// The three stages

// Bits of a wire for one block: eight words, or one where few rows are left.
typedef std::uint64_t EightWords __attribute__((vector_size(64)));

template <class Bits, class Combine>
const Step* run_same_steps(const Step* step, std::uint32_t n_steps, Bits* slots, Combine combine) {
  for (const Step* end = step + n_steps; step != end; ++step)
    slots[step->out] = combine(slots[step->a], slots[step->b], slots[step->c]);
  return step;
}

// Eight bits to eight bytes, the lowest bit to the lowest byte.
std::uint64_t spread(std::uint64_t bits) {
  constexpr std::uint64_t each_byte = 0x0101010101010101;
  const std::uint64_t own_bit = bits * each_byte & 0x8040201008040201;
  return (own_bit + 0x7f * each_byte) >> 7 & each_byte;
}

template <class Bits>
class Evaluation {
 public:
  static constexpr std::size_t max_rows = 8 * sizeof(Bits);

  Evaluation(const Plan& plan, const Table& table, const Answers& answers, std::byte* scratch)
      : plan_(plan), table_(table), answers_(answers), slots_(reinterpret_cast<Bits*>(scratch)),
        strips_(reinterpret_cast<char*>(scratch) + plan.n_slots * sizeof(Bits)) {
    slots_[0] = Bits{};
  }

  // Evaluate n_rows <= max_rows rows from first_row on.
  void run(std::size_t first_row, std::size_t n_rows) {
    for (std::size_t done = 0; done < n_rows; done += rows_per_strip) {
      const std::size_t left = n_rows - done;
      read_literals(first_row + done, left < rows_per_strip ? left : rows_per_strip,
                    done / rows_per_word);
    }
    run_steps();
    if (answers_.labelled)
      write_labels(first_row, n_rows);
    else
      write_votes(first_row, n_rows);
  }

 private:
  char* bits_of(std::uint32_t slot, std::size_t word) {
    return reinterpret_cast<char*>(slots_ + slot) + word * bytes_per_word;
  }

  char* strip_of(std::size_t used) { return strips_ + used * bytes_per_strip; }

  // Bring a strip of rows to bits, from word first_word of each slot on.
  void read_literals(std::size_t row, std::size_t n_rows, std::size_t first_word) {
    const bool is_turned = turn_rows(row, n_rows);
    for (std::size_t used = 0; used < plan_.columns.size; ++used)
      answer_tests(used, row, n_rows, first_word, is_turned);
  }

  void answer_tests(std::size_t used, std::size_t row, std::size_t n_rows, std::size_t first_word,
                    bool is_turned) {
    const Column& column = table_.columns[used];
    const char* first = column.cells + std::ptrdiff_t(row) * column.stride;
    char* strip = strip_of(used);
    const std::size_t n_words = (n_rows + rows_per_word - 1) / rows_per_word;
    const auto answer_all = [&](const char* cells, auto answer) {
      for (const Test& test : plan_.columns[used].tests)
        answer(test, cells, n_words, bits_of(test.slot, first_word));
    };
    if (plan_.columns[used].is_category) {
      using Code = std::int32_t;
      const char* codes = side_by_side<Code, Code>(first, column.stride, n_rows, strip);
      return answer_all(codes, answer_code_test);
    }
    with_cell_type(column.type, [&](auto zero) {
      using From = decltype(zero);
      using Cell = CellFor<From>;
      answer_all(is_turned ? strip : side_by_side<From, Cell>(first, column.stride, n_rows, strip),
                 answer_number_test<Cell>);
    });
  }

  // Turn a whole strip of row-major rows into columns, if that is what the rows are.
  bool turn_rows(std::size_t row, std::size_t n_rows) {
    if (!table_.is_row_major || n_rows < rows_per_strip || plan_.columns.size == 0) return false;
    bool is_turned = false;
    with_cell_type(table_.columns[0].type, [&](auto zero) {
      using From = decltype(zero);
      // Narrower cells would be converted one by one while turning: fetching them is as fast.
      if constexpr (max_rows >= rows_per_strip && sizeof(From) == sizeof(CellFor<From>))
        is_turned = turn_rows_of<From>(row);
    });
    return is_turned;
  }

  template <class From>
  bool turn_rows_of(std::size_t row) {
    using Cell = CellFor<From>;
    constexpr std::size_t per_chunk = cells_per_chunk<Cell>;
    if (table_.n_columns < per_chunk) return false;
    for (std::size_t used = 0; used < plan_.columns.size;) {
      // The last chunk overlaps the one before rather than reach over the end of the row.
      const std::size_t wanted = plan_.columns[used].column;
      const std::size_t last_start = table_.n_columns - per_chunk;
      const std::size_t start = wanted < last_start ? wanted : last_start;
      const std::ptrdiff_t stride = table_.columns[used].stride;
      const char* rows = table_.columns[used].cells + std::ptrdiff_t(row) * stride -
                         (wanted - start) * sizeof(From);

      char* strips[per_chunk];
      for (char*& strip : strips) strip = strip_of(plan_.columns.size);
      for (; used < plan_.columns.size && plan_.columns[used].column < start + per_chunk; ++used)
        strips[plan_.columns[used].column - start] = strip_of(used);
      for (std::size_t i = 0; i < rows_per_strip; i += vector_bytes / sizeof(Cell))
        turn<From>(rows + std::ptrdiff_t(i) * stride, stride, strips, i * sizeof(Cell));
    }
    return true;
  }

  void run_steps() {
    const Step* step = plan_.steps.begin();
    for (const StepRun& run : plan_.runs) {
      const auto each = [&](auto combine) {
        step = run_same_steps(step, run.n_steps, slots_, combine);
      };
      switch (run.operation) {
        case Operation::both: each([](Bits a, Bits b, Bits) { return a & b; }); break;
        case Operation::but_not: each([](Bits a, Bits b, Bits) { return a & ~b; }); break;
        case Operation::neither: each([](Bits a, Bits b, Bits) { return ~(a | b); }); break;
        case Operation::differ: each([](Bits a, Bits b, Bits) { return a ^ b; }); break;
        case Operation::parity: each([](Bits a, Bits b, Bits c) { return a ^ b ^ c; }); break;
        case Operation::majority:
          each([](Bits a, Bits b, Bits c) { return (a & b) | ((a | b) & c); });
          break;
        case Operation::majority_not:
          each([](Bits a, Bits b, Bits c) { return (a & b) | ((a | b) & ~c); });
          break;
      }
    }
  }

  // Eight planes of a number for eight rows: the byte of each row, the first row's the lowest.
  std::uint64_t read_bytes(const Number& number, std::size_t first_plane, std::size_t row) {
    std::uint64_t bytes = 0;
    for (std::size_t p = 0; p < 8 && first_plane + p < number.planes.size; ++p) {
      std::uint64_t word;
      std::memcpy(&word, bits_of(number.planes[first_plane + p], row / rows_per_word), sizeof word);
      bytes |= spread(word >> row % rows_per_word & 0xff) << p;
    }
    return bytes;
  }

  // Pass on the value of a number for every row, without its offset.
  template <class Use>
  void for_each_value(const Number& number, std::size_t n_rows, Use use) {
    for (std::size_t row = 0; row < n_rows; row += 8) {
      std::uint64_t bytes = read_bytes(number, 0, row);
      if (number.planes.size <= 8 && n_rows - row >= 8) {  // the common case, kept in registers
        for (std::size_t i = 0; i < 8; ++i, bytes >>= 8) use(row + i, std::uint32_t(bytes & 0xff));
        continue;
      }
      std::uint32_t values[8] = {};
      for (std::size_t plane = 0; plane < number.planes.size; plane += 8) {
        bytes = read_bytes(number, plane, row);
        for (std::size_t i = 0; i < 8; ++i)
          values[i] |= std::uint32_t(bytes >> 8 * i & 0xff) << plane;
      }
      for (std::size_t i = 0; i < 8 && row + i < n_rows; ++i) use(row + i, values[i]);
    }
  }

  void write_labels(std::size_t first_row, std::size_t n_rows) {
    const std::uint64_t* labels = answers_.labels;
    std::uint64_t* labelled = answers_.labelled + first_row;
#if defined(__AVX512F__)
    if (answers_.n_labels <= 8) return write_few_labels(labelled, n_rows);
#endif
    for_each_value(plan_.numbers[0], n_rows,
                   [=](std::size_t row, std::uint32_t value) { labelled[row] = labels[value]; });
  }

#if defined(__AVX512F__)
  // All labels fit in a register, from which eight rows choose at once.
  void write_few_labels(std::uint64_t* labelled, std::size_t n_rows) {
    const auto first = [](std::size_t n) { return __mmask8(n < 8 ? (1u << n) - 1 : 0xff); };
    const __m512i labels = _mm512_maskz_loadu_epi64(first(answers_.n_labels), answers_.labels);
    const Slice<std::uint32_t>& planes = plan_.numbers[0].planes;
    for (std::size_t row = 0; row < n_rows; row += 8) {
      __m512i classes = _mm512_setzero_si512();
      for (std::size_t p = 0; p < planes.size; ++p) {
        __mmask8 bits;
        std::memcpy(&bits, bits_of(planes[p], 0) + row / 8, sizeof bits);
        classes = _mm512_mask_add_epi64(classes, bits, classes, _mm512_set1_epi64(1ll << p));
      }
      const __mmask8 rows = first(n_rows - row);
      _mm512_mask_storeu_epi64(labelled + row, rows,
                               _mm512_maskz_permutexvar_epi64(rows, classes, labels));
    }
  }
#endif

  void write_votes(std::size_t first_row, std::size_t n_rows) {
    const std::size_t n_classes = plan_.numbers.size;
    std::int32_t* votes = answers_.votes + first_row * n_classes;
    for (const Number& number : plan_.numbers) {
      const auto offset = std::uint32_t(number.offset);
      for_each_value(number, n_rows, [=](std::size_t row, std::uint32_t value) {
        votes[row * n_classes] = std::int32_t(value + offset);
      });
      ++votes;
    }
  }

  const Plan& plan_;
  const Table& table_;
  const Answers& answers_;
  Bits* slots_;
  char* strips_;
};

}  // namespace

void predict_rows(const Plan& plan, const Table& table, const Answers& answers, std::size_t first,
                  std::size_t last, std::byte* scratch) {
  // The two sizes of block lay the scratch memory out differently: each block starts afresh.
  for (std::size_t row = first; row < last; row += rows_per_block) {
    const std::size_t left = last - row;
    if (left <= rows_per_word)
      Evaluation<std::uint64_t>(plan, table, answers, scratch).run(row, left);
    else
      Evaluation<EightWords>(plan, table, answers, scratch)
          .run(row, left < rows_per_block ? left : rows_per_block);
  }
}

}  // namespace dln::DLN_LEVEL
