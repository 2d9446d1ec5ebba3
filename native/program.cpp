// The Python face of prediction: check a circuit, plan it, and run the plan over tables.
//
// Promise: no argument crashes the interpreter. Arrays come in through the buffer protocol, which
// costs a fraction of a microsecond, takes read-only arrays and tells all strides.
#include "program.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <concepts>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "levels.h"

namespace nb = nanobind;

namespace dln {
namespace {

using std::size_t;

std::string text(const char* part) { return part ? part : ""; }
std::string text(std::integral auto part) { return std::to_string(part); }

// The complaint is put together only where it is needed: most calls have nothing to complain about.
template <class... Parts>
void require(bool holds, const Parts&... complaint) {
  if (!holds) [[unlikely]] throw std::invalid_argument((text(complaint) + ...));
}

template <class... Parts>
void require_type(bool holds, const Parts&... complaint) {
  if (!holds) [[unlikely]] throw nb::type_error((text(complaint) + ...).c_str());
}

// ---------------------------------------------------------------------------------------------
// Arrays

std::optional<CellType> find_cell_type(const Py_buffer& view) {
  constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';
  const char* format = view.format ? view.format : "B";
  if (*format == '@' || *format == '=' || *format == native_order) ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;

  // The size decides within a family: the letters for integers differ between platforms.
  const auto of_size = [&](std::initializer_list<std::pair<int, CellType>> family) {
    for (const auto& [size, type] : family)
      if (size == view.itemsize) return std::optional(type);
    return std::optional<CellType>();
  };
  using enum CellType;
  if (std::strchr("fd", *format)) return of_size({{4, float32}, {8, float64}});
  if (std::strchr("bhilqn", *format))
    return of_size({{1, int8}, {2, int16}, {4, int32}, {8, int64}});
  if (std::strchr("?BHILQN", *format))
    return of_size({{1, uint8}, {2, uint16}, {4, uint32}, {8, uint64}});
  return std::nullopt;
}

// What an array is called in messages.
struct Name {
  const char* what;
  std::int64_t index = -1;
};

std::string text(const Name& name) {
  return name.index < 0 ? name.what : name.what + (" " + std::to_string(name.index));
}

// An array's memory, held for as long as this object lives.
class Array {
 public:
  Array(nb::handle object, Name name, int n_dims, int flags = PyBUF_RECORDS_RO) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) {
      PyErr_Clear();
      const char* kind = flags & PyBUF_WRITABLE ? "a writable array" : "an array";
      require_type(false, name, " must be ", kind, " of numbers");
    }
    try {
      const std::optional<CellType> type = find_cell_type(view_);
      require_type(type.has_value(), name, " has elements of type '", view_.format,
                   "'; expected booleans, integers, float32 or float64 in native byte order");
      require(view_.ndim == n_dims, name, " has ", view_.ndim, " dimensions; expected ", n_dims);
      type_ = *type;
    } catch (...) {
      PyBuffer_Release(&view_);
      throw;
    }
  }
  ~Array() { PyBuffer_Release(&view_); }
  Array(const Array&) = delete;  // a view may point into itself
  Array& operator=(const Array&) = delete;

  CellType type() const { return type_; }
  char* data() const { return static_cast<char*>(view_.buf); }
  const char* cell(size_t i, size_t j = 0) const {
    return data() + std::ptrdiff_t(i) * stride(0) + (j ? std::ptrdiff_t(j) * stride(1) : 0);
  }
  size_t size(int dim) const { return size_t(view_.shape[dim]); }
  std::ptrdiff_t stride(int dim) const { return view_.strides[dim]; }
  std::ptrdiff_t item_size() const { return view_.itemsize; }
  bool is_contiguous() const { return PyBuffer_IsContiguous(&view_, 'C'); }

 private:
  Py_buffer view_;
  CellType type_{};
};

template <class Item> constexpr CellType type_of = CellType::float64;
template <> constexpr CellType type_of<std::uint8_t> = CellType::uint8;
template <> constexpr CellType type_of<std::int32_t> = CellType::int32;
template <> constexpr CellType type_of<std::int64_t> = CellType::int64;

constexpr const char* name_of(CellType type) {
  constexpr const char* names[] = {"float32", "float64", "int8",   "int16",  "int32",
                                   "int64",   "uint8",   "uint16", "uint32", "uint64"};
  return names[size_t(type)];
}

void require_cells(const Array& array, CellType expected, Name name) {
  require_type(array.type() == expected, name, " has elements of type ", name_of(array.type()),
               "; expected ", name_of(expected));
}

template <class Item>
std::vector<Item> copy_items(nb::handle object, const char* name) {
  const Array array(object, {name}, 1);
  require_cells(array, type_of<Item>, {name});
  std::vector<Item> items(array.size(0));
  for (size_t i = 0; i < items.size(); ++i) std::memcpy(&items[i], array.cell(i), sizeof(Item));
  return items;
}

std::vector<std::int32_t> copy_votes(nb::handle object, size_t n_rules, size_t n_classes) {
  const Array array(object, {"rule_votes"}, 2);
  require_cells(array, CellType::int32, {"rule_votes"});
  require(array.size(0) == n_rules && array.size(1) == n_classes, "rule_votes is ", array.size(0),
          " x ", array.size(1), "; expected rules x classes, ", n_rules, " x ", n_classes);
  std::vector<std::int32_t> votes(n_rules * n_classes);
  for (size_t i = 0; i < votes.size(); ++i)
    std::memcpy(&votes[i], array.cell(i / n_classes, i % n_classes), sizeof votes[i]);
  return votes;
}

// ---------------------------------------------------------------------------------------------
// Checks of the circuit

void require_size(size_t found, size_t expected, const char* name) {
  require(found == expected, name, " has ", found, " entries; expected ", expected);
}

void check_sizes(const Circuit& circuit) {
  const size_t n_literals = circuit.n_literals(), n_gates = circuit.gate_code.size();
  require_size(circuit.literal_column.size(), n_literals, "literal_column");
  require_size(circuit.literal_cutoff.size(), n_literals, "literal_cutoff");
  require_size(circuit.category_start.size(), n_literals + 1, "category_start");
  require_size(circuit.gate_a.size(), n_gates, "gate_a");
  require_size(circuit.gate_b.size(), n_gates, "gate_b");
  require(n_literals + n_gates < (size_t{1} << 30), "the circuit has over 2^30 wires");
  require(circuit.n_classes() >= 1, "base_votes is empty; expected one entry per class");
}

void check_categories(const Circuit& circuit) {
  const auto& start = circuit.category_start;
  require(start.front() == 0 && start.back() == std::int64_t(circuit.category_code.size()) &&
              std::is_sorted(start.begin(), start.end()),
          "category_start must rise from 0 to the number of category codes");
  for (std::int32_t code : circuit.category_code)
    require(code >= 0, "category_code holds ", code, "; expected 0 or more");
}

void check_literals(const Circuit& circuit) {
  const size_t n_columns = circuit.column_is_category.size();
  for (size_t i = 0; i < circuit.n_literals(); ++i) {
    const std::int32_t column = circuit.literal_column[i];
    require(circuit.literal_kind[i] <= 2, "literal ", i, " has kind ", circuit.literal_kind[i],
            "; expected 0, 1 or 2");
    require(column >= 0 && size_t(column) < n_columns, "literal ", i, " reads column ", column,
            ", but there are ", n_columns, " columns");
    const bool is_category = circuit.column_is_category[size_t(column)];
    const auto kind = LiteralKind(circuit.literal_kind[i]);
    require(kind != LiteralKind::above || !is_category, "literal ", i, " compares column ", column,
            " with a cutoff, but it holds categories");
    require(kind != LiteralKind::above || std::isfinite(circuit.literal_cutoff[i]), "literal ", i,
            " has a cutoff that is not finite");
    require(kind != LiteralKind::among || is_category, "literal ", i,
            " looks for categories in column ", column, ", but it holds numbers");
  }
}

void check_gates(const Circuit& circuit) {
  for (size_t g = 0; g < circuit.gate_code.size(); ++g) {
    const size_t n_before = circuit.n_literals() + g;
    require(circuit.gate_code[g] < 16, "gate ", g, " has code ", circuit.gate_code[g],
            "; expected 0 to 15");
    for (std::int32_t wire : {circuit.gate_a[g], circuit.gate_b[g]})
      require(wire >= 0 && size_t(wire) < n_before, "gate ", g, " reads wire ", wire,
              ", but only ", n_before, " wires come before it");
  }
}

void check_rules(const Circuit& circuit) {
  const size_t n_wires = circuit.n_literals() + circuit.gate_code.size();
  for (size_t r = 0; r < circuit.n_rules(); ++r)
    require(circuit.rule_wire[r] >= 0 && size_t(circuit.rule_wire[r]) < n_wires, "rule ", r,
            " reads wire ", circuit.rule_wire[r], ", but there are ", n_wires, " wires");
  for (size_t label = 0; label < circuit.n_classes(); ++label) {
    std::int64_t most = std::abs(std::int64_t{circuit.base_votes[label]});
    for (size_t r = 0; r < circuit.n_rules(); ++r) most += std::abs(circuit.vote(r, label));
    require(most <= std::numeric_limits<std::int32_t>::max(), "the votes of class ", label,
            " may add up to ", most, ", which does not fit in int32");
  }
}

const Circuit& checked(const Circuit& circuit) {
  check_sizes(circuit);
  check_categories(circuit);
  check_literals(circuit);
  check_gates(circuit);
  check_rules(circuit);
  return circuit;
}

// ---------------------------------------------------------------------------------------------
// Tables

// A table that Python gave, opened for one plan: only the columns that it reads are looked at.
class OpenTable {
 public:
  OpenTable(const Plan& plan, size_t n_columns, nb::handle source,
            std::optional<std::int64_t> n_rows) {
    table_ = {nullptr, n_columns, false};
    require(n_rows.value_or(0) >= 0, "n_rows is negative");
    if (n_rows) n_rows_ = size_t(*n_rows);
    if (PyObject_CheckBuffer(source.ptr())) {
      open_matrix(plan, source);
    } else {
      require_type(PySequence_Check(source.ptr()),
                   "source must be a 2-D array or a sequence with an array for each column");
      open_columns(plan, nb::steal<nb::tuple>(tuple_of(source)));
    }
    require(n_rows_.has_value(), "every column is None; give n_rows");
    table_.columns = columns_.data();
  }

  const Table& table() const { return table_; }
  size_t n_rows() const { return *n_rows_; }

 private:
  static PyObject* tuple_of(nb::handle source) {
    PyObject* tuple = PySequence_Tuple(source.ptr());
    if (!tuple) nb::raise_python_error();
    return tuple;
  }

  void require_n_columns(size_t found) const {
    require(found == table_.n_columns, "the table has ", found,
            " columns; the circuit was made for ", table_.n_columns);
  }

  void agree_on_n_rows(size_t n_rows, Name name) {
    if (!n_rows_) n_rows_ = n_rows;
    require(*n_rows_ == n_rows, name, " has ", n_rows, " rows; expected ", *n_rows_);
  }

  void open_matrix(const Plan& plan, nb::handle source) {
    const Array& array = arrays_.emplace_back(source, Name{"source"}, 2);
    require_n_columns(array.size(1));
    agree_on_n_rows(array.size(0), {"source"});
    table_.is_row_major = array.stride(1) == array.item_size();
    columns_.reserve(plan.columns.size);
    for (const UsedColumn& used : plan.columns) {
      require(!used.is_category, "column ", used.column,
              " holds categories; give a sequence of columns");
      columns_.push_back({array.cell(0, used.column), array.stride(0), array.type()});
    }
  }

  void open_columns(const Plan& plan, const nb::tuple& source) {
    require_n_columns(source.size());
    const UsedColumn* used = plan.columns.begin();
    for (size_t c = 0; c < source.size(); ++c) {
      const nb::handle column = source[c];
      const Name name{"column", std::int64_t(c)};
      if (used != plan.columns.end() && used->column == c)
        open_column(*used++, column, name);
      else if (!column.is_none())
        agree_on_n_rows(nb::len(column), name);
    }
  }

  void open_column(const UsedColumn& used, nb::handle column, Name name) {
    require(!column.is_none(), name, " is None, but the circuit reads it");
    const Array& array = arrays_.emplace_back(column, name, 1);
    if (used.is_category) require_cells(array, CellType::int32, name);
    agree_on_n_rows(array.size(0), name);
    columns_.push_back({array.data(), array.stride(0), array.type()});
  }

  Table table_;
  std::optional<size_t> n_rows_;
  std::deque<Array> arrays_;
  std::vector<Column> columns_;
};

// ---------------------------------------------------------------------------------------------
// Running a plan

class Scratch {
 public:
  std::byte* at_least(size_t n_bytes) {
    if (n_bytes > n_bytes_) {
      memory_.reset(new (alignment) std::byte[n_bytes]());
      n_bytes_ = n_bytes;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    void operator()(std::byte* memory) const { ::operator delete[](memory, alignment); }
  };
  std::unique_ptr<std::byte[], Delete> memory_;
  size_t n_bytes_ = 0;
};

constexpr size_t rows_worth_a_thread = 65536;
constexpr size_t rows_worth_the_lock = 512;  // releasing and taking the GIL costs about as much

size_t count_workers(size_t n_rows, int n_threads) {
  const size_t n_wanted = std::min(size_t(n_threads), n_rows / rows_worth_a_thread);
  if (n_wanted < 2) return 1;
  // Asked last: it reads files of the system, which takes longer than to evaluate a few rows.
  const size_t n_cores = std::thread::hardware_concurrency();
  return n_cores == 0 ? n_wanted : std::min(n_wanted, n_cores);
}

// Each worker has rows of its own and whole blocks of them, so that no answer depends on the split.
void run_in_parallel(Kernel kernel, const Plan& plan, const OpenTable& open, const Answers& answers,
                     size_t n_workers) {
  const size_t n_blocks = (open.n_rows() + rows_per_block - 1) / rows_per_block;
  const size_t rows_each = (n_blocks + n_workers - 1) / n_workers * rows_per_block;
  std::vector<Scratch> scratch(n_workers);
  for (Scratch& memory : scratch) memory.at_least(scratch_bytes(plan));
  const auto work = [&](size_t worker) {
    const size_t first = std::min(worker * rows_each, open.n_rows());
    const size_t last = std::min(first + rows_each, open.n_rows());
    kernel(plan, open.table(), answers, first, last, scratch[worker].at_least(0));
  };
  std::vector<std::thread> threads;
  threads.reserve(n_workers);
  size_t started = 1;
  try {
    for (; started < n_workers; ++started) threads.emplace_back(work, started);
  } catch (const std::system_error&) {
    // The system grants no more threads: do their share here.
  }
  work(0);
  for (size_t worker = started; worker < n_workers; ++worker) work(worker);
  for (std::thread& thread : threads) thread.join();
}

void run(Kernel kernel, const Plan& plan, const OpenTable& open, const Answers& answers,
         int n_threads) {
  require(n_threads >= 1, "n_threads is ", n_threads, "; expected 1 or more");
  static thread_local Scratch scratch;
  std::optional<nb::gil_scoped_release> unlocked;
  if (open.n_rows() >= rows_worth_the_lock) unlocked.emplace();
  const size_t n_workers = count_workers(open.n_rows(), n_threads);
  if (n_workers > 1) return run_in_parallel(kernel, plan, open, answers, n_workers);
  kernel(plan, open.table(), answers, 0, open.n_rows(), scratch.at_least(scratch_bytes(plan)));
}

Kernel kernel_for(Level level) {
#if defined(__x86_64__)
  if (level == Level::avx512) return avx512::predict_rows;
  if (level == Level::avx2) return avx2::predict_rows;
#endif
  (void)level;
  return generic::predict_rows;
}

class Program {
 public:
  Program(const Circuit& circuit, const std::string& level)
      : level_(find_level(level)), n_columns_(circuit.column_is_category.size()),
        votes_(circuit, count_votes), winner_(circuit, find_winner),
        class_indices_(circuit.n_classes()) {
    for (size_t c = 0; c < class_indices_.size(); ++c) class_indices_[c] = c;
    const nb::module_ numpy = nb::module_::import_("numpy");
    empty_ = numpy.attr("empty");
    int32_ = numpy.attr("dtype")("int32");
    int64_ = numpy.attr("dtype")("int64");
  }

  std::string level() const { return level_name(level_); }

  nb::object votes(nb::handle source, int n_threads, std::optional<std::int64_t> n_rows) const {
    const OpenTable open(votes_.plan(), n_columns_, source, n_rows);
    const nb::object votes = empty_(nb::make_tuple(open.n_rows(), class_indices_.size()), int32_);
    const Array out(votes, {"votes"}, 2, PyBUF_RECORDS);
    const Answers answers{nullptr, 0, nullptr, reinterpret_cast<std::int32_t*>(out.data())};
    run(kernel_for(level_), votes_.plan(), open, answers, n_threads);
    return votes;
  }

  nb::object classify(nb::handle source, int n_threads, std::optional<std::int64_t> n_rows) const {
    const OpenTable open(winner_.plan(), n_columns_, source, n_rows);
    const nb::object classes = empty_(open.n_rows(), int64_);
    const Array out(classes, {"classes"}, 1, PyBUF_RECORDS);
    label(open, class_indices_.data(), out, n_threads);
    return classes;
  }

  void classify_into(nb::handle source, nb::handle labels, nb::handle out, int n_threads,
                     std::optional<std::int64_t> n_rows) const {
    const OpenTable open(winner_.plan(), n_columns_, source, n_rows);
    const Array labels_array(labels, {"labels"}, 1), out_array(out, {"out"}, 1, PyBUF_RECORDS);
    require_words(labels_array, class_indices_.size(), "labels");
    require_words(out_array, open.n_rows(), "out");
    label(open, reinterpret_cast<const std::uint64_t*>(labels_array.data()), out_array, n_threads);
  }

 private:
  static void require_words(const Array& array, size_t size, const char* name) {
    require_cells(array, CellType::uint64, {name});
    require_size(array.size(0), size, name);
    require(array.is_contiguous() && reinterpret_cast<std::uintptr_t>(array.data()) % 8 == 0,
            name, " must be contiguous and aligned");
  }

  void label(const OpenTable& open, const std::uint64_t* labels, const Array& out,
             int n_threads) const {
    const Answers answers{labels, class_indices_.size(),
                          reinterpret_cast<std::uint64_t*>(out.data()), nullptr};
    run(kernel_for(level_), winner_.plan(), open, answers, n_threads);
  }

  Level level_;
  size_t n_columns_;
  StoredPlan votes_, winner_;
  std::vector<std::uint64_t> class_indices_;
  nb::object empty_, int32_, int64_;
};

void make_program(Program* self, std::int64_t n_columns, nb::handle column_is_category,
                  nb::handle literal_kind, nb::handle literal_column, nb::handle literal_cutoff,
                  nb::handle category_start, nb::handle category_code, nb::handle gate_code,
                  nb::handle gate_a, nb::handle gate_b, nb::handle rule_wire, nb::handle rule_votes,
                  nb::handle base_votes, const std::string& level) {
  Circuit circuit;
  circuit.column_is_category = copy_items<std::uint8_t>(column_is_category, "column_is_category");
  circuit.literal_kind = copy_items<std::uint8_t>(literal_kind, "literal_kind");
  circuit.literal_column = copy_items<std::int32_t>(literal_column, "literal_column");
  circuit.literal_cutoff = copy_items<double>(literal_cutoff, "literal_cutoff");
  circuit.category_start = copy_items<std::int64_t>(category_start, "category_start");
  circuit.category_code = copy_items<std::int32_t>(category_code, "category_code");
  circuit.gate_code = copy_items<std::uint8_t>(gate_code, "gate_code");
  circuit.gate_a = copy_items<std::int32_t>(gate_a, "gate_a");
  circuit.gate_b = copy_items<std::int32_t>(gate_b, "gate_b");
  circuit.rule_wire = copy_items<std::int32_t>(rule_wire, "rule_wire");
  circuit.base_votes = copy_items<std::int32_t>(base_votes, "base_votes");
  circuit.rule_votes = copy_votes(rule_votes, circuit.n_rules(), circuit.n_classes());
  require(n_columns >= 0, "n_columns is negative");
  require_size(circuit.column_is_category.size(), size_t(n_columns), "column_is_category");
  new (self) Program(checked(circuit), level);
}

}  // namespace
}  // namespace dln

void bind_program(nb::module_& module) {
  using namespace nb::literals;
  using dln::Program;
  nb::class_<Program>(module, "Program", "A circuit, checked and planned for fast evaluation.")
      .def("__init__", &dln::make_program, "n_columns"_a, "column_is_category"_a, "literal_kind"_a,
           "literal_column"_a, "literal_cutoff"_a, "category_start"_a, "category_code"_a,
           "gate_code"_a, "gate_a"_a, "gate_b"_a, "rule_wire"_a, "rule_votes"_a, "base_votes"_a,
           "level"_a = "")
      .def_prop_ro("level", &Program::level, "The instruction-set level that the program runs on.")
      .def("votes", &Program::votes, "source"_a.none(), "n_threads"_a = 1,
           "n_rows"_a = nb::none(), "Votes of every row for every class: int32 (n, n_classes).")
      .def("classify", &Program::classify, "source"_a.none(), "n_threads"_a = 1,
           "n_rows"_a = nb::none(),
           "Index of the class with most votes, the first of several: int64 (n,).")
      .def("classify_into", &Program::classify_into, "source"_a.none(), "labels"_a, "out"_a,
           "n_threads"_a = 1, "n_rows"_a = nb::none(),
           "Write the label of the class with most votes to `out`, for every row.");
}
