// Treat denormal numbers (too small for a normal float) as zero while this object exists.
//
// Adam's moments of a parameter without gradient decay into that range and stay there. Arithmetic
// on denormals is many times slower, and such small moments have no effect.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dln::DLN_LEVEL {

class FlushDenormals {
 public:
  FlushDenormals() : saved_(read()) { write(saved_ | kFlush); }
  ~FlushDenormals() { write(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  using Word = unsigned;
  static constexpr Word kFlush = 0x8040;  // flush results to zero, read operands as zero
  static Word read() { return _mm_getcsr(); }
  static void write(Word word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  static constexpr Word kFlush = Word{1} << 24;
  static Word read() {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void write(Word word) { asm volatile("msr fpcr, %0" : : "r"(word)); }
#else
  using Word = unsigned;
  static constexpr Word kFlush = 0;
  static Word read() { return 0; }
  static void write(Word) {}
#endif

  const Word saved_;
};

}  // namespace dln::DLN_LEVEL
