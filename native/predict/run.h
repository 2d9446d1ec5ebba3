// Run a plan on an open table: choose the kernel, divide the rows among threads, provide memory.
//
// Promise: answers do not depend on the level or the number of threads.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "../levels.h"
#include "kernel.h"
#include "require.h"
#include "table.h"

namespace dln {

// Memory for the kernels. It is reused by later runs and never shrinks.
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

inline constexpr size_t rows_worth_a_thread = 65536;
// Releasing and retaking Python's global lock costs about as much as evaluating this many rows of a
// small circuit, or one row of a circuit with this many steps.
inline constexpr size_t rows_worth_the_lock = 512;
inline constexpr size_t steps_worth_the_lock = 4096;

inline size_t count_workers(size_t n_rows, int n_threads) {
  const size_t n_wanted = std::min(size_t(n_threads), n_rows / rows_worth_a_thread);
  if (n_wanted < 2) return 1;
  // Last, because it reads system files, which takes longer than evaluating a few rows.
  const size_t n_cores = std::thread::hardware_concurrency();
  return n_cores == 0 ? n_wanted : std::min(n_wanted, n_cores);
}

// Each worker gets separate rows, in complete blocks, so that answers do not depend on the
// division.
inline void run_in_parallel(Kernel kernel, const Plan& plan, const OpenTable& open,
                            const Answers& answers, size_t n_workers) {
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
    // The system refuses more threads: this thread does their work.
  }
  work(0);
  for (size_t worker = started; worker < n_workers; ++worker) work(worker);
  for (std::thread& thread : threads) thread.join();
}

inline void run(Kernel kernel, const Plan& plan, const OpenTable& open, const Answers& answers,
                int n_threads) {
  require(n_threads >= 1, "n_threads is ", n_threads, "; expected 1 or more");
  static thread_local Scratch scratch;
  std::optional<nb::gil_scoped_release> unlocked;
  if (open.n_rows() >= rows_worth_the_lock || plan.steps.size >= steps_worth_the_lock)
    unlocked.emplace();
  const size_t n_workers = count_workers(open.n_rows(), n_threads);
  if (n_workers > 1) return run_in_parallel(kernel, plan, open, answers, n_workers);
  kernel(plan, open.table(), answers, 0, open.n_rows(), scratch.at_least(scratch_bytes(plan)));
}

inline Kernel kernel_for(Level level) {
#if defined(__x86_64__)
  if (level == Level::avx512) return avx512::predict_rows;
  if (level == Level::avx2) return avx2::predict_rows;
#endif
  (void)level;
  return generic::predict_rows;
}

}  // namespace dln
