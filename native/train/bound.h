// A job as Python sees it: borrowed arrays. They are checked completely, so the kernels check
// nothing.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../levels.h"
#include "kernel.h"
#include "recorded.h"

namespace dln {

namespace nb = nanobind;

template <typename T, int N>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

inline void check(bool good, const char* message) {
  if (!good) throw std::invalid_argument(message);
}

// A number is compared as it is stored: 0.001 as a float is a little more than 0.001. An unknown
// number of a choice is out of range, too.
template <typename T>
void check_range(T value, double low, double high, const char* name) {
  if constexpr (std::is_enum_v<T>) {
    check_range(static_cast<std::underlying_type_t<T>>(value), low, high, name);
  } else if (!(value >= static_cast<T>(low) && value <= static_cast<T>(high))) {
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                ", expected " + std::to_string(low) + " to " +
                                std::to_string(high));
  }
}

// The options as Python packs them, see compiled.py.
inline Options unpack_options(const nb::bytes& record) {
  check(record.size() == sizeof(Options), "the record of options has the wrong size");
  Options options;
  std::memcpy(&options, record.data(), sizeof(Options));
  return options;
}

// A network in training. It keeps the arrays that it borrows alive.
class BoundJob {
 public:
  BoundJob(Array<const float, 2> cells, const std::optional<Array<const int32_t, 1>>& classes,
           const std::optional<Array<const float, 1>>& numbers,
           const std::optional<Array<const float, 2>>& offset, Array<const float, 1> row_weight,
           Array<const int64_t, 1> rows,
           Array<const int64_t, 1> valid_rows, Array<const int32_t, 1> layer_start,
           Array<const uint8_t, 1> literal_kind, Array<const int32_t, 1> literal_column,
           Array<const int32_t, 1> literal_layer, Array<float, 1> literal_value,
           Array<float, 1> slope, Array<const int32_t, 3> link_wire, Array<float, 3> link_logit,
           Array<const uint8_t, 1> gate_choice, Array<float, 2> gate_logit,
           Array<const int32_t, 1> rule_wire, Array<float, 2> vote_logit, Array<float, 1> weight,
           Array<const float, 2> weight_limit, const nb::bytes& options, const Schedule& schedule)
      : keep_alive_{nb::cast(cells),          nb::cast(classes),    nb::cast(numbers),
                    nb::cast(offset),         nb::cast(row_weight), nb::cast(weight),
                    nb::cast(rows),           nb::cast(valid_rows),
                    nb::cast(weight_limit),
                    nb::cast(layer_start),    nb::cast(literal_kind), nb::cast(literal_column),
                    nb::cast(literal_layer),
                    nb::cast(literal_value),  nb::cast(slope),      nb::cast(link_wire),
                    nb::cast(link_logit),     nb::cast(gate_choice), nb::cast(gate_logit),
                    nb::cast(rule_wire),      nb::cast(vote_logit)} {
    job.table = {cells.data(),
                 classes ? classes->data() : nullptr,
                 numbers ? numbers->data() : nullptr,
                 offset ? offset->data() : nullptr,
                 row_weight.data(),
                 static_cast<int64_t>(cells.shape(0)), static_cast<int32_t>(cells.shape(1))};
    job.network = {static_cast<int32_t>(literal_kind.shape(0)),
                   static_cast<int32_t>(link_wire.shape(0)),
                   static_cast<int32_t>(link_wire.shape(2)),
                   static_cast<int32_t>(gate_choice.shape(0)),
                   static_cast<int32_t>(rule_wire.shape(0)),
                   static_cast<int32_t>(vote_logit.shape(0)),
                   static_cast<int32_t>(layer_start.shape(0)) - 1, layer_start.data(),
                   literal_kind.data(), literal_column.data(), literal_layer.data(),
                   literal_value.data(),
                   slope.data(), link_wire.data(), link_logit.data(), gate_choice.data(),
                   gate_logit.data(), rule_wire.data(), vote_logit.data(),
                   weight.shape(0) > 0 ? weight.data() : nullptr,
                   weight.shape(0) > 0 ? weight_limit.data() : nullptr};
    job.rows = list_of(rows);
    job.valid_rows = list_of(valid_rows);
    job.options = unpack_options(options);
    job.schedule = schedule;

    check(cells.shape(1) < (1u << 24), "too many columns");
    check(row_weight.shape(0) == cells.shape(0) &&
              (!classes || classes->shape(0) == cells.shape(0)) &&
              (!numbers || numbers->shape(0) == cells.shape(0)) &&
              (!offset || offset->shape(0) == cells.shape(0)),
          "cells, target, weight and offset differ in their number of rows");
    check(!offset || offset->shape(1) == static_cast<size_t>(job.network.n_outputs()),
          "the offset must be (rows, outputs)");
    check(layer_start.shape(0) >= 1 && layer_start.shape(0) < (1u << 24), "layers are missing");
    check(literal_column.shape(0) == literal_kind.shape(0) &&
              literal_layer.shape(0) == literal_kind.shape(0) &&
              literal_value.shape(0) == literal_kind.shape(0) &&
              slope.shape(0) == literal_kind.shape(0),
          "the arrays of the literals differ in length");
    check(link_wire.shape(1) == 2 && link_logit.shape(0) == link_wire.shape(0) &&
              link_logit.shape(1) == 2 && link_logit.shape(2) == link_wire.shape(2),
          "link_wire and link_logit must both be (gates, 2, links)");
    check(gate_logit.shape(0) == link_wire.shape(0) && gate_logit.shape(1) == gate_choice.shape(0),
          "gate_logit must be (gates, choices)");
    check(vote_logit.shape(1) == rule_wire.shape(0), "vote_logit must be (classes, rules)");
    check(weight.shape(0) == 0 || weight.shape(0) == rule_wire.shape(0) + 1,
          "weight must be (rules + 1), or empty in a network for classes");
    check(weight_limit.shape(0) == 2 && weight_limit.shape(1) == weight.shape(0),
          "weight_limit must be (2, weights)");
    // Sizes as the trainer pads them, to complete tiles of 16. Its indices have 31 bits.
    const auto padded = [](size_t n) { return static_cast<double>(n + 15); };
    check(padded(2 * link_wire.shape(0)) * link_wire.shape(2) < 2e9 &&
              padded(rule_wire.shape(0)) * vote_logit.shape(0) < 2e9 &&
              link_wire.shape(0) + literal_kind.shape(0) < (1u << 30) &&
              link_wire.shape(2) < (1u << 27),
          "the network is too large");
    check_all();
  }

  // Everything that the kernels rely on. Arrays may have changed since the job was created, so this
  // is checked again before every use.
  void check_all() const {
    check_task();
    check_rows();
    check_network();
    check_weights();
    check_layers();
    check_options();
    check_schedule();
  }

  nb::ndarray<nb::numpy, float, nb::ndim<2>> history() const {
    const size_t n = static_cast<size_t>(job.epochs_done.load(std::memory_order_acquire));
    constexpr size_t width = sizeof(EpochRecord) / sizeof(float);
    float* data = new float[n * width];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<float*>(p); });
    const float* source = reinterpret_cast<const float*>(job.history.data());
    std::copy_n(source, n * width, data);
    return {data, {n, width}, owner};
  }

  // (records, parameters): see Trainer::record_trace.
  nb::ndarray<nb::numpy, float, nb::ndim<2>> trace() const {
    check(!busy, "the job is being trained");
    const Network& n = job.network;
    const size_t width = 2 * static_cast<size_t>(n.n_literals) +
                         static_cast<size_t>(n.n_gates) * (n.n_choices + 2 * n.n_links) +
                         static_cast<size_t>(n.n_classes) * n.n_rules + n.n_weights();
    float* data = new float[job.trace.size()];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<float*>(p); });
    std::copy(job.trace.begin(), job.trace.end(), data);
    return {data, {width ? job.trace.size() / width : 0, width}, owner};
  }

  nb::ndarray<nb::numpy, float, nb::ndim<2>> points(Array<const int64_t, 1> rows,
                                                    const std::string& level) {
    const RowList chosen = take_rows(rows);
    const size_t width = static_cast<size_t>(job.network.n_outputs());
    float* data = new float[rows.shape(0) * width];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<float*>(p); });
    switch (find_level(level)) {
#if defined(__x86_64__)
      case Level::avx512: avx512::points(job, chosen, data); break;
      case Level::avx2: avx2::points(job, chosen, data); break;
#endif
      default: generic::points(job, chosen, data);
    }
    return {data, {rows.shape(0), width}, owner};
  }

  nb::dict gradients(Array<const int64_t, 1> rows, int phase, const std::string& level) {
    const RowList chosen = take_rows(rows);
    check(chosen.size > 0, "a gradient needs at least one row");
    check(phase >= 0 && phase <= 2, "phase must be 0 (gates), 1 (links) or 2 (both)");
    const Phase which = static_cast<Phase>(phase);
    Gradients g(job.network);
    switch (find_level(level)) {
#if defined(__x86_64__)
      case Level::avx512: avx512::gradients(job, chosen, which, g); break;
      case Level::avx2: avx2::gradients(job, chosen, which, g); break;
#endif
      default: generic::gradients(job, chosen, which, g);
    }
    nb::dict result;
    result["loss"] = g.loss;
    result["cutoff"] = g.cutoff;
    result["slope"] = g.slope;
    result["link_logit"] = g.link_logit;
    result["gate_logit"] = g.gate_logit;
    result["vote_logit"] = g.vote_logit;
    result["weight"] = g.weight;
    return result;
  }

  nb::object take_state() {
    std::vector<char> bytes;
    {
      const std::lock_guard lock(job.state_mutex);
      bytes.swap(job.state);
    }
    if (bytes.empty()) return nb::none();
    return nb::bytes(bytes.data(), bytes.size());
  }

  void continue_from(const nb::bytes& state) {
    check(!busy, "the job is being trained");
    start_.assign(state.c_str(), state.c_str() + state.size());
  }

  // Read the state to continue from, if there is one. It counts for one run.
  void read_start() {
    job.start.clear();
    if (start_.empty()) return;
    const std::vector<char> bytes = std::move(start_);
    start_.clear();
    const char* trainer = read_recorded(job, bytes);
    job.start.assign(trainer, bytes.data() + bytes.size());
    check(!job.start.empty(), "the state belongs to another network");
    check_all();
  }

  Job job;
  bool busy = false;  // changed only while the GIL is held

 private:
  static RowList list_of(const Array<const int64_t, 1>& rows) {
    return {rows.data(), static_cast<int64_t>(rows.shape(0))};
  }

  void check_in_table(RowList rows) const {
    for (int64_t i = 0; i < rows.size; ++i)
      check(rows.data[i] >= 0 && rows.data[i] < job.table.n_rows, "a row is out of the table");
  }

  // Rows to evaluate now, after checking everything that the kernels rely on.
  RowList take_rows(const Array<const int64_t, 1>& rows) const {
    const RowList chosen = list_of(rows);
    check_in_table(chosen);
    check_all();
    check(!busy, "the job is being trained");
    return chosen;
  }

  // The network, the targets and the loss are all for classes or all for numbers.
  void check_task() const {
    const int loss = static_cast<int>(job.options.loss);
    check(loss >= 0 && loss < kLosses, "unknown loss");
    const bool number = job.network.predicts_number();
    check(number == is_of_number(job.options.loss), "the loss does not belong to the network");
    check((job.table.numbers != nullptr) == number && (job.table.classes != nullptr) == !number,
          "the targets do not belong to the network");
    check(job.network.n_classes == 0 || !number, "a network for a number has classes");
  }

  void check_rows() const {
    const Table& table = job.table;
    check(job.rows.size > 0, "training needs at least one row");
    check_in_table(job.rows);
    check_in_table(job.valid_rows);
    for (int64_t row = 0; row < table.n_rows; ++row) {
      if (table.classes)
        check(table.classes[row] >= 0 && table.classes[row] < job.network.n_classes,
              "a target is not a class");
      if (table.numbers) check(std::isfinite(table.numbers[row]), "a target is not finite");
      for (int c = 0; table.offset && c < job.network.n_outputs(); ++c)
        check(std::isfinite(table.offset[row * job.network.n_outputs() + c]),
              "an offset is not finite");
      check(table.weight[row] >= 0.0f && std::isfinite(table.weight[row]),
            "a weight is negative or not finite");
    }
  }

  void check_network() const {
    const Network& n = job.network;
    check(n.n_outputs() >= 1 && n.n_choices >= 1 && n.n_choices <= 16, "no class or no gate");
    check(n.n_gates == 0 || n.n_links >= 1, "a gate needs at least one candidate link");
    for (int i = 0; i < n.n_literals; ++i) {
      check(n.literal_kind[i] < kLiteralKinds, "unknown kind of literal");
      check(n.literal_column[i] >= 0 && n.literal_column[i] < job.table.n_columns,
            "a literal reads a column that does not exist");
      check(std::isfinite(n.literal_value[i]) && std::isfinite(n.slope[i]) && n.slope[i] > 0.0f,
            "a cutoff or slope is not a finite number, or a slope is not positive");
    }
    for (int k = 0; k < n.n_choices; ++k) check(n.gate_choice[k] < 16, "unknown gate");
    for (int64_t i = 0; i < 2 * static_cast<int64_t>(n.n_gates); ++i) {
      bool any = false;
      for (int k = 0; k < n.n_links; ++k) {
        const int32_t wire = n.link_wire[i * n.n_links + k];
        const float logit = n.link_logit[i * n.n_links + k];
        check(wire >= 0 && wire < n.n_literals + i / 2, "a link does not point backwards");
        check(logit < INFINITY, "a link logit is NaN or too large");
        any |= logit > -INFINITY;
      }
      check(any, "all candidate links of a gate are masked");
    }
    for (int64_t g = 0; g < n.n_gates; ++g) {
      bool any = false;
      for (int k = 0; k < n.n_choices; ++k) {
        const float logit = n.gate_logit[g * n.n_choices + k];
        check(logit < INFINITY, "a gate logit is NaN or too large");
        any |= logit > -INFINITY;
      }
      check(any, "all functions of a gate are masked");
    }
    for (int r = 0; r < n.n_rules; ++r)
      check(n.rule_wire[r] >= 0 && n.rule_wire[r] < n.n_literals + n.n_gates,
            "a rule reads a wire that does not exist");
    for (int64_t i = 0; i < static_cast<int64_t>(n.n_rules) * n.n_classes; ++i)
      check(n.vote_logit[i] < INFINITY, "a vote logit is NaN or too large");
  }

  void check_weights() const {
    const Network& n = job.network;
    for (int i = 0; i < n.n_weights(); ++i) {
      const float low = n.weight_limit[i], high = n.weight_limit[n.n_weights() + i];
      check(std::isfinite(n.weight[i]), "a weight of a rule is not finite");
      check(n.weight[i] >= low && n.weight[i] <= high, "a weight of a rule is beyond its limits");
    }
  }

  void check_layers() const {
    const Network& n = job.network;
    check(n.layer_start[0] == 0 && n.layer_start[n.n_layers] == n.n_gates,
          "the layers do not hold all gates");
    for (int i = 0; i < n.n_layers; ++i)
      check(n.layer_start[i] <= n.layer_start[i + 1], "a layer ends before it starts");
    for (int i = 0; i < n.n_literals; ++i)
      check(n.literal_layer[i] >= 0 && n.literal_layer[i] < n.n_layers,
            "a literal belongs to a layer that does not exist");
  }

  void check_schedule() const {
    const Schedule& s = job.schedule;
    const size_t n_layers = static_cast<size_t>(job.network.n_layers);
    check(s.temperature.size() >= static_cast<size_t>(job.options.epochs),
          "a temperature is needed for every epoch");
    for (float t : s.temperature) check(t > 0.0f && t < INFINITY, "a temperature is not positive");
    check(s.layer_freeze.size() == n_layers && s.layer_prune.size() == n_layers,
          "layer_freeze and layer_prune need a value for every layer");
    for (int32_t n : s.layer_prune) check(n >= 0, "layer_prune is negative");
    check(s.prune_first >= 0 && s.prune_last >= 0, "an epoch is negative");
  }

  void check_options() const {
#define DLN_CHECK(name, low, high) check_range(job.options.name, low, high, #name);
    DLN_LIMITS(DLN_CHECK)
#undef DLN_CHECK
  }

  std::vector<nb::object> keep_alive_;
  std::vector<char> start_;
};

}  // namespace dln
