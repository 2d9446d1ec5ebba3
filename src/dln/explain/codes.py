"""Circuit + rows -> a reason for each row, as for letters that must state the reasons."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, get_args

from dln._util.cores import count_cores
from dln.core.bands import as_classifier
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.labels import label_text
from dln.core.literals import format_name
from dln.core.values import cell_text
from dln.data.cells import readable_cells
from dln.data.codes import places_of
from dln.data.table import read_table
from dln.errors import OptionError
from dln.explain.why import ClassReason, Widen, ranks_of, reasons_of_rows
from dln.prove.clock import check_time_limit


def fields_of(word: str) -> tuple[str, ...]:
    """Return what a template may contain, in braces; `word` stands for what was predicted."""
    return ("row", word, "reason", "features", "values")


def reason_codes(
    circuit: Circuit,
    X: Any,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    prefer: Sequence[str] = (),
    costs: Mapping[str, float] | None = None,
    widen: Widen = "quick",
    check: bool = False,
    time_limit: float | None = 1.0,
    n_jobs: int | None = None,
) -> list[ClassReason]:
    """Find a minimal reason for the class of every row of a table.

    Parameters
    ----------
    circuit
        Any circuit.
    X
        Rows, as for `Circuit.predict`.
    at_least, at_most, prefer, costs, widen
        As for `Circuit.reason`.
    check
        Whether every reason is checked independently, which takes several times as long.
    time_limit
        Seconds for one row; None for no limit.
    n_jobs
        Number of threads; by default one for each core.

    Examples
    --------
    >>> from dln import Above, Column, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
    ...     (0, 0), ("healthy", "ill"),
    ... )
    >>> [reason.condition for reason in reason_codes(circuit, [[60], [50]])]
    ['age > 54', 'age <= 54']
    """
    check_is_circuit(circuit, "reason_codes")
    check_time_limit(time_limit)
    if widen not in get_args(Widen):
        raise OptionError(f'widen is {widen!r}, expected "no", "quick" or "full"')
    circuit = as_classifier(circuit, at_least=at_least, at_most=at_most)
    search = circuit._search
    read = search.variables.read
    table = read_table(X)
    places = places_of(table, circuit.columns, list(read))
    table = replace(table, read=cache(table.read))  # for the literals and for the cells
    evaluation = circuit.evaluate(table, range(circuit.n_literals))
    atoms = search.atoms_of(evaluation.wires(range(circuit.n_literals)))
    columns = [readable_cells(circuit.columns[i], table.read(places[i])) for i in read]
    cells = list(zip(*columns, strict=True)) if columns else [()] * evaluation.n_rows
    for row, of_row in zip(atoms, cells, strict=True):
        if (row < 0).any():
            search.check_possible(row, of_row)
    return reasons_of_rows(
        search,
        atoms,
        cells,
        evaluation.winners,
        ranks=ranks_of(search, prefer, costs),
        widen=widen,
        time_limit=time_limit,
        n_threads=n_jobs or count_cores(),
        check=check,
    )


def check_template(template: str, word: str = "class") -> None:
    """Raise `OptionError` if a template has other fields than `fields_of`."""
    known = ", ".join(f"{{{name}}}" for name in fields_of(word))
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise OptionError(f"the template is not valid: {error}; write {{{{ for a brace") from None
    for _, name, form, _ in parts:
        if name is not None and (name not in fields_of(word) or form):
            raise OptionError(f"the template has {{{name}}}; it may contain {known}")


def fill_template(template: str, number: int, reason: ClassReason, word: str = "class") -> str:
    """Write the text for one row.

    >>> from dln.explain.why import ReasonPart
    >>> debt = ReasonPart("debt", 8, "debt > 5")
    >>> reason = ClassReason("refused", (debt,), True, True, True, True)
    >>> fill_template("Row {row} is {class} because {reason} ({values}).", 1, reason)
    'Row 1 is refused because debt > 5 (debt: 8).'
    """
    named = [f"{format_name(part.feature)}: {cell_text(part.value)}" for part in reason.parts]
    texts = {
        "row": str(number),
        word: label_text(reason.label),
        "reason": reason.condition,
        "features": ", ".join(map(format_name, reason.features)),
        "values": ", ".join(named),
    }
    return "".join(
        literal + ("" if name is None else texts[name])
        for literal, name, _, _ in string.Formatter().parse(template)
    )
