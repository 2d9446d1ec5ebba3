"""Report: one HTML file about a circuit and the rows that it was tested on.

The file needs nothing beside itself and asks no server for anything; its policy forbids it. The
model in the page is the circuit's own JSON, and the page's program evaluates that.

Promise: whatever the user's names, categories and classes hold, it is shown as text.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from os import PathLike
from typing import Any

import dln
from dln.circuit import Circuit, check_is_circuit
from dln.cost.circuit import cost
from dln.draw.diagram.diagram import draw_circuit
from dln.errors import ExtraMissingError, OptionError
from dln.explain.rules import RuleTable, rule_table
from dln.explain.statistics import percent
from dln.explain.text import decision_note
from dln.explain.trends import TREND_WORDS, Trend, Trends, find_trends
from dln.export.identity import circuit_id
from dln.gates import GATES
from dln.report.features import describe_features
from dln.report.intervals import accuracy, balanced_accuracy, by_class
from dln.report.rows import read_rows
from dln.scores import tally
from dln.store import circuit_to_json
from dln.table import read_table
from dln.target import class_numbers
from dln.whole import write_whole
from dln.wording import some

_SCRIPTS = ("circuit.js", "change.js", "diagram.js", "controls.js", "page.js")
_MOST_BYTES = 1_900_000
"""What a report should not exceed, so that it can be mailed; the rows of its table get the rest."""
_MOST_ROW_BYTES, _LEAST_ROW_BYTES = 600_000, 20_000
"""What the table of test rows may take at most, and where nothing is left."""


_TREND_SIGNS: dict[Trend, str] = {
    "none": "–",
    "rising": "↗",
    "falling": "↘",
    "both": "↕",
    "undecided": "?",
}
_TREND_SECONDS = 20.0
"""A thousand gates take half a second; what is harder is left undecided."""


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
        """Write the file; one of that name is replaced only by a whole new one."""
        write_whole(path, self.html)


@dataclass(frozen=True)
class DataNote:
    """What the reader is told about the rows.

    Attributes
    ----------
    name
        The name of the file, or whatever the rows are called.
    digest
        SHA-256 of the file; "" where there is none.
    note
        How the rows were chosen.
    numbers
        The number of each row in the file; counted from 1 unless given.
    """

    name: str = "the rows given"
    digest: str = ""
    note: str = ""
    numbers: tuple[int, ...] | None = None


def make_report(
    circuit: Circuit, X: Any, y: Any, *, title: str = "", data: DataNote | None = None
) -> Report:
    """Measure a circuit on rows that it was not trained on, and write all there is to know of it.

    Requires jinja2 and igraph.

    Parameters
    ----------
    circuit
        Any circuit; simplify it first for the shortest rules.
    X, y
        Rows and their classes, in any form that `DLNClassifier.fit` takes.
    title
        The heading; made of the classes unless given.
    data
        What to say about the rows.

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
    check_is_circuit(circuit, "make_report")
    data = data or DataNote()
    table = read_table(X)
    _check_numbers(data.numbers, table.n_rows)
    target = class_numbers(y, circuit.classes, table.n_rows)
    counted = tally(target, circuit.winners(table), circuit.predict_proba(table))
    rows = read_rows(circuit, table, target)
    rules = rule_table(circuit, table, y)
    classes = [str(label) for label in circuit.classes]
    page: dict[str, Any] = {
        "classes": classes,
        "rules": [rule.text for rule in rules.rules],
        "gates": {gate.name: gate.table for gate in GATES},
        "features": describe_features(circuit, rows.cells, target),
    }
    write = partial(
        _template().render,
        title=title or _title(circuit, classes),
        version=dln.__version__,
        circuit=circuit,
        model_id=circuit_id(circuit),
        classes=classes,
        data=data,
        tally=counted,
        accuracy=accuracy(counted),
        balanced_accuracy=balanced_accuracy(counted),
        by_class=by_class(counted),
        f1=counted.f1.tolist(),
        percent=_percent,
        decision=decision_note(circuit.classes),
        rules=rules,
        voting=[_voting(rules, number) for number in range(len(classes))],
        trends=_trends(circuit),
        trend_words=TREND_WORDS,
        trend_signs=_TREND_SIGNS,
        page_features=len(page["features"]),
        cost=cost(circuit),
        diagram=draw_circuit(circuit).to_svg(),
        model=_embed(circuit_to_json(circuit)),
        style=_asset("style.css"),
        scripts=[_asset(name) for name in _SCRIPTS],
    )
    left = _MOST_BYTES - len(write(page=_page_json(page)).encode(errors="surrogatepass"))
    max_bytes = min(max(left, _LEAST_ROW_BYTES), _MOST_ROW_BYTES)
    page["test"] = rows.to_json(max_bytes, data.numbers)
    return Report(write(page=_page_json(page)))


def _page_json(page: dict[str, Any]) -> str:
    return _embed(json.dumps(page, ensure_ascii=False, allow_nan=False))


def _check_numbers(numbers: tuple[int, ...] | None, n_rows: int) -> None:
    if numbers is not None and len(numbers) != n_rows:
        raise OptionError(
            f"the note on the data has numbers of {len(numbers)} rows, but the table has {n_rows}; "
            "give one number a row, or none at all"
        )


def _title(circuit: Circuit, classes: list[str]) -> str:
    shown = some(classes, most=4)
    return shown if circuit.origin is None else f"{circuit.origin.target}: {shown}"


def _trends(circuit: Circuit) -> Trends | None:
    """Find the trends; None where they need a solver that is not installed."""
    try:
        return find_trends(circuit, time_limit=_TREND_SECONDS)
    except ExtraMissingError:
        return None


def _voting(rules: RuleTable, number: int) -> list[int]:
    """List the rules that vote for or against a class, the strongest first, by their place."""
    places = [place for place, rule in enumerate(rules.rules) if rule.votes[number]]
    return sorted(places, key=lambda place: -abs(rules.rules[place].votes[number]))


def _percent(share: float | None) -> str:
    return percent(None if share is None or math.isnan(share) else share)


def _embed(text: str) -> str:
    """Keep JSON from ending its script: the signs of HTML occur in it inside strings only."""
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


@cache
def _asset(name: str) -> str:
    return (files("dln.report") / "page" / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ExtraMissingError.for_packages("writing reports", "jinja2", "igraph") from error
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("report.html.jinja"))
