// The Python class Program: check a circuit, plan it and run the plan on tables.
//
// Promise: no argument crashes the interpreter.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../levels.h"
#include "kernel.h"
#include "answers.h"
#include "array.h"
#include "check.h"
#include "circuit.h"
#include "plan.h"
#include "require.h"
#include "run.h"
#include "table.h"

namespace dln {
namespace {

class Program {
 public:
  // Python's global lock is released during this call: it must not use Python.
  Program(Circuit circuit, const std::string& level)
      : level_(find_level(level)), n_columns_(circuit.column_is_category.size()),
        votes_(circuit, count_votes), winner_(circuit, find_winner),
        class_indices_(circuit.n_classes()), circuit_(std::move(circuit)) {
    for (size_t c = 0; c < class_indices_.size(); ++c) class_indices_[c] = c;
  }

  void import_numpy() {
    const nb::module_ numpy = nb::module_::import_("numpy");
    empty_ = numpy.attr("empty");
    float64_ = numpy.attr("dtype")("float64");
    int32_ = numpy.attr("dtype")("int32");
    int64_ = numpy.attr("dtype")("int64");
    uint64_ = numpy.attr("dtype")("uint64");
  }

  std::string level() const { return level_name(level_); }

  nb::object votes(nb::handle source, int n_threads, std::optional<std::int64_t> n_rows) const {
    const OpenTable open(votes_.plan(), n_columns_, source, n_rows);
    const nb::object votes = empty_(nb::make_tuple(open.n_rows(), class_indices_.size()), int32_);
    const Array out(votes, {"votes"}, 2, PyBUF_RECORDS);
    run(kernel_for(level_), votes_.plan(), open, {.votes = cells_of<std::int32_t>(out)},
        n_threads);
    return votes;
  }

  nb::object scores(nb::handle source, double factor, double divisor, int n_threads,
                    std::optional<std::int64_t> n_rows) const {
    require(class_indices_.size() == 1, "there are ", class_indices_.size(),
            " classes; expected one number");
    const OpenTable open(votes_.plan(), n_columns_, source, n_rows);
    const nb::object scores = empty_(open.n_rows(), float64_);
    const Array out(scores, {"scores"}, 1, PyBUF_RECORDS);
    run(kernel_for(level_), votes_.plan(), open,
        {.scores = cells_of<double>(out), .factor = factor, .divisor = divisor}, n_threads);
    return scores;
  }

  nb::object evaluate(nb::handle source, nb::handle wires, int n_threads,
                      std::optional<std::int64_t> n_rows) const {
    const StoredPlan& stored = plan_of_wires();
    const std::vector<std::uint32_t> slots = slots_of(wires, stored.kept());
    const OpenTable open(stored.plan(), n_columns_, source, n_rows);
    const size_t n_words = (open.n_rows() + rows_per_word - 1) / rows_per_word;
    const nb::object words = empty_(nb::make_tuple(slots.size(), n_words), uint64_);
    const nb::object votes = empty_(nb::make_tuple(open.n_rows(), class_indices_.size()), int32_);
    const Array words_out(words, {"words"}, 2, PyBUF_RECORDS);
    const Array votes_out(votes, {"votes"}, 2, PyBUF_RECORDS);
    run(kernel_for(level_), stored.plan(), open,
        {.votes = cells_of<std::int32_t>(votes_out),
         .slots = {slots.data(), slots.size()},
         .wires = cells_of<std::uint64_t>(words_out),
         .words_per_wire = n_words},
        n_threads);
    return nb::make_tuple(words, votes);
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
    run(kernel_for(level_), winner_.plan(), open,
        {.labels = labels,
         .n_labels = class_indices_.size(),
         .labelled = cells_of<std::uint64_t>(out)},
        n_threads);
  }

  template <class Cell>
  static Cell* cells_of(const Array& array) {
    return reinterpret_cast<Cell*>(array.data());
  }

  static std::vector<std::uint32_t> slots_of(nb::handle wires, const Slice<std::uint32_t>& all) {
    std::vector<std::uint32_t> slots;
    for (std::int32_t wire : copy_items<std::int32_t>(wires, "wires")) {
      require(wire >= 0 && size_t(wire) < all.size, "wires holds ", wire, ", but there are ",
              all.size, " wires");
      slots.push_back(all[size_t(wire)]);
    }
    return slots;
  }

  // Planned when it is first needed, since prediction does not need it.
  const StoredPlan& plan_of_wires() const {
    const nb::gil_scoped_release unlocked;  // before waiting for a thread that is planning
    const std::lock_guard planning(planning_);
    if (!wires_) wires_.emplace(circuit_, keep_wires);
    return *wires_;
  }

  Level level_;
  size_t n_columns_;
  StoredPlan votes_, winner_;
  std::vector<std::uint64_t> class_indices_;
  Circuit circuit_;
  mutable std::mutex planning_;
  mutable std::optional<StoredPlan> wires_;
  nb::object empty_, float64_, int32_, int64_, uint64_;
};

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
  {
    const nb::gil_scoped_release unlocked;  // planning a large circuit takes a second
    check(circuit);
    new (self) Program(std::move(circuit), level);
  }
  self->import_numpy();
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
      .def("scores", &Program::scores, "source"_a.none(), "factor"_a, "divisor"_a,
           "n_threads"_a = 1, "n_rows"_a = nb::none(),
           "Votes of every row for the only class, times factor, divided by divisor: float64 (n,).")
      .def("evaluate", &Program::evaluate, "source"_a.none(), "wires"_a, "n_threads"_a = 1,
           "n_rows"_a = nb::none(),
           "Some wires, 64 rows to a word: uint64 (n_wires, n_words), and the votes.")
      .def("classify", &Program::classify, "source"_a.none(), "n_threads"_a = 1,
           "n_rows"_a = nb::none(),
           "Index of the class with the most votes, the first if several tie: int64 (n,).")
      .def("classify_into", &Program::classify_into, "source"_a.none(), "labels"_a, "out"_a,
           "n_threads"_a = 1, "n_rows"_a = nb::none(),
           "Write the label of the class with the most votes to `out`, for every row.");
}
