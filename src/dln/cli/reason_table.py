"""A model + a table -> a table with a reason for every row: `dln explain --output`."""

from __future__ import annotations

from typing import Any

from dln._util.messages import count_of
from dln.cli.files import STANDARD, check_output
from dln.cli.layout import Layout
from dln.cli.output import print_message
from dln.core.circuit import Circuit
from dln.errors import OptionError
from dln.explain.codes import check_template, fill_template, reason_codes
from dln.explain.why import ClassReason, Widen


def write_reasons(
    circuit: Circuit,
    word: str,
    model: str,
    data: str,
    output: str,
    template: str | None,
    keep: list[str],
    prefer: list[str],
    widen: Widen,
    check: bool,
    layout: Layout,
    quiet: bool,
) -> None:
    """Write a reason for every row; `word` is the name of the column with the answer."""
    from dln.cli.read import open_table, read_for
    from dln.cli.write import check_format, one_type, open_writer

    check_output(output, model, data)
    check_format(output)
    if template is not None:
        check_template(template, word)
    labels = dict(zip(circuit.classes, one_type(output, list(circuit.classes)), strict=True))
    kept = list(dict.fromkeys(keep))
    n_rows = n_unsure = n_unchecked = 0
    with open_table(data, layout) as source:
        parts = read_for(circuit, source, kept)
        with open_writer(output) as write:
            for part in parts:
                reasons = reason_codes(circuit, part.table, prefer=prefer, widen=widen, check=check)
                copies = {name: part.written.column(name) for name in kept}
                written = _columns(reasons, labels, part.first_row, template, check, word)
                twice = [name for name in copies if name in written]
                if twice:
                    raise OptionError(
                        f"--keep {twice[0]} would make two columns of that name; "
                        "rename it in the table"
                    )
                write(copies | written)
                n_rows += len(reasons)
                n_unsure += sum(not reason.minimal for reason in reasons)
                n_unchecked += sum(not reason.checked for reason in reasons)
    if quiet:
        return
    if n_unsure:
        print_message(
            f"{count_of(n_unsure, 'reason')} may not be minimal: the time limit of 1 s was reached"
        )
    if check and n_unchecked:
        print_message(f"{count_of(n_unchecked, 'reason')} could not be checked in time")
    if output != STANDARD:
        print_message(f"wrote {output}: {count_of(n_rows, 'row')}")


def _columns(
    reasons: list[ClassReason],
    labels: dict[Any, Any],
    first_row: int,
    template: str | None,
    check: bool,
    word: str,
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "row": list(range(first_row, first_row + len(reasons))),
        word: [labels[reason.label] for reason in reasons],
        "reason": [reason.condition for reason in reasons],
        "features": [", ".join(reason.features) for reason in reasons],
        "minimal": [reason.minimal for reason in reasons],
    }
    if check:
        columns["checked"] = [reason.checked for reason in reasons]
    if template is not None:
        columns["text"] = [
            fill_template(template, first_row + place, reason, word)
            for place, reason in enumerate(reasons)
        ]
    return columns
