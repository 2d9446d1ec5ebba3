"""How many times more gate-level operations perceptrons need than logic networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reproduction.datasets import NAMES
from reproduction.models.registry import DLN_COLUMNS, MODELS
from reproduction.run.results import Result
from reproduction.tables.formats import ABSENT, dataset_text, ratio_text
from reproduction.tables.means import (
    Figures,
    geometric_mean,
    make_grid,
    published_figures,
    whole_figures,
)
from reproduction.tables.sheet import Section, Sheet

_NOTE = (
    "Gate-level operations of the perceptron, divided by those of a logic network. The abstract of "
    "the paper says: up to a thousand times. Its table of operations shows more."
)

Ratios = Mapping[str, float]
"""Ratios by dataset."""


def ratio_sheet(results: Sequence[Result]) -> Sheet:
    """Make the table of ratios."""
    here = whole_figures(make_grid(results, "gate_operations"))
    paper = published_figures("gate_operations")
    columns = {
        "paper: LGN": _ratios(paper, "lgn"),
        "paper: DLN": _ratios(paper, DLN_COLUMNS[0]),
        **{
            f"here: {MODELS[model].heading}": _ratios(here, model)
            for model in ("lgn", *DLN_COLUMNS)
        },
    }
    rows = [
        (dataset_text(name), *(_cell(ratios.get(name)) for ratios in columns.values()))
        for name in paper
    ]
    rows.append((f"geometric mean over {len(NAMES)}", *map(_mean, columns.values())))
    rows.append(
        ("largest", *(_cell(max(all_.values(), default=None)) for all_ in columns.values()))
    )
    section = Section("Perceptron to logic network", ("dataset", *columns), tuple(rows))
    return Sheet((_NOTE,), (section,))


def _ratios(table: Figures, model: str) -> Ratios:
    return {
        name: row["mlp"] / row[model]
        for name, row in table.items()
        if "mlp" in row and row.get(model)
    }


def _mean(ratios: Ratios) -> str:
    known = [ratios[name] for name in NAMES if name in ratios]
    return ratio_text(geometric_mean(known)) if len(known) == len(NAMES) else ABSENT


def _cell(ratio: float | None) -> str:
    return ABSENT if ratio is None else ratio_text(ratio)
