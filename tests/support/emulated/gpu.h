// An emulated GPU for tests. The threads of a block are fibers of one thread of the CPU. Between two
// barriers they run one after the other, in a random order, so that some warps get far ahead of
// others. Blocks run in parallel, and sometimes one of them pauses. Errors of the kernel are reported:
// threads that wait for others that have ended, lanes of a warp that wait at different places, and
// writes past the end of a block's memory.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

namespace gpu {

constexpr int kLanes = 32;
constexpr std::size_t kStackBytes = 1 << 16, kGuardBytes = 4096;
constexpr int kRestsEvery = 64;  // barriers between two pauses of a block
constexpr std::chrono::microseconds kRest(200);
constexpr unsigned char kUnknown = 0xff;  // as floats these bytes are not a number
enum Meeting { kSyncWarp, kShuffle, kBallot, kMatch };

inline thread_local float4* near_memory = nullptr;

// Subnormal numbers are 0, as in the kernel compiled for a GPU.
inline void flush_subnormals() {
#ifdef __SSE__
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}

// One block: its fibers, and the barriers at which they wait.
class Block {
 public:
  Block(int number, int n_threads, std::size_t shared_bytes, std::uint64_t seed,
        std::function<void()> kernel)
      : number_(number),
        kernel_(std::move(kernel)),
        random_(seed),
        fibers_(n_threads),
        warps_(n_threads / kLanes),
        ready_(n_threads / kLanes),
        order_(n_threads / kLanes),
        memory_((shared_bytes + kGuardBytes) / sizeof(float4) + 1) {
    std::memset(memory_.data(), kUnknown, memory_.size() * sizeof(float4));
    guard_ = reinterpret_cast<unsigned char*>(memory_.data()) + shared_bytes;
    std::iota(order_.begin(), order_.end(), 0);
  }

  // Run to the end. Returns an error message, empty if there was no error.
  std::string run() {
    flush_subnormals();
    running = this;
    near_memory = memory_.data();
    for (int i = 0; i < static_cast<int>(fibers_.size()); ++i) {
      Fiber& fiber = fibers_[i];
      fiber.stack = std::make_unique<char[]>(kStackBytes);
      getcontext(&fiber.start);
      fiber.start.uc_stack.ss_sp = fiber.stack.get();
      fiber.start.uc_stack.ss_size = kStackBytes;
      fiber.start.uc_link = nullptr;
      makecontext(&fiber.start, &Block::enter, 0);
      ready_[i / kLanes].push_back(i);
    }
    for (int fiber = take_any(); fiber >= 0 && error_.empty(); fiber = take_any()) resume(fiber);
    if (error_.empty() && n_done_ < static_cast<int>(fibers_.size()))
      error_ = std::to_string(fibers_.size() - n_done_) + " threads wait for others that have left";
    for (std::size_t i = 0; i < kGuardBytes && error_.empty(); ++i)
      if (guard_[i] != kUnknown) error_ = "a block wrote past the end of its memory";
    return error_;
  }

  int number() const { return number_; }
  int thread() const { return current_; }
  int lane() const { return current_ % kLanes; }

  // A barrier for all threads. Returns whether any of them passed true.
  bool meet_all(bool said) {
    any_ |= said;
    waiting_.push_back(current_);
    if (waiting_.size() == fibers_.size()) {
      answer_ = std::exchange(any_, false);
      release(waiting_);
      std::shuffle(order_.begin(), order_.end(), random_);
      if (random_() % kRestsEvery == 0) std::this_thread::sleep_for(kRest);
    }
    leave();
    return answer_;
  }

  // A barrier for the lanes of a warp. Returns the values of all lanes.
  const std::uint64_t* meet_warp(Meeting meeting, std::uint32_t mask, std::uint64_t value) {
    Warp& warp = warps_[current_ / kLanes];
    if (warp.waiting.empty()) warp.meeting = meeting;
    if (warp.meeting != meeting || mask != 0xffffffffu) {
      error_ = "lanes of a warp are not at the same place";
      leave();
    }
    std::uint64_t* values = warp.values[warp.turn];
    values[lane()] = value;
    warp.waiting.push_back(current_);
    if (warp.waiting.size() == kLanes) {
      warp.turn = 1 - warp.turn;  // these values are read while the next ones are written
      release(warp.waiting);
    }
    leave();
    return values;
  }

  static thread_local Block* running;

 private:
  struct Fiber {
    std::unique_ptr<char[]> stack;
    ucontext_t start;
    jmp_buf place;
    bool begun = false;
  };
  struct Warp {
    std::vector<int> waiting;
    std::uint64_t values[2][kLanes];
    int turn = 0;
    Meeting meeting;
  };

  static void enter() {
    running->kernel_();
    ++running->n_done_;
    _longjmp(running->scheduler_, 1);
  }

  // A random ready fiber of the first warp that has one; negative if all wait or have ended.
  int take_any() {
    for (const int warp : order_) {
      std::vector<int>& ready = ready_[warp];
      if (ready.empty()) continue;
      std::swap(ready[random_() % ready.size()], ready.back());
      const int taken = ready.back();
      ready.pop_back();
      return taken;
    }
    return -1;
  }

  void resume(int fiber) {
    current_ = fiber;
    if (_setjmp(scheduler_)) return;
    if (fibers_[fiber].begun) _longjmp(fibers_[fiber].place, 1);
    fibers_[fiber].begun = true;
    setcontext(&fibers_[fiber].start);
  }

  void leave() {
    if (_setjmp(fibers_[current_].place) == 0) _longjmp(scheduler_, 1);
  }

  void release(std::vector<int>& waiting) {
    for (const int fiber : waiting) ready_[fiber / kLanes].push_back(fiber);
    waiting.clear();
  }

  const int number_;
  const std::function<void()> kernel_;
  std::minstd_rand random_;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  std::vector<std::vector<int>> ready_;  // by warp
  std::vector<int> order_, waiting_;     // the order in which warps run; the fibers that wait
  std::vector<float4> memory_;
  unsigned char* guard_;
  jmp_buf scheduler_;
  int current_ = 0, n_done_ = 0;
  bool any_ = false, answer_ = false;
  std::string error_;
};

inline thread_local Block* Block::running = nullptr;

// The shape of a launch.
struct Launch {
  int blocks, threads;
  std::uint64_t shared_bytes, seed;
};

template <typename... Kinds, std::size_t... places>
std::string run_blocks(void (*kernel)(Kinds...), const Launch& launch, void** arguments,
                       std::index_sequence<places...>) {
  std::vector<std::string> errors(launch.blocks);
  std::vector<std::thread> threads;
  for (int block = 0; block < launch.blocks; ++block)
    threads.emplace_back([=, &errors, &launch] {
      const auto call = [=] { kernel(*static_cast<Kinds*>(arguments[places])...); };
      errors[block] =
          Block(block, launch.threads, launch.shared_bytes, launch.seed + block, call).run();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors)
    if (!error.empty()) return error;
  return "";
}

template <typename... Kinds>
const char* run(void (*kernel)(Kinds...), const Launch& launch, void** arguments) {
  static thread_local std::string error;
  error = run_blocks(kernel, launch, arguments, std::index_sequence_for<Kinds...>());
  return error.c_str();
}

struct Place {
  unsigned x;
};
inline Place thread_place() { return {static_cast<unsigned>(Block::running->thread())}; }
inline Place block_place() { return {static_cast<unsigned>(Block::running->number())}; }

template <typename T>
std::uint64_t to_word(T value) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}

template <typename T>
T from_word(std::uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

inline unsigned long long nanoseconds() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace gpu

// -- the parts of CUDA that the kernel uses -----------------------------------------------------

#define threadIdx (gpu::thread_place())
#define blockIdx (gpu::block_place())
#define near_memory gpu::near_memory
#define __device__
#define __global__
#define __constant__ __attribute__((visibility("default")))
#define __shared__ static thread_local
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __builtin_assume(condition) static_cast<void>(0)

inline void __syncthreads() { gpu::Block::running->meet_all(false); }
inline bool __syncthreads_or(bool said) { return gpu::Block::running->meet_all(said); }
inline void __syncwarp() { gpu::Block::running->meet_warp(gpu::kSyncWarp, ~0u, 0); }

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = gpu::kLanes) {
  const int first = gpu::Block::running->lane() & ~(width - 1);
  const auto* words = gpu::Block::running->meet_warp(gpu::kShuffle, mask, gpu::to_word(value));
  return gpu::from_word<T>(words[first + (lane & (width - 1))]);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int offset) {
  return __shfl_sync(mask, value, gpu::Block::running->lane() ^ offset);
}

inline unsigned __ballot_sync(unsigned mask, bool said) {
  const auto* words = gpu::Block::running->meet_warp(gpu::kBallot, mask, said);
  unsigned bits = 0;
  for (int lane = 0; lane < gpu::kLanes; ++lane) bits |= (words[lane] ? 1u : 0u) << lane;
  return bits;
}

inline bool __any_sync(unsigned mask, bool said) { return __ballot_sync(mask, said) != 0; }

inline unsigned __match_any_sync(unsigned mask, int value) {
  const auto* words = gpu::Block::running->meet_warp(gpu::kMatch, mask, gpu::to_word(value));
  unsigned bits = 0;
  for (int lane = 0; lane < gpu::kLanes; ++lane)
    bits |= (words[lane] == gpu::to_word(value) ? 1u : 0u) << lane;
  return bits;
}

template <typename T>
T __ldg(const T* place) { return *place; }
template <typename T>
T __ldcg(const T* place) { return *place; }
template <typename T>
void __stcg(T* place, T value) { *place = value; }
inline int atomicAdd(int* place, int value) {
  return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
}
inline int atomicSub(int* place, int value) { return atomicAdd(place, -value); }

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline float __int_as_float(int bits) { return gpu::from_word<float>(gpu::to_word(bits)); }
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline double cospi(double x) { return std::cos(std::acos(-1.0) * x); }
