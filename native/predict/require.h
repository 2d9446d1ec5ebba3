// Refuse what Python must not pass: a condition and the words of a complaint to an exception.
//
// Promise: what does not hold becomes a ValueError (require) or a TypeError (require_type).
#pragma once

#include <nanobind/nanobind.h>

#include <concepts>
#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace dln {

// Null is empty: a buffer need not have a format.
inline std::string text(const char* part) { return part ? part : ""; }
inline std::string text(std::integral auto part) { return std::to_string(part); }

// The complaint is put together only where it is needed: most calls have nothing to complain about.
template <class... Parts>
void require(bool holds, const Parts&... complaint) {
  if (!holds) [[unlikely]] throw std::invalid_argument((text(complaint) + ...));
}

template <class... Parts>
void require_type(bool holds, const Parts&... complaint) {
  if (!holds) [[unlikely]] throw nb::type_error((text(complaint) + ...).c_str());
}

inline void require_size(size_t found, size_t expected, const char* name) {
  require(found == expected, name, " has ", found, " entries; expected ", expected);
}

}  // namespace dln
