"""Report: one HTML file about a circuit, or several of a path, and the rows of their test.

The file needs nothing else and sends no requests; its content security policy forbids them. The
model in the page is the circuit's own JSON, and the page's script evaluates it.

Promise: names, categories and classes are shown as text, whatever they hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from os import PathLike
from typing import Any

import dln
from dln._util.atomic_file import write_atomically
from dln._util.colours import CLASS_COLOURS, DARK_CLASS_COLOURS, class_colour
from dln._util.messages import list_names, percent
from dln.core.bands import check_no_limits
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.model_file import circuit_to_json
from dln.costs.circuit import cost
from dln.data.table import Table, read_table
from dln.data.target import class_numbers
from dln.draw.diagram.diagram import MOST_GATES, MOST_LITERALS, draw_circuit
from dln.errors import ExtraMissingError, OptionError
from dln.evaluate.scores import tally
from dln.explain.number_rules import NumberRuleTable
from dln.explain.rules import RuleTable, describe_rules
from dln.explain.text import readout_note
from dln.explain.trends import NUMBER_TREND_WORDS, TREND_WORDS, Trend, Trends, find_trends
from dln.exporters.identity import circuit_id
from dln.paths.path import CircuitPath
from dln.report.certificates import Certified, certify
from dln.report.content import make_content
from dln.report.curves import make_curves, mean_auc
from dln.report.dial import describe_sizes, points_to_show
from dln.report.intervals import accuracy, balanced_accuracy, by_class
from dln.report.numbers import measure_numbers
from dln.report.policy import content_policy, embed_json
from dln.report.rows import LabelledRows, read_rows

_SCRIPTS = (
    "circuit.js",
    "change.js",
    "dom.js",
    "dial.js",
    "text.js",
    "statistics.js",
    "bars.js",
    "controls.js",
    "data.js",
    "outcome_parts.js",
    "outcome.js",
    "form.js",
    "class_rows.js",
    "rows.js",
    "plots.js",
    "performance.js",
    "rules.js",
    "diagram.js",
    "start.js",
    "edit.js",
)
"""The scripts in the order in which they run; each may use those before it."""

_NUMBER_SCRIPTS = (
    "circuit.js",
    "number_circuit.js",
    "change.js",
    "dom.js",
    "dial.js",
    "text.js",
    "statistics.js",
    "bars.js",
    "controls.js",
    "data.js",
    "outcome_parts.js",
    "number_outcome.js",
    "form.js",
    "number_rows.js",
    "rows.js",
    "number_performance.js",
    "number_rules.js",
    "diagram.js",
    "start.js",
)
"""The same for the report of a number."""

_MOST_BYTES = 1_900_000
"""Maximum size of a report, so that it can be mailed. Test rows get the remaining space."""
_MOST_ROW_BYTES, _LEAST_ROW_BYTES = 600_000, 20_000
"""Limits for the space of test rows. They get the second even if no space remains."""
_MOST_DRAWN_GATES, _MOST_DIAGRAM_BYTES = 500, 900_000
"""Larger diagrams are left out, since they are not readable."""

_TREND_SIGNS: dict[Trend, str] = {
    "none": "–",
    "rising": "↗",
    "falling": "↘",
    "both": "↕",
    "undecided": "?",
}
_TREND_SECONDS = 20.0
"""Time limit for trends. A thousand gates take half a second; what takes longer stays undecided."""


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


@dataclass(frozen=True)
class DataNote:
    """What the report says about the rows.

    Attributes
    ----------
    name
        The name of the file, or any name for the rows.
    digest
        SHA-256 of the file; "" if there is none.
    note
        How the rows were chosen, in full sentences.
    numbers
        The number of each row in the file; counted from 1 by default.
    is_test
        Whether the model was trained on none of the rows. If not, the page does not call them test
        rows.
    """

    name: str = "the table given"
    digest: str = ""
    note: str = ""
    numbers: tuple[int, ...] | None = None
    is_test: bool = True

    @property
    def row_word(self) -> str:
        """What the page calls a row."""
        return "test row" if self.is_test else "row"


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
        path, points = circuit, points_to_show(circuit)
        circuits = [point.circuit for point in points]
    else:
        check_is_circuit(circuit, "make_report")
        path, points, circuits = None, [], [circuit]
    is_number = circuits[0].task == "number"
    if is_number and tolerances:
        raise OptionError(
            "tolerances are proven for classes, but the circuit predicts a number; leave them out, "
            "or use independent, at_least or at_most"
        )
    if not is_number:
        check_no_limits(circuits[0], at_least, at_most)
    data = data or DataNote()
    table = read_table(X)
    table = replace(table, read=cache(table.read))  # for the evaluation and for `read_rows`
    _check_numbers(data.numbers, table.n_rows)
    pages = [
        _make_page(
            # The hashes of rows are the same for all sizes, and would take most of the file.
            one if rows and path is None else _without_row_hashes(one),
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
    script = "\n".join(_asset(name) for name in (_NUMBER_SCRIPTS if is_number else _SCRIPTS))
    style = _style()
    styles = [style, *(own for page in pages for own in _styles_in(page.diagram))]
    write = partial(
        _template("document.html.jinja").render,
        title=pages[0].title,
        version=dln.__version__,
        policy=content_policy([script], styles),
        n_colours=len(CLASS_COLOURS),
        sizes="" if path is None else embed_json(json.dumps(describe_sizes(path, points))),
        style=style,
        script=script,
    )
    if rows:
        empty = write(bodies=[page.body() for page in pages])
        left = (_MOST_BYTES - len(empty.encode(errors="surrogatepass"))) // len(pages)
        max_bytes = min(max(left, _LEAST_ROW_BYTES), _MOST_ROW_BYTES)
        for page in pages:
            page.content["test"] |= page.rows.to_json(max_bytes, data.numbers)
    return Report(write(bodies=[page.body() for page in pages]))


@dataclass(frozen=True)
class _Page:
    """The page of one circuit.

    Attributes
    ----------
    title
        The heading.
    content
        The object that the page reads, still without rows.
    rows
        The rows that the page can load.
    diagram
        The drawing, "" if it is left out.
    write
        Renders the page, given `content` as JSON.
    """

    title: str
    content: dict[str, Any]
    rows: LabelledRows
    diagram: str
    write: Callable[..., str]

    def body(self) -> str:
        """Write what is between the tags of the body."""
        return self.write(page=_to_json(self.content))


def _make_page(
    circuit: Circuit,
    table: Table,
    y: Any,
    *,
    title: str,
    data: DataNote,
    rows: bool,
    certificates: Sequence[Certified],
) -> _Page:
    is_number = circuit.task == "number"
    measure = _measure_number if is_number else _measure_classes
    facts = measure(circuit, table, y, row_word=data.row_word, with_rows=rows)
    diagram = _diagram(circuit)
    write = partial(
        _template("number.html.jinja" if is_number else "report.html.jinja").render,
        title=title or facts.title,
        version=dln.__version__,
        circuit=circuit,
        model_id=circuit_id(circuit),
        n_rows=table.n_rows,
        classes=facts.content["classes"],
        n_colours=len(CLASS_COLOURS),
        data=data,
        row_word=data.row_word,
        rules=facts.rules,
        decision=readout_note(circuit.readout),
        trends=_trends(circuit),
        certificates=certificates,
        trend_words=NUMBER_TREND_WORDS if is_number else TREND_WORDS,
        trend_signs=_TREND_SIGNS,
        n_features=len(facts.content["features"]),
        with_constraints=circuit.constraints is not None,
        with_rows=rows,
        with_edits=rows and circuit.task == "classes",
        cost=cost(circuit),
        diagram=diagram,
        is_small=_is_small(circuit),
        model=embed_json(circuit_to_json(circuit if rows else circuit.without_ranges())),
        **facts.context,
    )
    return _Page(title or facts.title, facts.content, facts.rows, diagram, write)


@dataclass(frozen=True)
class _Facts:
    """What the report says about the test rows.

    Attributes
    ----------
    title
        The heading, if none is given.
    content
        The object that the page reads, still without rows.
    rows
        The rows that the page can load.
    rules
        The rules with their statistics.
    context
        Further variables of the template.
    """

    title: str
    content: dict[str, Any]
    rows: LabelledRows
    rules: RuleTable | NumberRuleTable
    context: dict[str, Any]


def _measure_classes(
    circuit: Circuit, table: Table, y: Any, *, row_word: str, with_rows: bool
) -> _Facts:
    target = class_numbers(y, circuit.classes, table.n_rows)
    evaluation = circuit.evaluate(table, wires=circuit.readout.wires)
    counted = tally(target, evaluation.winners, evaluation.probabilities)
    curves = make_curves(evaluation.probabilities, target)
    labelled = read_rows(table, target, evaluation)
    rules = describe_rules(circuit, evaluation, target)
    content = make_content(
        circuit, labelled, rules, counted, curves, row_word=row_word, with_rows=with_rows
    )
    context = {
        "colours": [class_colour(number) for number in range(circuit.n_classes)],
        "tally": counted,
        "accuracy": accuracy(counted),
        "balanced_accuracy": balanced_accuracy(counted),
        "auc": mean_auc(curves),
        "by_class": by_class(counted),
        "f1": counted.f1.tolist(),
        "aucs": [curve.auc for curve in curves],
        "percent": percent,
    }
    return _Facts(_title(circuit, content["classes"]), content, labelled, rules, context)


def _measure_number(
    circuit: Circuit, table: Table, y: Any, *, row_word: str, with_rows: bool
) -> _Facts:
    found = measure_numbers(circuit, table, y, row_word=row_word, with_rows=with_rows)
    context = found.context(with_rows=with_rows, row_word=row_word)
    return _Facts(circuit.number_readout.name, found.content, found.rows, found.rules, context)


def _without_row_hashes(circuit: Circuit) -> Circuit:
    """Remove the hashes of rows: with them a reader could test whether a known row was used."""
    if circuit.origin is None:
        return circuit
    return replace(circuit, origin=replace(circuit.origin, rows=None))


def _to_json(content: dict[str, Any]) -> str:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return embed_json(text)


def _check_numbers(numbers: tuple[int, ...] | None, n_rows: int) -> None:
    if numbers is not None and len(numbers) != n_rows:
        raise OptionError(
            f"data.numbers has {len(numbers)} row numbers, but the table has {n_rows} rows; "
            "give one number per row, or leave them out"
        )


def _title(circuit: Circuit, classes: list[str]) -> str:
    shown = list_names(classes, most=4)
    return shown if circuit.origin is None else f"{circuit.origin.target}: {shown}"


def _trends(circuit: Circuit) -> Trends | None:
    """Find the trends; None if they need a solver that is not installed."""
    try:
        return find_trends(circuit, time_limit=_TREND_SECONDS)
    except ExtraMissingError:
        return None


def _is_small(circuit: Circuit) -> bool:
    """Return whether people can follow the diagram, so that the page shows it at once."""
    return circuit.n_gates <= MOST_GATES and circuit.n_literals <= MOST_LITERALS


def _diagram(circuit: Circuit) -> str:
    """Draw all gates; "" if the diagram would be too large."""
    if circuit.n_gates > _MOST_DRAWN_GATES:
        return ""
    svg = draw_circuit(circuit, detail="gates").to_svg()
    return svg if len(svg) <= _MOST_DIAGRAM_BYTES else ""


# -- assets -----------------------------------------------------------------------------------


def _style() -> str:
    """Write the style sheet, with the class colours of diagrams and figures."""
    light, dark = map(_colour_variables, (CLASS_COLOURS, DARK_CLASS_COLOURS))
    marks = "".join(f".c{i}{{--class:var(--c{i})}}" for i in range(len(CLASS_COLOURS)))
    dark_rule = f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f":root{{{light}}}\n{dark_rule}\n{marks}\n{_asset('style.css')}"


def _colour_variables(colours: tuple[str, ...]) -> str:
    return "".join(
        f"--c{number}:{colour};--dln-class-{number}:{colour};"
        for number, colour in enumerate(colours)
    )


def _styles_in(svg: str) -> list[str]:
    """Return the text of each style element, which the policy must allow."""
    return re.findall(r"<style>(.*?)</style>", svg, re.DOTALL)


@cache
def _asset(name: str) -> str:
    return (files("dln.report") / "page" / name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> Any:
    import jinja2  # slow to load

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
