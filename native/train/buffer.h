// Vectors of a kernel's own: aligned to cache lines, and of a type that no other level shares.
//
// The second part matters as much as the first. std::vector<float> is one type for all levels, and
// of the copies of its functions the linker keeps one: AVX-512 code could end up in the generic
// level. With an allocator inside the level's namespace every level has its own.
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
