// The inputs and outputs of the kernels: a planned circuit, a table of values and the answers.
//
// Everything here is plain data behind pointers. The kernel is compiled once per instruction set.
// If it used a library template, the linker could keep the copy with new instructions for all
// levels, and older processors would crash.
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

// Gates and adders are both built from these operations. Inversions are folded into them, so that
// no step is needed just to invert a wire.
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

// Steps of the same operation are grouped into runs, so that the kernel branches once per run.
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

// A literal: the test of every value of one column, and the slot for the resulting bits.
struct Test {
  Question question;
  std::uint32_t slot;
  double cutoff;
  float cutoff_float32;            // the largest float32 that is not above `cutoff`
  Slice<CodeRange> ranges;         // among_ranges
  Slice<std::uint64_t> code_bits;  // among_codes: bit i is set if code i is in the set
};

struct UsedColumn {
  std::uint32_t column;
  bool is_category;
  Slice<Test> tests;
};

// A number per row: the offset plus the weights of the slots whose bit is set, modulo 2^32.
struct Number {
  Slice<std::uint32_t> slots;
  Slice<std::uint32_t> weights;
  std::uint32_t offset;
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
  bool is_row_major;      // the values of a row are contiguous and have one type
};

// Where the answers are written: labels[number 0] to `labelled`, or number 0 * factor / divisor to
// `scores`, or else all numbers of a row to `votes` and the bits of some slots to `wires`. In labels
// the weights of number 0 are 1, 2, 4 and so on.
struct Answers {
  const std::uint64_t* labels = nullptr;
  std::size_t n_labels = 0;
  std::uint64_t* labelled = nullptr;
  double* scores = nullptr;
  double factor = 1, divisor = 1;
  std::int32_t* votes = nullptr;
  Slice<std::uint32_t> slots = {};
  std::uint64_t* wires = nullptr;  // words_per_wire for each slot; bits after the last row are 0
  std::size_t words_per_wire = 0;
};

// Values are read in strips of rows that are small enough for the first-level cache.
inline constexpr std::size_t rows_per_strip = 256;
// One cache line more than the values need. Otherwise strips would be a power of two apart and
// compete for few cache sets.
inline constexpr std::size_t bytes_per_strip = rows_per_strip * sizeof(double) + 64;

inline std::size_t scratch_bytes(const Plan& plan) {
  const std::size_t n_strips = plan.columns.size + 1;  // the last is for unused columns in a chunk
  return plan.n_slots * rows_per_block / 8 + n_strips * bytes_per_strip;
}

// Evaluate rows first <= row < last. `scratch` has scratch_bytes(plan), zeroed when it was
// allocated and aligned to 64 bytes. Threads do not share it.
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
