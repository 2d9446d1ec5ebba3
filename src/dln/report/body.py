"""A circuit + test rows -> the body of its page, which is complete once it has its rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dln
from dln._util.colours import CLASS_COLOURS
from dln.core.circuit import Circuit
from dln.core.model_file import circuit_to_json
from dln.costs.circuit import cost
from dln.data.table import Table
from dln.draw.diagram.diagram import MOST_GATES, MOST_LITERALS, draw_circuit
from dln.errors import ExtraMissingError
from dln.explain.text import readout_note
from dln.explain.trends import NUMBER_TREND_WORDS, TREND_WORDS, Trend, Trends, find_trends
from dln.exporters.identity import circuit_id
from dln.report.assets import template
from dln.report.certificates import Certified
from dln.report.class_facts import measure_classes
from dln.report.data_note import DataNote
from dln.report.facts import Facts
from dln.report.number_facts import measure_number
from dln.report.policy import embed_json

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
class Body:
    """The body of the page of one circuit.

    Attributes
    ----------
    title
        The heading.
    facts
        What it says about the rows.
    diagram
        The drawing, "" if it is left out.
    """

    title: str
    facts: Facts
    diagram: str
    _write: Callable[..., str]

    def to_html(self) -> str:
        """Write what is between the tags of the body."""
        content = self.facts.content
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return self._write(page=embed_json(text))

    def add_rows(self, max_bytes: int, numbers: Sequence[int] | None) -> None:
        """Add as many rows as fit."""
        self.facts.content["test"] |= self.facts.rows.to_json(max_bytes, numbers)

    @property
    def styles(self) -> list[str]:
        """The text of each style element, which the policy must allow."""
        return re.findall(r"<style>(.*?)</style>", self.diagram, re.DOTALL)


def make_body(
    circuit: Circuit,
    table: Table,
    y: Any,
    *,
    title: str,
    data: DataNote,
    rows: bool,
    certificates: Sequence[Certified],
) -> Body:
    """Measure a circuit on rows, and prepare its page."""
    is_number = circuit.task == "number"
    measure = measure_number if is_number else measure_classes
    facts = measure(circuit, table, y, row_word=data.row_word, with_rows=rows)
    title = title or facts.title
    diagram = _diagram(circuit)
    write = partial(
        template("number.html.jinja" if is_number else "report.html.jinja").render,
        title=title,
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
        cost=cost(circuit),
        diagram=diagram,
        is_small=circuit.n_gates <= MOST_GATES and circuit.n_literals <= MOST_LITERALS,
        model=embed_json(circuit_to_json(circuit if rows else circuit.without_ranges())),
        **facts.context,
    )
    return Body(title, facts, diagram, write)


def _trends(circuit: Circuit) -> Trends | None:
    """Find the trends; None if they need a solver that is not installed."""
    try:
        return find_trends(circuit, time_limit=_TREND_SECONDS)
    except ExtraMissingError:
        return None


def _diagram(circuit: Circuit) -> str:
    """Draw all gates; "" if the diagram would be too large."""
    if circuit.n_gates > _MOST_DRAWN_GATES:
        return ""
    svg = draw_circuit(circuit, detail="gates").to_svg()
    return svg if len(svg) <= _MOST_DIAGRAM_BYTES else ""
