// Vectors of sixteen floats with bit masks: the operations that the kernels use.
//
// Promise: each operation gives the same bits at every instruction-set level. Sums therefore have a
// fixed order (the tree of LaneSums), and no operation may be contracted to a fused multiply-add.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// These functions must be inlined: passing a vector through memory costs more than the operation.
#define DLN_INLINE [[gnu::always_inline]] inline

namespace dln::DLN_LEVEL {

constexpr int kLanes = 16;
constexpr int kRows = 64;                // rows of a block: one bit each in a 64-bit word
constexpr int kChunks = kRows / kLanes;  // vectors of a block

#if defined(__AVX512F__)

// One register. Masks are v16i: all bits of a lane set, or none.
typedef float v16f __attribute__((vector_size(64)));
typedef int32_t v16i __attribute__((vector_size(64)));

DLN_INLINE v16f fill(float x) { return (v16f)_mm512_set1_ps(x); }
DLN_INLINE v16i fill(int32_t x) { return (v16i)_mm512_set1_epi32(x); }
DLN_INLINE v16f select(v16i mask, v16f yes, v16f no) { return mask ? yes : no; }
DLN_INLINE v16i select(v16i mask, v16i yes, v16i no) { return mask ? yes : no; }
DLN_INLINE v16f to_power(v16f x) { return (v16f)((__builtin_convertvector(x, v16i) + 127) << 23); }
template <typename To, typename From>
inline To copy_of(const From* p) {
  To x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
DLN_INLINE v16f load(const float* p) { return copy_of<v16f>(p); }
DLN_INLINE v16i load(const int32_t* p) { return copy_of<v16i>(p); }
DLN_INLINE void store(float* p, v16f x) { std::memcpy(p, &x, sizeof x); }
DLN_INLINE void store(int32_t* p, v16i x) { std::memcpy(p, &x, sizeof x); }

#else

// Several registers. The compiler would fall back to scalars for a single vector type of 64 bytes.
#if defined(__AVX2__)
constexpr int kPartBytes = 32;
#else
constexpr int kPartBytes = 16;
#endif
typedef float PartF __attribute__((vector_size(kPartBytes)));
typedef int32_t PartI __attribute__((vector_size(kPartBytes)));
constexpr int kParts = 64 / kPartBytes;

template <typename Part>
struct Vector {
  Part part[kParts];
  auto operator[](int lane) const {
    constexpr int n = kPartBytes / 4;
    return part[lane / n][lane % n];
  }
};
using v16f = Vector<PartF>;
using v16i = Vector<PartI>;

template <typename Result, typename F>
DLN_INLINE Result each(F f) {
  Result y;
  for (int i = 0; i < kParts; ++i) y.part[i] = f(i);
  return y;
}
// Copied part by part: a copy of the struct would use narrower registers and stall.
template <typename Result, typename From>
DLN_INLINE Result load_parts(const From* p) {
  return each<Result>([&](int i) __attribute__((always_inline)) {
    decltype(Result{}.part[0] + Result{}.part[0]) x;
    std::memcpy(&x, p + i * kPartBytes / 4, sizeof x);
    return x;
  });
}
DLN_INLINE v16f load(const float* p) { return load_parts<v16f>(p); }
DLN_INLINE v16i load(const int32_t* p) { return load_parts<v16i>(p); }
DLN_INLINE void store(float* p, const v16f& x) {
  for (int i = 0; i < kParts; ++i) std::memcpy(p + i * kPartBytes / 4, &x.part[i], kPartBytes);
}
DLN_INLINE void store(int32_t* p, const v16i& x) {
  for (int i = 0; i < kParts; ++i) std::memcpy(p + i * kPartBytes / 4, &x.part[i], kPartBytes);
}
DLN_INLINE v16f fill(float x) { return each<v16f>([&](int) { return PartF{} + x; }); }
DLN_INLINE v16i fill(int32_t x) { return each<v16i>([&](int) { return PartI{} + x; }); }
DLN_INLINE v16f operator+(const v16f& x, const v16f& y) {
  return each<v16f>([&](int i) { return x.part[i] + y.part[i]; });
}
DLN_INLINE v16f operator-(const v16f& x, const v16f& y) {
  return each<v16f>([&](int i) { return x.part[i] - y.part[i]; });
}
DLN_INLINE v16f operator*(const v16f& x, const v16f& y) {
  return each<v16f>([&](int i) { return x.part[i] * y.part[i]; });
}
DLN_INLINE v16f operator/(const v16f& x, const v16f& y) {
  return each<v16f>([&](int i) { return x.part[i] / y.part[i]; });
}
DLN_INLINE v16f& operator+=(v16f& x, const v16f& y) { return x = x + y; }
DLN_INLINE v16f& operator-=(v16f& x, const v16f& y) { return x = x - y; }
DLN_INLINE v16i operator<(const v16f& x, const v16f& y) {
  return each<v16i>([&](int i) { return x.part[i] < y.part[i]; });
}
DLN_INLINE v16i operator==(const v16i& x, const v16i& y) {
  return each<v16i>([&](int i) { return x.part[i] == y.part[i]; });
}
template <typename Part>
DLN_INLINE Vector<Part> select(const v16i& mask, const Vector<Part>& yes, const Vector<Part>& no) {
  return each<Vector<Part>>([&](int i) { return mask.part[i] ? yes.part[i] : no.part[i]; });
}
DLN_INLINE v16f to_power(const v16f& x) {
  return each<v16f>([&](int i) {
    return (PartF)((__builtin_convertvector(x.part[i], PartI) + 127) << 23);
  });
}

#endif

// x if it is larger, else y.
#if defined(__AVX512F__)
DLN_INLINE v16f larger(v16f x, v16f y) { return (v16f)_mm512_max_ps((__m512)x, (__m512)y); }
#else
DLN_INLINE v16f larger(v16f x, v16f y) { return select(y < x, x, y); }
#endif
DLN_INLINE v16f minus_magnitude(v16f x) { return select(x < fill(0.0f), x, fill(0.0f) - x); }

#if defined(__AVX512F__)

// The 16 bits of a word that belong to one chunk of the block, as a mask register. It is loaded
// from memory: the compiler would go through an integer register, which is slower.
using Bits = __mmask16;
DLN_INLINE Bits chunk_bits(const uint64_t& word, int chunk) {
  typedef uint16_t Part __attribute__((may_alias));
  Bits bits;
  asm("kmovw %1, %0" : "=k"(bits) : "m"(reinterpret_cast<const Part*>(&word)[chunk]));
  return bits;
}
// x where the bit is set, else 0.
DLN_INLINE v16f keep(Bits bits, const v16f& x) {
  return (v16f)_mm512_maskz_mov_ps(bits, (__m512)x);
}
// sum + x where the bit is set, else sum.
DLN_INLINE v16f add_where(const v16f& sum, Bits bits, const v16f& x) {
  return (v16f)_mm512_mask_add_ps((__m512)sum, bits, (__m512)sum, (__m512)x);
}
// `yes` where the bit is set, else `no`.
DLN_INLINE v16f choose(Bits bits, const v16f& yes, const v16f& no) {
  return (v16f)_mm512_mask_mov_ps((__m512)no, bits, (__m512)yes);
}

#else

// The half of a word with the 16 bits of one chunk: every lane gets it with one instruction.
struct Bits {
  int32_t half;
  bool upper;
};
DLN_INLINE Bits chunk_bits(const uint64_t& word, int chunk) {
  return {static_cast<int32_t>(word >> (chunk / 2 * 32)), chunk % 2 == 1};
}
DLN_INLINE v16i lane_mask(Bits bits) {
  alignas(64) static constexpr uint32_t lane[2][kLanes] = {
      {1u, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7, 1u << 8, 1u << 9,
       1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15},
      {1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23, 1u << 24,
       1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31}};
  const v16i bit = load(reinterpret_cast<const int32_t*>(lane[bits.upper]));
  return each<v16i>([&](int i) { return ((PartI{} + bits.half) & bit.part[i]) == bit.part[i]; });
}
DLN_INLINE v16f keep(Bits bits, const v16f& x) {
  const v16i mask = lane_mask(bits);
  return each<v16f>([&](int i) { return (PartF)((PartI)x.part[i] & mask.part[i]); });
}
DLN_INLINE v16f add_where(const v16f& sum, Bits bits, const v16f& x) {
  return sum + keep(bits, x);
}
DLN_INLINE v16f choose(Bits bits, const v16f& yes, const v16f& no) {
  return select(lane_mask(bits), yes, no);
}

#endif

// Bits of the rows whose value is above the cutoff. A missing value (NaN) never is.
DLN_INLINE uint64_t above(const float* cells, float cutoff) {
  uint64_t word = 0;
#if defined(__AVX512F__)
  const __m512 limit = _mm512_set1_ps(cutoff);
  for (int i = 0; i < kChunks; ++i)
    word |= static_cast<uint64_t>(
                _mm512_cmp_ps_mask(_mm512_loadu_ps(cells + kLanes * i), limit, _CMP_GT_OQ))
            << (kLanes * i);
#elif defined(__AVX2__)
  const __m256 limit = _mm256_set1_ps(cutoff);
  for (int i = 0; i < kRows / 8; ++i)
    word |= static_cast<uint64_t>(_mm256_movemask_ps(
                _mm256_cmp_ps(_mm256_loadu_ps(cells + 8 * i), limit, _CMP_GT_OQ)))
            << (8 * i);
#elif defined(__SSE2__)
  const __m128 limit = _mm_set1_ps(cutoff);
  for (int i = 0; i < kRows / 4; ++i)
    word |= static_cast<uint64_t>(
                _mm_movemask_ps(_mm_cmpgt_ps(_mm_loadu_ps(cells + 4 * i), limit)))
            << (4 * i);
#else
  for (int i = 0; i < kRows; ++i) word |= static_cast<uint64_t>(cells[i] > cutoff) << i;
#endif
  return word;
}

DLN_INLINE uint64_t equal(const float* cells, float value) {
  uint64_t word = 0;
  for (int i = 0; i < kRows; ++i) word |= static_cast<uint64_t>(cells[i] == value) << i;
  return word;
}

DLN_INLINE uint64_t missing(const float* cells) {
  uint64_t word = 0;
  for (int i = 0; i < kRows; ++i) word |= static_cast<uint64_t>(cells[i] != cells[i]) << i;
  return word;
}

// The sums of the lanes of 16 vectors. Each vector is folded when it arrives: lane i is added to
// lane i + 8, and then halves are added to halves until one number is left.
#if defined(__AVX512F__)

class LaneSums {
 public:
  DLN_INLINE void set(int place, const v16f& x) {
    const __m256 low = _mm512_castps512_ps256((__m512)x);
    const __m256 high = _mm512_extractf32x8_ps((__m512)x, 1);
    _mm256_store_ps(half_[place % 8][place / 8], _mm256_add_ps(low, high));
  }
  DLN_INLINE void clear(int place) {
    _mm256_store_ps(half_[place % 8][place / 8], _mm256_setzero_ps());
  }
  // Lane i of the result is the sum of the vector at place i.
  DLN_INLINE v16f total() const {
    __m512 half[8], quarter[4], pair[2];
    for (int i = 0; i < 8; ++i) half[i] = _mm512_load_ps(half_[i]);
    for (int i = 0; i < 4; ++i)
      quarter[i] = _mm512_shuffle_f32x4(half[i], half[i + 4], 0x88) +
                   _mm512_shuffle_f32x4(half[i], half[i + 4], 0xDD);
    for (int i = 0; i < 2; ++i)
      pair[i] = _mm512_shuffle_ps(quarter[i], quarter[i + 2], 0x44) +
                _mm512_shuffle_ps(quarter[i], quarter[i + 2], 0xEE);
    const __m512 sums = _mm512_shuffle_ps(pair[0], pair[1], 0x88) +
                        _mm512_shuffle_ps(pair[0], pair[1], 0xDD);
    const __m512i order = _mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15);
    return (v16f)_mm512_permutexvar_ps(order, sums);
  }

 private:
  alignas(64) float half_[8][2][8];
};

#else

class LaneSums {
 public:
  DLN_INLINE void set(int place, const v16f& x) {
    v4f quarter[4];
    std::memcpy(quarter, &x, sizeof x);
    four_[place] = (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
  }
  DLN_INLINE void clear(int place) { four_[place] = v4f{}; }
  // Lane i of the result is the sum of the vector at place i.
  DLN_INLINE v16f total() const {
    float sums[kLanes];
    for (int i = 0; i < kLanes; i += 4) {
      const v4f p = four_[i], q = four_[i + 1], r = four_[i + 2], s = four_[i + 3];
      const v4f pq = __builtin_shufflevector(p, q, 0, 1, 4, 5) +
                     __builtin_shufflevector(p, q, 2, 3, 6, 7);
      const v4f rs = __builtin_shufflevector(r, s, 0, 1, 4, 5) +
                     __builtin_shufflevector(r, s, 2, 3, 6, 7);
      const v4f four = __builtin_shufflevector(pq, rs, 0, 2, 4, 6) +
                       __builtin_shufflevector(pq, rs, 1, 3, 5, 7);
      std::memcpy(sums + i, &four, sizeof four);
    }
    return load(sums);
  }

 private:
  typedef float v4f __attribute__((vector_size(16)));
  v4f four_[kLanes];
};

#endif

// e^x for x <= 0, to about 1 unit in the last place; 0 if x < -87.
DLN_INLINE v16f exp_nonpositive(v16f x) {
  const v16f shift = fill(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const v16f clamped = larger(x, fill(-87.0f));
  const v16f rounded = (clamped * fill(1.44269504f) + shift) - shift;
  const v16f rest = (clamped - rounded * fill(0.693359375f)) + rounded * fill(2.12194440e-4f);
  v16f y = fill(1.9875691500e-4f);
  for (float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                  5.0000001201e-1f})
    y = y * rest + fill(c);
  y = (y * rest) * rest + rest + fill(1.0f);
  return select(x < fill(-87.0f), fill(0.0f), y * to_power(rounded));
}

DLN_INLINE v16f log1p(const v16f& x) {
  float lanes[kLanes];
  store(lanes, x);
  for (float& lane : lanes) lane = std::log1p(lane);
  return load(lanes);
}

// The names by which head.h knows them.
using Reals = v16f;
using Integers = v16i;

}  // namespace dln::DLN_LEVEL
