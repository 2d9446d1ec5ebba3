"""Report: one HTML file about a circuit, or several of a path, and the rows of their test.

The file needs nothing else and sends no requests; its content security policy forbids them. The
model in the page is the circuit's own JSON, and the page's script evaluates it.

Promise: names, categories and classes are shown as text, whatever they hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from os import PathLike
from typing import Any

import dln
from dln._util.atomic_file import write_atomically
from dln._util.colours import CLASS_COLOURS
from dln.core.bands import check_no_limits
from dln.core.circuit import Circuit, check_is_circuit
from dln.data.table import read_table
from dln.errors import OptionError
from dln.paths.path import CircuitPath
from dln.report.assets import page_script, page_style, template
from dln.report.body import Body, make_body
from dln.report.certificates import certify
from dln.report.data_note import DataNote
from dln.report.dial import describe_sizes, points_to_show
from dln.report.policy import content_policy, embed_json

_MOST_BYTES = 1_900_000
"""Maximum size of a report, so that it can be mailed. Test rows get the remaining space."""
_MOST_ROW_BYTES, _LEAST_ROW_BYTES = 600_000, 20_000
"""Limits for the space of test rows. They get the second even if no space remains."""


@dataclass(frozen=True)
class Report:
    """A report, ready to be saved or mailed.

    Attributes
    ----------
    html
        The whole file.
    """

    html: str

    def save(self, path: str | PathLike[str]) -> None:
        """Write the file; an existing file is replaced only when the new one is complete."""
        write_atomically(path, self.html)


def make_report(
    circuit: Circuit | CircuitPath,
    X: Any,
    y: Any,
    *,
    title: str = "",
    data: DataNote | None = None,
    rows: bool = True,
    independent: Sequence[str | Sequence[str]] = (),
    tolerances: Mapping[str, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Report:
    """Measure a circuit on rows that it was not trained on, and write a report.

    The report embeds test rows, so that readers can load them into the page. Do not publish it if
    the rows are confidential; `rows=False` leaves them out.

    Parameters
    ----------
    circuit
        Any circuit; simplify it first for the shortest rules. Or a path, such as
        `DLNClassifier.path_`: the report then has a slider, which switches between up to 8 sizes
        of the model.
    X, y
        Rows and their classes or numbers, in any form that `DLNClassifier.fit` accepts.
    title
        The heading; the target and the classes by default, or the name of the number.
    data
        What to say about the rows.
    rows
        Whether to embed test rows. Without them the page shows counts and rounded ranges only:
        all figures, plots, rules and the form remain.
    independent
        Columns, or groups of columns: for each the report proves or refutes that it alone never
        changes the prediction, as `prove_independent` does.
    tolerances
        Small changes of columns of numbers: the report shows how many of the rows are proven to
        keep their class within them, as `prove_robust` does. For classes only.
    at_least, at_most
        Limits of a number: the report proves or refutes that every possible prediction is within
        them, as `prove_range` does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dln import DLNClassifier
    >>> iris = load_iris(as_frame=True)
    >>> model = DLNClassifier(layers=(6, 6), n_networks=1, epochs=20, random_state=0)
    >>> report = make_report(model.fit(iris.data, iris.target).circuit_, iris.data, iris.target)
    >>> report.html[:15], len(report.html) < 2_000_000
    ('<!doctype html>', True)
    """
    if isinstance(circuit, CircuitPath):
        points = points_to_show(circuit)
        circuits = [point.circuit for point in points]
        sizes = embed_json(json.dumps(describe_sizes(circuit, points)))
    else:
        check_is_circuit(circuit, "make_report")
        circuits, sizes = [circuit], ""
    _check_claims(circuits[0], tolerances, at_least, at_most)
    data = data or DataNote()
    table = read_table(X)
    table = replace(table, read=cache(table.read))  # for the evaluation and for `read_rows`
    data.check_numbers(table.n_rows)
    bodies = [
        make_body(
            # The hashes of rows are the same for all sizes, and would take most of the file.
            one if rows and not sizes else _without_row_hashes(one),
            table,
            y,
            title=title,
            data=data,
            rows=rows,
            certificates=certify(
                one,
                X,
                independent,
                tolerances or {},
                limits=(at_least, at_most),
                rows=rows,
                numbers=data.numbers,
                row_word=data.row_word,
            ),
        )
        for one in circuits
    ]
    write = partial(_write_document, bodies, page_script(circuits[0].task), sizes)
    if rows:
        left = (_MOST_BYTES - len(write().encode(errors="surrogatepass"))) // len(bodies)
        for body in bodies:
            body.add_rows(min(max(left, _LEAST_ROW_BYTES), _MOST_ROW_BYTES), data.numbers)
    return Report(write())


def _check_claims(
    circuit: Circuit,
    tolerances: Mapping[str, float] | None,
    at_least: float | None,
    at_most: float | None,
) -> None:
    """Raise if a claim is for the other task."""
    if circuit.task == "classes":
        check_no_limits(circuit, at_least, at_most)
    elif tolerances:
        raise OptionError(
            "tolerances are proven for classes, but the circuit predicts a number; leave them out, "
            "or use independent, at_least or at_most"
        )


def _without_row_hashes(circuit: Circuit) -> Circuit:
    """Remove the hashes of rows: with them a reader could test whether a known row was used."""
    if circuit.origin is None:
        return circuit
    return replace(circuit, origin=replace(circuit.origin, rows=None))


def _write_document(bodies: Sequence[Body], script: str, sizes: str) -> str:
    style = page_style()
    html: str = template("document.html.jinja").render(
        title=bodies[0].title,
        version=dln.__version__,
        policy=content_policy([script], [style, *(own for body in bodies for own in body.styles)]),
        n_colours=len(CLASS_COLOURS),
        sizes=sizes,
        style=style,
        script=script,
        bodies=[body.to_html() for body in bodies],
    )
    return html
