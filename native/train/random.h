// A small, fast generator with the same numbers on every machine (xoshiro256**, seeded by
// splitmix64).
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace dln {

class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15u;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
      word = z ^ (z >> 31);
    }
  }

  uint64_t next() {
    const uint64_t result = rotate(state_[1] * 5, 7) * 9, shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // A number below `n`. `n` is small compared to 2^64, so the bias of the multiplication is
  // negligible.
  uint64_t below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }

  // Shuffle the items from `first` on.
  template <typename Items>
  void shuffle(Items& items, size_t first = 0) {
    for (size_t i = items.size() - first; i > 1; --i)
      std::swap(items[first + i - 1], items[first + below(i)]);
  }

 private:
  static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::array<uint64_t, 4> state_;
};

// cos(pi x) for x in [0, 1] by a short Taylor series. The C library's result may differ between
// machines.
inline double cosine(double x) {
  const double y = 3.14159265358979323846 * (x - 0.5);  // cos(pi x) = -sin(pi (x - 1/2))
  double term = y, sum = y;
  for (int k = 1; k <= 9; ++k) {
    term *= -y * y / ((2.0 * k) * (2.0 * k + 1.0));
    sum += term;
  }
  return -sum;
}

}  // namespace dln
