// What a job has recorded, and the parameters in its network, as bytes: the first part of a saved
// state. The state of the trainer follows (state.h).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernel.h"

namespace dln {

// The trained arrays of a network and their sizes. They hold the parameters of the best epoch.
inline std::array<std::pair<float*, size_t>, 6> trained_arrays(const Network& n) {
  const size_t gates = static_cast<size_t>(n.n_gates);
  const auto size = [](auto count) { return static_cast<size_t>(count); };
  return {{{n.literal_value, size(n.n_literals)},
           {n.slope, size(n.n_literals)},
           {n.gate_logit, gates * size(n.n_choices)},
           {n.link_logit, gates * 2 * size(n.n_links)},
           {n.vote_logit, size(n.n_classes) * size(n.n_rules)},
           {n.weight, size(n.n_weights())}}};
}

struct RecordedSizes {
  int64_t history, trace, trace_epochs;
  int32_t best_epoch;
};

inline std::vector<char> recorded_bytes(const Job& job) {
  std::vector<char> bytes;
  const auto add = [&](const auto* data, size_t n) {
    const char* start = reinterpret_cast<const char*>(data);
    bytes.insert(bytes.end(), start, start + n * sizeof(*data));
  };
  RecordedSizes sizes{};
  sizes.history = static_cast<int64_t>(job.history.size());
  sizes.trace = static_cast<int64_t>(job.trace.size());
  sizes.trace_epochs = static_cast<int64_t>(job.trace_epochs.size());
  sizes.best_epoch = job.best_epoch;
  add(&sizes, 1);
  add(job.history.data(), job.history.size());
  add(job.trace.data(), job.trace.size());
  add(job.trace_epochs.data(), job.trace_epochs.size());
  for (const auto& [data, n] : trained_arrays(job.network)) add(data, n);
  return bytes;
}

// Read such bytes into a job, and return where the state of the trainer begins.
inline const char* read_recorded(Job& job, const std::vector<char>& bytes) {
  const char* at = bytes.data();
  const char* end = at + bytes.size();
  const auto take = [&](auto* data, int64_t n) {
    if (n < 0 || n > (end - at) / static_cast<int64_t>(sizeof(*data)))
      throw std::invalid_argument("the state belongs to another network");
    if (n > 0) std::memcpy(data, at, static_cast<size_t>(n) * sizeof(*data));
    at += static_cast<size_t>(n) * sizeof(*data);
  };
  const auto take_list = [&](auto& list, int64_t n) {
    if (n < 0 || n > end - at)
      throw std::invalid_argument("the state belongs to another network");
    list.resize(static_cast<size_t>(n));
    take(list.data(), n);
  };
  RecordedSizes sizes{};
  take(&sizes, 1);
  if (sizes.history > job.options.epochs)  // the list must not move while Python reads it
    throw std::invalid_argument("the state belongs to another run");
  take_list(job.history, sizes.history);
  take_list(job.trace, sizes.trace);
  take_list(job.trace_epochs, sizes.trace_epochs);
  job.best_epoch = sizes.best_epoch;
  for (const auto& [data, n] : trained_arrays(job.network)) take(data, static_cast<int64_t>(n));
  job.epochs_done = static_cast<int32_t>(job.history.size());
  return at;
}

}  // namespace dln
