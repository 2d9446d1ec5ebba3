// Check conditions on arguments from Python.
//
// Promise: a false condition raises ValueError (require) or TypeError (require_type).
#pragma once

#include <nanobind/nanobind.h>

#include <concepts>
#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace dln {

// A buffer may have no format, which is a null pointer.
inline std::string text(const char* part) { return part ? part : ""; }
inline std::string text(std::integral auto part) { return std::to_string(part); }

// The message is built only if the condition is false.
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
