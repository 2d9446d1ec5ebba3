// The Python face of the trainer: train many networks in parallel.
//
// Jobs share no data that is written, so the result is the same for any number of threads.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../levels.h"
#include "bound.h"
#include "recorded.h"
#include "workers.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace dln {
namespace {

TrainFunction train_function(Level level) {
  switch (level) {
#if defined(__x86_64__)
    case Level::avx512: return avx512::train;
    case Level::avx2: return avx2::train;
#endif
    default: return generic::train;
  }
}

// Marks jobs as being trained while this object exists.
class BusyMark {
 public:
  explicit BusyMark(const std::vector<BoundJob*>& jobs) : jobs_(jobs) {
    for (BoundJob* job : jobs_) job->busy = true;
  }
  ~BusyMark() {
    for (BoundJob* job : jobs_) job->busy = false;
  }

 private:
  const std::vector<BoundJob*> jobs_;
};

// Jobs run in parallel: no job may use an array that another one writes.
void check_nothing_shared(const std::vector<BoundJob*>& jobs) {
  std::vector<const void*> written(jobs.begin(), jobs.end());
  for (const BoundJob* bound : jobs) {
    const Network& n = bound->job.network;
    if (n.n_literals > 0) written.insert(written.end(), {n.literal_value, n.slope});
    if (n.n_gates > 0) written.insert(written.end(), {n.link_logit, n.gate_logit});
    if (n.n_rules > 0 && n.n_classes > 0) written.push_back(n.vote_logit);
    if (n.predicts_number()) written.push_back(n.weight);
  }
  std::sort(written.begin(), written.end());
  check(std::adjacent_find(written.begin(), written.end()) == written.end(),
        "two jobs share an array that is trained; give each job its own network");
}

// Train all jobs in place. The callback is called regularly and may read the jobs. Ctrl-C or an
// exception in the callback stops the workers within a batch; the jobs keep what they learned.
void train(const std::vector<BoundJob*>& jobs, int n_threads, nb::object on_progress,
           const std::string& level) {
  check(n_threads >= 1, "n_threads must be at least 1");
  for (BoundJob* bound : jobs) check(bound != nullptr, "a job is None");
  check_nothing_shared(jobs);
  for (BoundJob* bound : jobs) {
    check(!bound->busy, "a job is already being trained");
    bound->check_all();
  }
  const BusyMark mark(jobs);
  for (BoundJob* bound : jobs) {
    bound->job.history.clear();
    bound->job.history.reserve(bound->job.options.epochs);  // Python may read it while it grows
    bound->job.epochs_done = 0;
    bound->job.epochs_visited = 0.0;
    bound->job.trace.clear();
    bound->job.trace_epochs.clear();
    bound->job.trace_epochs.reserve(2 + bound->job.options.epochs /
                                             std::max(1, bound->job.options.trace_every));
    bound->job.best_epoch = -1;
    bound->read_start();
  }
  std::vector<Job*> bare;
  for (BoundJob* bound : jobs) bare.push_back(&bound->job);
  Workers workers(std::move(bare), n_threads, train_function(find_level(level)));
  for (bool done = false; !done;) {
    {
      nb::gil_scoped_release release;
      done = workers.wait_for(std::chrono::milliseconds(100));
    }
    if (PyErr_CheckSignals() != 0) {
      workers.stop();
      throw nb::python_error();
    }
    if (!on_progress.is_none()) on_progress();
  }
  workers.rethrow();
}

nb::ndarray<nb::numpy, int64_t, nb::ndim<2>> row_orders(Array<const int64_t, 1> rows,
                                                        uint64_t seed, int64_t window,
                                                        int64_t block) {
  check(window >= block && block >= 1, "a window holds at least one block, and a block one row");
  const size_t n = rows.shape(0);
  int64_t* data = new int64_t[2 * n];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<int64_t*>(p); });
  generic::order({rows.data(), static_cast<int64_t>(n)}, seed, window, block, data);
  return {data, {2, n}, owner};
}

}  // namespace

float* grow_trace(Job& job, size_t n) {
  job.trace.resize(job.trace.size() + n);
  return job.trace.data() + job.trace.size() - n;
}

void save_state(Job& job, const char* trainer, size_t n) {
  std::vector<char> bytes = recorded_bytes(job);
  bytes.insert(bytes.end(), trainer, trainer + n);
  const std::lock_guard lock(job.state_mutex);
  job.state = std::move(bytes);
}

}  // namespace dln

void bind_population(nb::module_& module) {
  using namespace dln;
  nb::class_<Schedule>(module, "Schedule", "What changes from epoch to epoch.")
      .def(nb::init<>())
      .def_rw("temperature", &Schedule::temperature)
      .def_rw("layer_freeze", &Schedule::layer_freeze)
      .def_rw("vote_freeze", &Schedule::vote_freeze)
      .def_rw("prune_first", &Schedule::prune_first)
      .def_rw("prune_last", &Schedule::prune_last)
      .def_rw("layer_prune", &Schedule::layer_prune)
      .def_rw("convergence", &Schedule::convergence);

  nb::class_<BoundJob>(module, "Job", "One network, its rows and options; trained in place.")
      .def(nb::init<Array<const float, 2>, const std::optional<Array<const int32_t, 1>>&,
                    const std::optional<Array<const float, 1>>&,
                    const std::optional<Array<const float, 2>>&, Array<const float, 1>,
                    Array<const int64_t, 1>, Array<const int64_t, 1>, Array<const int32_t, 1>,
                    Array<const uint8_t, 1>, Array<const int32_t, 1>, Array<const int32_t, 1>,
                    Array<float, 1>, Array<float, 1>, Array<const int32_t, 3>, Array<float, 3>,
                    Array<const uint8_t, 1>, Array<float, 2>, Array<const int32_t, 1>,
                    Array<float, 2>, Array<float, 1>, Array<const float, 2>, const nb::bytes&,
                    const Schedule&>(),
           nb::kw_only(), "cells"_a, "classes"_a.none(), "numbers"_a.none(), "offset"_a.none(),
           "row_weight"_a, "rows"_a, "valid_rows"_a,
           "layer_start"_a, "literal_kind"_a, "literal_column"_a, "literal_layer"_a,
           "literal_value"_a.noconvert(), "slope"_a.noconvert(), "link_wire"_a,
           "link_logit"_a.noconvert(), "gate_choice"_a, "gate_logit"_a.noconvert(),
           "rule_wire"_a, "vote_logit"_a.noconvert(), "weight"_a.noconvert(),
           "weight_limit"_a, "options"_a, "schedule"_a)
      .def_prop_ro("epochs_done", [](const BoundJob& b) { return b.job.epochs_done.load(); })
      .def_prop_ro("epochs_visited", [](const BoundJob& b) { return b.job.epochs_visited.load(); })
      .def_prop_ro("best_epoch", [](const BoundJob& b) { return b.job.best_epoch; })
      .def("history", &BoundJob::history,
           "(epochs, 4): loss, score on training and on validation rows, live gates.")
      .def("trace", &BoundJob::trace, "(records, parameters): recorded during training.")
      .def_prop_ro("trace_epochs", [](const BoundJob& b) { return b.job.trace_epochs; })
      .def("want_state", [](BoundJob& b, int64_t batch) { b.job.state_from = batch; },
           "batch"_a = 0, "Save the state before the next batch that has at least this number.")
      .def("take_state", &BoundJob::take_state,
           "The last saved state as bytes; None if there is none since the last call.")
      .def("keep_state", [](BoundJob& b) { b.job.keeps_state = true; },
           "Also save the state at the end of the run.")
      .def("continue_from", &BoundJob::continue_from, "state"_a,
           "Let the next run continue from a saved state of the same job.")
      .def("points", &BoundJob::points, "rows"_a, "level"_a = "")
      .def("gradients", &BoundJob::gradients, "rows"_a, "phase"_a, "level"_a = "");

  module.def("row_orders", &row_orders, "rows"_a, "key"_a, "window"_a, "block"_a,
             "(2, rows): the order of the rows in the first two epochs.");
  module.def("train", &train, "jobs"_a, "n_threads"_a, "on_progress"_a.none() = nb::none(),
             "level"_a = "", "Train all jobs in place, on n_threads threads.");
}
