// Vectors for the kernels: aligned to cache lines, and of a separate type in each level.
//
// std::vector<float> is one type for all levels, and the linker keeps one copy of its functions:
// AVX-512 code could end up in the generic level. An allocator in the namespace of the level makes
// the types different.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace dln::DLN_LEVEL {

template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <typename U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  bool operator==(const LineAllocator&) const { return true; }
};

template <typename T>
using Buffer = std::vector<T, LineAllocator<T>>;
using Floats = Buffer<float>;

}  // namespace dln::DLN_LEVEL
