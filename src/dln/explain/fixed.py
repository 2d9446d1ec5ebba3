"""Treat columns of a circuit as immutable, for one question."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dln._util.messages import list_names
from dln.errors import OptionError

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


def with_fixed(circuit: Circuit, names: Sequence[str]) -> Circuit:
    """Return a circuit with the same predictions in which these columns are immutable too."""
    from dln.core.circuit import Circuit

    known = [column.name for column in circuit.columns]
    for name in names:
        if name not in known:
            raise OptionError(f"there is no column {name!r}; the columns are: {list_names(known)}")
    if not names:
        return circuit
    columns = tuple(
        dataclasses.replace(column, immutable=column.immutable or column.name in names)
        for column in circuit.columns
    )
    return Circuit(
        logic=dataclasses.replace(circuit.logic, columns=columns), readout=circuit.readout
    )
