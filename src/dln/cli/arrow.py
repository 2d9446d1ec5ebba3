"""pyarrow, which reads and writes table files; imported only by commands that do so."""

from __future__ import annotations

from typing import Any

from dln.errors import ExtraMissingError

try:
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.compute  # type: ignore[import-untyped]
    import pyarrow.csv  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]
except ImportError as error:
    raise ExtraMissingError.for_packages("reading tables", "pyarrow") from error

__all__ = ["Column", "Frame", "csv", "pa", "parquet", "pc"]

pa: Any = pyarrow
pc: Any = pyarrow.compute
csv: Any = pyarrow.csv
parquet: Any = pyarrow.parquet

# pyarrow has no type hints. These names at least say which of its objects is meant.
Column = Any
"""A `pyarrow.ChunkedArray`."""
Frame = Any
"""A `pyarrow.Table`."""
