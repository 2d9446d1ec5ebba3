// Python arrays -> memory, through the buffer protocol. It takes a fraction of a microsecond,
// accepts read-only arrays and reports strides.
//
// Promise: the elements have a type that the kernels support, and the array has the expected number
// of dimensions.
#pragma once

#include <nanobind/nanobind.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel.h"
#include "require.h"

namespace dln {

inline std::optional<CellType> find_cell_type(const Py_buffer& view) {
  constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';
  const char* format = view.format ? view.format : "B";
  if (*format == '@' || *format == '=' || *format == native_order) ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;

  // The item size decides the type: the letters for integers mean different sizes on different
  // platforms.
  const auto of_size = [&](std::initializer_list<std::pair<int, CellType>> family) {
    for (const auto& [size, type] : family)
      if (size == view.itemsize) return std::optional(type);
    return std::optional<CellType>();
  };
  using enum CellType;
  if (std::strchr("fd", *format)) return of_size({{4, float32}, {8, float64}});
  if (std::strchr("bhilqn", *format))
    return of_size({{1, int8}, {2, int16}, {4, int32}, {8, int64}});
  if (std::strchr("?BHILQN", *format))
    return of_size({{1, uint8}, {2, uint16}, {4, uint32}, {8, uint64}});
  return std::nullopt;
}

// The name of an array in messages.
struct Name {
  const char* what;
  std::int64_t index = -1;
};

inline std::string text(const Name& name) {
  return name.index < 0 ? name.what : name.what + (" " + std::to_string(name.index));
}

// The memory of an array. It is kept alive as long as this object exists.
class Array {
 public:
  Array(nb::handle object, Name name, int n_dims, int flags = PyBUF_RECORDS_RO) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) {
      PyErr_Clear();
      const char* kind = flags & PyBUF_WRITABLE ? "a writable array" : "an array";
      require_type(false, name, " must be ", kind, " of numbers");
    }
    try {
      const std::optional<CellType> type = find_cell_type(view_);
      require_type(type.has_value(), name, " has elements of type '", view_.format,
                   "'; expected booleans, integers, float32 or float64 in native byte order");
      require(view_.ndim == n_dims, name, " has ", view_.ndim, " dimensions; expected ", n_dims);
      type_ = *type;
    } catch (...) {
      PyBuffer_Release(&view_);
      throw;
    }
  }
  ~Array() { PyBuffer_Release(&view_); }
  Array(const Array&) = delete;  // the pointers of a view may point into the view itself
  Array& operator=(const Array&) = delete;

  CellType type() const { return type_; }
  char* data() const { return static_cast<char*>(view_.buf); }
  const char* cell(size_t i, size_t j = 0) const {
    return data() + std::ptrdiff_t(i) * stride(0) + (j ? std::ptrdiff_t(j) * stride(1) : 0);
  }
  size_t size(int dim) const { return size_t(view_.shape[dim]); }
  std::ptrdiff_t stride(int dim) const { return view_.strides[dim]; }
  std::ptrdiff_t item_size() const { return view_.itemsize; }
  bool is_contiguous() const { return PyBuffer_IsContiguous(&view_, 'C'); }

 private:
  Py_buffer view_;
  CellType type_{};
};

template <class Item> inline constexpr CellType type_of = CellType::float64;
template <> inline constexpr CellType type_of<std::uint8_t> = CellType::uint8;
template <> inline constexpr CellType type_of<std::int32_t> = CellType::int32;
template <> inline constexpr CellType type_of<std::int64_t> = CellType::int64;

constexpr const char* name_of(CellType type) {
  // In the order of CellType.
  constexpr const char* names[] = {"float32", "float64", "int8",   "int16",  "int32",
                                   "int64",   "uint8",   "uint16", "uint32", "uint64"};
  return names[size_t(type)];
}

inline void require_cells(const Array& array, CellType expected, Name name) {
  require_type(array.type() == expected, name, " has elements of type ", name_of(array.type()),
               "; expected ", name_of(expected));
}

template <class Item>
std::vector<Item> copy_items(nb::handle object, const char* name) {
  const Array array(object, {name}, 1);
  require_cells(array, type_of<Item>, {name});
  std::vector<Item> items(array.size(0));
  for (size_t i = 0; i < items.size(); ++i) std::memcpy(&items[i], array.cell(i), sizeof(Item));
  return items;
}

}  // namespace dln
