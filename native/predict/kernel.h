// What the kernels read and write: a planned circuit, a table of cells, and where answers go.
//
// Everything here is plain data behind pointers. The kernel is compiled once per instruction set,
// and any library template it instantiated could be linked into code that runs on older processors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dln {

inline constexpr std::size_t rows_per_word = 64;
inline constexpr std::size_t bytes_per_word = 8;
inline constexpr std::size_t words_per_block = 8;
inline constexpr std::size_t rows_per_block = words_per_block * rows_per_word;

template <class Item>
struct Slice {
  const Item* items = nullptr;
  std::size_t size = 0;

  [[gnu::always_inline]] const Item* begin() const { return items; }
  [[gnu::always_inline]] const Item* end() const { return items + size; }
  [[gnu::always_inline]] const Item& operator[](std::size_t i) const { return items[i]; }
};

// Gates and adders alike become these few operations. Inverted wires are folded into them, so that
// a wire is never inverted by a step of its own.
enum class Operation : std::uint8_t {
  both,          // a & b
  but_not,       // a & ~b
  neither,       // ~(a | b)
  differ,        // a ^ b
  parity,        // a ^ b ^ c
  majority,      // at least two of a, b, c
  majority_not,  // at least two of a, b, ~c
};
inline constexpr std::size_t n_operations = 7;

// A slot holds one wire for one block of rows, a bit per row. Slot 0 is always all zeros.
struct Step {
  std::uint32_t out, a, b, c;
};

// Steps of the same operation stand in a row, so that the interpreter branches once per run.
struct StepRun {
  Operation operation;
  std::uint32_t n_steps;
};

// The category codes low, low + 1, ..., low + span.
struct CodeRange {
  std::int32_t low;
  std::uint32_t span;
};

enum class Question : std::uint8_t { above, missing, among_ranges, among_codes };

// A literal: the question asked of every cell of one column, and the slot for the answers.
struct Test {
  Question question;
  std::uint32_t slot;
  double cutoff;
  float cutoff_float32;            // the largest float32 that is not above `cutoff`
  Slice<CodeRange> ranges;         // among_ranges
  Slice<std::uint64_t> code_bits;  // among_codes: bit i tells whether code i is among them
};

struct UsedColumn {
  std::uint32_t column;
  bool is_category;
  Slice<Test> tests;
};

// A number per row, as bit planes: plane p is the slot with the bits worth 2^p.
struct Number {
  Slice<std::uint32_t> planes;
  std::int32_t offset;  // added to what the planes say
};

struct Plan {
  std::uint32_t n_slots;
  Slice<UsedColumn> columns;  // in rising order
  Slice<StepRun> runs;
  Slice<Step> steps;
  Slice<Number> numbers;
};

enum class CellType : std::uint8_t {
  float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
};

struct Column {
  const char* cells;  // possibly unaligned
  std::ptrdiff_t stride;
  CellType type;
};

struct TableView {
  const Column* columns;  // one per used column of the plan
  std::size_t n_columns;  // used or not
  bool is_row_major;      // the n_columns cells of a row lie side by side, all of one type
};

// Where answers go: labels[number 0] to `labelled`, or else every number to a row of `votes`.
struct Answers {
  const std::uint64_t* labels;
  std::size_t n_labels;
  std::uint64_t* labelled;
  std::int32_t* votes;
};

// Cells are read a strip of rows at a time: few enough to stay in the first-level cache.
inline constexpr std::size_t rows_per_strip = 256;
// One line more than the cells need: columns a power of two apart would share few cache sets.
inline constexpr std::size_t bytes_per_strip = rows_per_strip * sizeof(double) + 64;

inline std::size_t scratch_bytes(const Plan& plan) {
  const std::size_t n_strips = plan.columns.size + 1;  // one for columns read along but not used
  return plan.n_slots * rows_per_block / 8 + n_strips * bytes_per_strip;
}

// Evaluate rows first <= row < last. `scratch` has scratch_bytes(plan), zeroed when it was made and
// aligned to 64 bytes; no two threads share it.
using PredictRows = void(const Plan& plan, const TableView& table, const Answers& answers,
                         std::size_t first, std::size_t last, std::byte* scratch);
using Kernel = PredictRows*;

namespace generic {
PredictRows predict_rows;
}
#if defined(__x86_64__)
namespace avx2 {
PredictRows predict_rows;
}
namespace avx512 {
PredictRows predict_rows;
}
#endif

}  // namespace dln
