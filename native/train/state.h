// The state of a run as bytes: what Trainer::each_part lists, one part after another.
//
// Promise: a run that continues from a state ends with the same parameters, bit by bit, as the run
// that saved it. What follows from the parameters, and the order of the rows, is computed again.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "buffer.h"

namespace dln::DLN_LEVEL {

class StateWriter {
 public:
  template <typename T>
  void operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(&value, sizeof(T));
  }
  template <typename T>
  void operator()(const Buffer<T>& values) {
    (*this)(static_cast<uint64_t>(values.size()));
    add(values.data(), values.size() * sizeof(T));
  }

  const Buffer<char>& bytes() const { return bytes_; }

 private:
  void add(const void* source, size_t n) {
    const char* start = static_cast<const char*>(source);
    bytes_.insert(bytes_.end(), start, start + n);
  }

  Buffer<char> bytes_;
};

// Raises std::invalid_argument if the bytes are not the state of the same network.
class StateReader {
 public:
  StateReader(const char* start, size_t n) : at_(start), end_(start + n) {}

  template <typename T>
  void operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    take(&value, sizeof(T));
  }
  template <typename T>
  void operator()(Buffer<T>& values) {
    uint64_t n;
    (*this)(n);
    if (n != values.size()) throw bad();
    take(values.data(), values.size() * sizeof(T));
  }

  void check_end() const {
    if (at_ != end_) throw bad();
  }

 private:
  static std::invalid_argument bad() {
    return std::invalid_argument("the state belongs to another network");
  }
  void take(void* target, size_t n) {
    if (static_cast<size_t>(end_ - at_) < n) throw bad();
    if (n > 0) std::memcpy(target, at_, n);
    at_ += n;
  }

  const char *at_, *end_;
};

}  // namespace dln::DLN_LEVEL
