// Threads that train jobs in parallel, the longest first.
//
// Jobs share no data that is written, so it does not matter which thread takes which job.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "kernel.h"

namespace dln {

using TrainFunction = void (*)(Job&, const std::atomic<bool>&);

// Workers that take the next job until none is left or they are asked to stop.
class Workers {
 public:
  Workers(std::vector<Job*> jobs, int n_threads, TrainFunction train)
      : jobs_(std::move(jobs)), train_(train) {
    // The longest jobs first, so that no thread works alone on a long job at the end.
    std::stable_sort(jobs_.begin(), jobs_.end(),
                     [](Job* x, Job* y) { return work(*x) > work(*y); });
    const int n = std::min<int>(n_threads, static_cast<int>(jobs_.size()));
    for (int i = 0; i < n; ++i)
      if (!start_thread() && i == 0)
        throw std::runtime_error("no thread could be started: the system is out of threads or "
                                 "memory");
  }
  ~Workers() {
    stop();
    for (std::thread& thread : threads_) thread.join();
  }

  void stop() { stop_.store(true); }

  // Wait until all jobs are done or the time is over. Returns whether all are done.
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return done_.wait_for(lock, time, [this] { return running_ == 0; });
  }

  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static double work(const Job& job) {
    return static_cast<double>(job.rows.size) * job.options.epochs *
           (job.network.n_gates * (2.0 * job.network.n_links + job.network.n_choices) + 1.0);
  }

  // If the system gives fewer threads than requested, the work only takes longer.
  bool start_thread() {
    {
      std::lock_guard lock(mutex_);
      ++running_;
    }
    try {
      threads_.emplace_back([this] { loop(); });
      return true;
    } catch (const std::exception&) {
      std::lock_guard lock(mutex_);
      --running_;
      return false;
    }
  }

  void loop() {
    try {
      for (size_t i; !stop_.load() && (i = next_.fetch_add(1)) < jobs_.size();)
        train_(*jobs_[i], stop_);
    } catch (...) {
      std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      stop_.store(true);
    }
    std::lock_guard lock(mutex_);
    --running_;
    done_.notify_all();
  }

  std::vector<Job*> jobs_;
  TrainFunction train_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable done_;
  int running_ = 0;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace dln
