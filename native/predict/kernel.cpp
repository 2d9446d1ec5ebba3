// Evaluate a planned circuit on rows, bit-sliced: a wire is one bit per row, 64 rows to a word.
//
// A block of rows goes through three stages: literals (values to bits), steps (bits to bits: gates,
// counters, comparisons) and answers (bits to labels, or to votes and packed wires). Nothing is
// checked or allocated.
#include "kernel.h"

#include <cstring>

#include "literals.h"
#include "strips.h"
#include "sums.h"
#include "vectors.h"

namespace dln::DLN_LEVEL {
namespace {

// Bits of a wire for one block: eight words, or one word if few rows are left.
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

  Evaluation(const Plan& plan, const TableView& table, const Answers& answers, std::byte* scratch)
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
    if (answers_.labelled) return write_labels(first_row, n_rows);
    if (answers_.scores) return write_scores(first_row, n_rows);
    write_votes(first_row, n_rows);
    write_wires(first_row, n_rows);
  }

 private:
  char* bits_of(std::uint32_t slot, std::size_t word) {
    return reinterpret_cast<char*>(slots_ + slot) + word * bytes_per_word;
  }

  char* strip_of(std::size_t used) { return strips_ + used * bytes_per_strip; }

  // Convert a strip of rows to bits, starting at word first_word of each slot.
  void read_literals(std::size_t row, std::size_t n_rows, std::size_t first_word) {
    const bool is_transposed = transpose_rows(row, n_rows);
    for (std::size_t used = 0; used < plan_.columns.size; ++used)
      answer_tests(used, row, n_rows, first_word, is_transposed);
  }

  void answer_tests(std::size_t used, std::size_t row, std::size_t n_rows, std::size_t first_word,
                    bool is_transposed) {
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
      const char* codes = contiguous_cells<Code, Code>(first, column.stride, n_rows, strip);
      return answer_all(codes, answer_code_test);
    }
    with_cell_type(column.type, [&](auto zero) {
      using From = decltype(zero);
      using Cell = CellFor<From>;
      const char* cells =
          is_transposed ? strip
                        : contiguous_cells<From, Cell>(first, column.stride, n_rows, strip);
      answer_all(cells, answer_number_test<Cell>);
    });
  }

  // Transpose a complete strip of rows into columns, if the table is row-major.
  bool transpose_rows(std::size_t row, std::size_t n_rows) {
    if (!table_.is_row_major || n_rows < rows_per_strip || plan_.columns.size == 0) return false;
    bool is_transposed = false;
    with_cell_type(table_.columns[0].type, [&](auto zero) {
      using From = decltype(zero);
      if constexpr (max_rows >= rows_per_strip && is_worth_transposing<From>)
        is_transposed = transpose_rows_of<From>(row);
    });
    return is_transposed;
  }

  template <class From>
  bool transpose_rows_of(std::size_t row) {
    using Cell = CellFor<From>;
    constexpr std::size_t per_chunk = cells_per_chunk<Cell>;
    if (table_.n_columns < per_chunk) return false;
    for (std::size_t used = 0; used < plan_.columns.size;) {
      // The last chunk overlaps the previous one instead of reading past the end of the row.
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
        transpose_chunks<From>(rows + std::ptrdiff_t(i) * stride, stride, strips, i * sizeof(Cell));
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

  // Eight bits of a number for eight rows: one byte per row, the first row in the lowest byte.
  std::uint64_t read_bytes(const Number& number, std::size_t first_plane, std::size_t row) {
    std::uint64_t bytes = 0;
    for (std::size_t p = 0; p < 8 && first_plane + p < number.slots.size; ++p) {
      std::uint64_t word;
      std::memcpy(&word, bits_of(number.slots[first_plane + p], row / rows_per_word), sizeof word);
      bytes |= spread(word >> row % rows_per_word & 0xff) << p;
    }
    return bytes;
  }

  // Call `use` with the value of a number for every row; its weights are 1, 2, 4 and so on.
  template <class Use>
  void for_each_value(const Number& number, std::size_t n_rows, Use use) {
    for (std::size_t row = 0; row < n_rows; row += 8) {
      std::uint64_t bytes = read_bytes(number, 0, row);
      if (number.slots.size <= 8 && n_rows - row >= 8) {  // the common case, kept in registers
        for (std::size_t i = 0; i < 8; ++i, bytes >>= 8) use(row + i, std::uint32_t(bytes & 0xff));
        continue;
      }
      std::uint32_t values[8] = {};
      for (std::size_t plane = 0; plane < number.slots.size; plane += 8) {
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
  // All labels fit in one register, and eight rows are looked up at once.
  void write_few_labels(std::uint64_t* labelled, std::size_t n_rows) {
    const auto first = [](std::size_t n) { return __mmask8(n < 8 ? (1u << n) - 1 : 0xff); };
    const __m512i labels = _mm512_maskz_loadu_epi64(first(answers_.n_labels), answers_.labels);
    const Slice<std::uint32_t>& slots = plan_.numbers[0].slots;
    for (std::size_t row = 0; row < n_rows; row += 8) {
      __m512i classes = _mm512_setzero_si512();
      for (std::size_t p = 0; p < slots.size; ++p) {
        __mmask8 bits;
        std::memcpy(&bits, bits_of(slots[p], 0) + row / 8, sizeof bits);
        classes = _mm512_mask_add_epi64(classes, bits, classes, _mm512_set1_epi64(1ll << p));
      }
      const __mmask8 rows = first(n_rows - row);
      _mm512_mask_storeu_epi64(labelled + row, rows,
                               _mm512_maskz_permutexvar_epi64(rows, classes, labels));
    }
  }
#endif

  // Call `use` with the first of some rows, their number, and the value of a number for each.
  template <class Use>
  void for_each_sum(const Number& number, std::size_t n_rows, Use use) {
    for (std::size_t first = 0; first < n_rows; first += rows_per_word) {
      Sums sums(number.offset);
      for (std::size_t i = 0; i < number.slots.size; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, bits_of(number.slots[i], first / rows_per_word), sizeof bits);
        sums.add(bits, number.weights[i]);
      }
      std::int32_t values[rows_per_word];
      sums.store(values);
      const std::size_t left = n_rows - first;
      use(first, left < rows_per_word ? left : rows_per_word, values);
    }
  }

  void write_scores(std::size_t first_row, std::size_t n_rows) {
    double* scores = answers_.scores + first_row;
    const double factor = answers_.factor, divisor = answers_.divisor;
    for_each_sum(plan_.numbers[0], n_rows,
                 [=](std::size_t first, std::size_t n, const std::int32_t* values) {
                   for (std::size_t i = 0; i < n; ++i)
                     scores[first + i] = double(values[i]) * factor / divisor;
                 });
  }

  void write_votes(std::size_t first_row, std::size_t n_rows) {
    const std::size_t n_classes = plan_.numbers.size;
    std::int32_t* votes = answers_.votes + first_row * n_classes;
    for (const Number& number : plan_.numbers) {
      for_each_sum(number, n_rows,
                   [=](std::size_t first, std::size_t n, const std::int32_t* values) {
                     for (std::size_t i = 0; i < n; ++i)
                       votes[(first + i) * n_classes] = values[i];
                   });
      ++votes;
    }
  }

  // A block starts at a whole word, so its words can be copied. Bits after the last row may be set.
  void write_wires(std::size_t first_row, std::size_t n_rows) {
    const std::size_t n_full = n_rows / rows_per_word, n_left = n_rows % rows_per_word;
    std::uint64_t* words = answers_.wires + first_row / rows_per_word;
    for (const std::uint32_t slot : answers_.slots) {
      std::memcpy(words, bits_of(slot, 0), n_full * bytes_per_word);
      if (n_left) {
        std::memcpy(words + n_full, bits_of(slot, n_full), bytes_per_word);
        words[n_full] &= (std::uint64_t{1} << n_left) - 1;
      }
      words += answers_.words_per_wire;
    }
  }

  const Plan& plan_;
  const TableView& table_;
  const Answers& answers_;
  Bits* slots_;
  char* strips_;
};

}  // namespace

void predict_rows(const Plan& plan, const TableView& table, const Answers& answers,
                  std::size_t first, std::size_t last, std::byte* scratch) {
  // The two block sizes use the scratch memory differently, so each block sets it up again.
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
