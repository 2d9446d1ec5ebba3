"""The rows of one or several files, part by part, as a circuit reads them.

Promise: columns that do not fit together, and a file that changes while it is read, are errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dln.cli.arrow import pa
from dln.cli.files import refuse_changes
from dln.cli.layout import Layout
from dln.cli.read import Part, kinds_for, open_table, read_for
from dln.core.circuit import Circuit
from dln.errors import ColumnTypeError, TableError


def read_files(
    circuit: Circuit, files: Sequence[str], layout: Layout, also: Sequence[str]
) -> Iterator[Part]:
    """Read files one after another, with the columns of the circuit and those in `also`.

    Rows are counted in each file. Errors name the file if there are several.
    """
    for path in files:
        try:
            with refuse_changes(path), open_table(path, layout) as source:
                yield from read_for(circuit, source, also)
        except TableError as error:
            if len(files) == 1 or path in str(error):
                raise
            raise type(error)(f"{path}: {error}") from error


def check_parts(
    circuit: Circuit, files: Sequence[str], layout: Layout, also: Sequence[str]
) -> None:
    """Check that each file has the columns of the circuit, and those in `also` of one type.

    Called before the work; no rows are read.
    """
    expected: dict[str, Any] = {}
    for path in files:
        with open_table(path, layout) as source:
            kinds_for(circuit, source)
            for name in also:
                source.check_column(name)
            first = next(source.chunks(list(also)), pa.table({}))
            for field in first.schema if also else ():
                kind = expected.setdefault(field.name, field.type)
                if field.type != kind:
                    raise ColumnTypeError(
                        f"column {field.name!r} of {path} is {field.type}, but {kind} in other "
                        "files; convert the files to one type"
                    )
