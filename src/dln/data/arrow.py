"""Arrow tables and batches -> tables, where only distinct texts are converted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from dln.data.coded import CodedColumn
from dln.data.table import RawColumn, Table, read_table


def read_rows(X: Any) -> Table:
    """Read any table to predict from: those of pyarrow by `read_arrow`, others by `read_table`."""
    if type(X).__module__.split(".")[0] != "pyarrow" or not hasattr(X, "column_names"):
        return read_table(X)
    return read_arrow(X)


def read_arrow(frame: Any) -> Table:
    """Read a pyarrow table or batch; text becomes a `CodedColumn`, much faster than elsewhere."""
    import pyarrow as pa  # type: ignore[import-untyped]

    table = read_table(frame)
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])

    @cache
    def read(index: int) -> RawColumn:
        cells = frame.column(index)
        kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
        if not _is_text(pa.types, kind) or cells.null_count == len(cells):
            return table.read(index)
        numbers, distinct = _numbered(pa, cells)
        codes = numbers.fill_null(-1).to_numpy().astype(np.int32, copy=False)
        return CodedColumn(codes, tuple(distinct.to_pylist()))

    return replace(table, read=read)


def _numbered(pa: Any, cells: Any) -> tuple[Any, Any]:
    """Return the number of each row's text, and the distinct texts in order of appearance."""
    if pa.types.is_dictionary(cells.type) and cells.num_chunks == 1:
        coded = cells.chunk(0)
        texts = coded.dictionary.cast(pa.string())
        if not texts.null_count and len(texts.unique()) == len(texts):
            numbers = coded.indices.dictionary_encode()
            return numbers.indices, texts.take(numbers.dictionary)
    packed = cells.cast(pa.string()).combine_chunks().dictionary_encode()
    return packed.indices, packed.dictionary


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
