// Python table -> the columns that a plan reads: from a 2-D array or a sequence of 1-D arrays.
//
// Promise: every value that the kernels read exists, has the right type and stays in memory while
// the table is open.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "kernel.h"
#include "array.h"
#include "require.h"

namespace dln {

// A table from Python, opened for one plan. Only the columns that the plan reads are examined.
class OpenTable {
 public:
  OpenTable(const Plan& plan, size_t n_columns, nb::handle source,
            std::optional<std::int64_t> n_rows) {
    table_ = {nullptr, n_columns, false};
    require(n_rows.value_or(0) >= 0, "n_rows is negative");
    if (n_rows) n_rows_ = size_t(*n_rows);
    if (PyObject_CheckBuffer(source.ptr())) {
      open_matrix(plan, source);
    } else {
      require_type(PySequence_Check(source.ptr()),
                   "source must be a 2-D array or a sequence with an array for each column");
      open_columns(plan, nb::steal<nb::tuple>(tuple_of(source)));
    }
    require(n_rows_.has_value(), "every column is None; give n_rows");
    table_.columns = columns_.data();
  }

  const TableView& table() const { return table_; }
  size_t n_rows() const { return *n_rows_; }

 private:
  static PyObject* tuple_of(nb::handle source) {
    PyObject* tuple = PySequence_Tuple(source.ptr());
    if (!tuple) nb::raise_python_error();
    return tuple;
  }

  void require_n_columns(size_t found) const {
    require(found == table_.n_columns, "the table has ", found,
            " columns; the circuit was made for ", table_.n_columns);
  }

  void agree_on_n_rows(size_t n_rows, Name name) {
    if (!n_rows_) n_rows_ = n_rows;
    require(*n_rows_ == n_rows, name, " has ", n_rows, " rows; expected ", *n_rows_);
  }

  void open_matrix(const Plan& plan, nb::handle source) {
    const Array& array = arrays_.emplace_back(source, Name{"source"}, 2);
    require_n_columns(array.size(1));
    agree_on_n_rows(array.size(0), {"source"});
    table_.is_row_major = array.stride(1) == array.item_size();
    columns_.reserve(plan.columns.size);
    for (const UsedColumn& used : plan.columns) {
      require(!used.is_category, "column ", used.column,
              " holds categories; give a sequence of columns");
      columns_.push_back({array.cell(0, used.column), array.stride(0), array.type()});
    }
  }

  void open_columns(const Plan& plan, const nb::tuple& source) {
    require_n_columns(source.size());
    const UsedColumn* used = plan.columns.begin();
    for (size_t c = 0; c < source.size(); ++c) {
      const nb::handle column = source[c];
      const Name name{"column", std::int64_t(c)};
      if (used != plan.columns.end() && used->column == c)
        open_column(*used++, column, name);
      else if (!column.is_none())
        agree_on_n_rows(nb::len(column), name);
    }
  }

  void open_column(const UsedColumn& used, nb::handle column, Name name) {
    require(!column.is_none(), name, " is None, but the circuit reads it");
    const Array& array = arrays_.emplace_back(column, name, 1);
    if (used.is_category) require_cells(array, CellType::int32, name);
    agree_on_n_rows(array.size(0), name);
    columns_.push_back({array.data(), array.stride(0), array.type()});
  }

  TableView table_;
  std::optional<size_t> n_rows_;
  std::deque<Array> arrays_;
  std::vector<Column> columns_;
};

}  // namespace dln
